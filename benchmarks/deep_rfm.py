"""Time and memory of a Deep RFM layer, and time of a kernel machine's AGOP relative to per-sample Jacobians.

    python benchmarks/deep_rfm.py [--threads 2] [--rounds 3] [--samples 4000] [--dimension 3072] [--dtypes mixed]

The authors of paper D compute AGOPs by vmap(jacrev(f)) over samples. Their grads.py does not run, so this program does
the same for a Laplace kernel. Seconds are the CPU time of all threads together. The peak memory is that of the process
minus its memory before the first fit, printed beside the size of the n x n kernel matrix. It never falls, so that only
the first of several dtypes has a peak of its own.
"""

import resource
import time

import torch
from timing import arguments, gap, race, show
from torch.func import jacrev, vmap

from gramlab import DeepRFM
from gramlab.kernels.functions import Kernel, agop
from gramlab.kernels.solve import dual


def jacobians(samples, dimension, outputs, rounds):
    """Compute the AGOP in both ways, in float64; Jacobians are taken of 25 samples at a time, to save memory."""
    kernel = Kernel("laplace", 2.0)
    x = torch.nn.functional.normalize(torch.randn(samples, dimension, dtype=torch.float64).relu())
    alpha, _ = dual(lambda: kernel.matrix(x), torch.randn(samples, outputs, dtype=torch.float64))

    def f(p):
        square = (x - p).square().sum(1)
        same_point = square == 0  # where the distance has no derivative
        return torch.where(same_point, 1.0, torch.exp(-square.where(~same_point, 1.0).sqrt() / 2.0)) @ alpha

    def per_sample():
        total = 0
        for part in x.split(25):
            J = vmap(jacrev(f))(part).flatten(0, 1)
            total = total + J.mT @ J
        return total / samples

    results = {}
    acts = {
        "gramlab": lambda: results.update(ours=agop(kernel, x, x, alpha)),
        "per-sample Jacobians": lambda: results.update(theirs=per_sample()),
    }
    show(f"AGOP of a kernel machine, n = {samples}, d = {dimension}, {outputs} outputs", race(acts, rounds),
         [("per-sample Jacobians", "gramlab")])  # fmt: skip
    print(f"  difference {gap(results['ours'], results['theirs']):.1e}")


def layer(samples, dimension, rounds, dtypes):
    """Fit a layer with 1024 ReLU features and ten classes, its measures and the last machine."""
    labels = torch.arange(samples) % 10
    x = (torch.rand(samples, dimension) + 0.3 * torch.rand(10, dimension)[labels]).numpy()
    DeepRFM(1).fit(x[:100], labels[:100].numpy())  # imports and first calls
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for dtype in dtypes:
        model, matrix = DeepRFM(1, dtype=dtype), (8 if dtype == "float64" else 4) * samples**2 / 2**20
        for _ in range(rounds):
            wall, cpu = time.perf_counter(), time.process_time()
            model.fit(x, labels.numpy())
            wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
            peak = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
            print(f"Deep RFM layer, n = {samples}, d = {dimension}, {dtype}: {cpu:.1f} s of CPU, {wall:.1f} s of time; "
                  f"{peak:.0f} MiB, K has {matrix:.0f}", flush=True)  # fmt: skip


def main():
    options = arguments(__doc__, threads=2, rounds=3, samples=4000, dimension=3072, dtypes=["float64", "float32"])
    jacobians(500, 784, 10, options.rounds)
    layer(options.samples, options.dimension, options.rounds, options.dtypes)


if __name__ == "__main__":
    main()
