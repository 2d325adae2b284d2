"""Compare time, memory and predictions of kernel machines with xRFM, on the same data and settings.

    python benchmarks/machines.py [--xrfm FOLDER] [--sizes 1000 5000] [--dimensions 20 100 500] [--dtype float64]
        [--updates 2]

FOLDER holds the package xrfm (`pip install --no-deps --target FOLDER xrfm`). Each run is a separate process. The
program prints CPU seconds, and the peak memory beyond the data in n x n matrices. M is the AGOP divided by its largest
entry, as in xRFM. (The package `rfm` of the package index is for customer segmentation.)
"""

import argparse
import json
import resource
import subprocess
import sys
import time

RIDGE, BANDWIDTH = 1e-2, 10.0


def data(n: int, d: int, dtype: str = "float64"):
    import torch

    draw = torch.Generator().manual_seed(n + d)
    x = torch.randn(n + 200, d, generator=draw, dtype=torch.float64).to(getattr(torch, dtype))
    y = (x[:, :1] * x[:, 1:2]).tanh() + x[:, 2:3].sin()
    return x[:n], y[:n], x[n:], y[n:]


def gramlab(x, y, z, _, updates):
    import torch

    from gramlab.kernels.functions import Kernel, agop, predict
    from gramlab.kernels.solve import dual

    kernel, M = Kernel("laplace", BANDWIDTH), torch.eye(x.shape[1], dtype=x.dtype)
    for step in range(updates + 1):
        alpha, _ = dual(lambda: kernel.matrix(x, None, M), y, RIDGE)  # noqa: B023
        if step < updates:
            M = agop(kernel, x, x, alpha, M)
            M /= M.max()
    return predict(kernel, z, x, alpha, M)


def xrfm(x, y, z, z_targets, updates):
    from xrfm.rfm_src.recursive_feature_machine import RFM

    machine = RFM("laplace", iters=updates, bandwidth=BANDWIDTH, device="cpu", verbose=False, solver="cholesky")
    machine.fit((x, y), (z, z_targets), iters=updates, reg=RIDGE, return_best_params=False, early_stop_rfm=False,
                total_points_to_sample=len(x), verbose=False, solver="cholesky")  # fmt: skip
    return machine.predict(z)


def measure(name: str, n: int, d: int, dtype: str, updates: int) -> None:
    import torch

    torch.set_num_threads(1)
    parts = data(n, d, dtype)
    {"gramlab": gramlab, "xrfm": xrfm}[name](*(part[:100] for part in parts), updates)  # imports and first calls
    before, clock = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
    predictions = {"gramlab": gramlab, "xrfm": xrfm}[name](*parts, updates)
    spent = time.process_time() - clock
    memory = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024 / (parts[0].itemsize * n * n)
    values = torch.as_tensor(predictions).flatten().tolist()
    print(json.dumps({"seconds": spent, "matrices": memory, "predictions": values}))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--single", nargs=3)
    parser.add_argument("--xrfm")
    parser.add_argument("--sizes", nargs="*", type=int, default=[1000, 5000])
    parser.add_argument("--dimensions", nargs="*", type=int, default=[20, 100, 500])
    parser.add_argument("--dtype", choices=["float32", "float64"], default="float64")
    parser.add_argument("--updates", type=int, default=2)
    options = parser.parse_args()
    if options.xrfm:
        sys.path.append(options.xrfm)
    if options.single:
        name, n, d = options.single
        return measure(name, int(n), int(d), options.dtype, options.updates)
    names = ["gramlab", *(["xrfm"] if options.xrfm else [])]
    print("| n | d | " + " | ".join(f"{name}: CPU s | n x n" for name in names) + " | largest difference |")
    print("| --- " * (3 + 2 * len(names)) + "|")
    for n in options.sizes:
        for d in options.dimensions:
            runs = []
            for name in names:
                command = [sys.executable, __file__, "--single", name, str(n), str(d), "--dtype", options.dtype,
                           "--updates", str(options.updates)]  # fmt: skip
                command += ["--xrfm", options.xrfm] if options.xrfm else []
                done = subprocess.run(command, capture_output=True, text=True, check=True)
                runs.append(json.loads(done.stdout.splitlines()[-1]))
            apart = max(abs(a - b) for a, b in zip(runs[0]["predictions"], runs[-1]["predictions"], strict=True))
            cells = " | ".join(f"{run['seconds']:.2f} | {run['matrices']:.2f}" for run in runs)
            print(f"| {n} | {d} | {cells} | {apart:.1e} |", flush=True)


if __name__ == "__main__":
    main()
