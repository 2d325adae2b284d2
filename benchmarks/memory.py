"""Peak memory of a measurement above that of the model: independent of n, and a few matrices for each layer.

    python benchmarks/memory.py

Each n runs in a separate process. Batches come from a generator, so that the data are never in memory at once.
"""

import os
import resource
import subprocess
import sys

QUANTITIES = ("gram", "agop", "ptk", "enfa", "fact", "back_fact", "virtual_shift")


def measure_peak(n):
    import torch
    from torch import nn

    import gramlab

    torch.set_num_threads(1)
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 10))

    def batches(n):
        for _ in range(n // 250):
            yield torch.randn(250, 784), torch.randint(0, 10, (250,))

    def run(n):
        options = {"loss": "cross_entropy", "weight_decay": 1e-3, "quantities": QUANTITIES}
        m = gramlab.measure(model, batches(n), **options)
        return [(layer.gram, layer.agop, layer.enfa, layer.fact, layer.back_fact) for layer in m.values()]

    model(next(batches(250))[0]).sum().backward()
    small = gramlab.measure(nn.Linear(2, 2), torch.zeros(3, 2), torch.zeros(3, 2), weight_decay=1.0)[""]
    small.virtual_shift(0.1)  # the first use loads parts of torch, which are not counted
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    run(n)
    print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024)


def main():
    # glibc returns freed memory at once; otherwise the peak varies by up to 10 MiB from run to run
    environment = os.environ | {"MALLOC_MMAP_THRESHOLD_": "65536", "MALLOC_TRIM_THRESHOLD_": "0"}
    peaks = {}
    for n in (5_000, 50_000):
        process = subprocess.run(
            [sys.executable, __file__, str(n)], capture_output=True, text=True, check=True, env=environment
        )
        peaks[n] = float(process.stdout)
        print(f"n = {n:6}: {peaks[n]:7.1f} MiB above the model")
    print(f"ratio {peaks[50_000] / peaks[5_000]:.3f}")
    sides = [(784, 512), (512, 512), (512, 10)]
    matrices = sum(8 * (d * d + 3 * k * k + k * d) for d, k in sides) / 2**20
    print(f"one d x d, three k x k and one k x d matrix in float64 for each layer: {matrices:.1f} MiB")


if __name__ == "__main__":
    measure_peak(int(sys.argv[1])) if len(sys.argv) > 1 else main()
