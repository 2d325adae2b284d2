"""Peak memory above the model's own: independent of n, and a few matrices a layer.

    python benchmarks/memory.py

Each n runs in a process of its own; batches come from a generator, so that the data are never in memory at once.
"""

import os
import resource
import subprocess
import sys

QUANTITIES = ("gram", "agop", "ptk", "enfa", "fact", "back_fact", "virtual_shift")


def child(n):
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
    small.virtual_shift(0.1)  # what torch loads at its first use is not the measurement's
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    run(n)
    print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024)


def main():
    # what is freed goes back at once: otherwise glibc keeps up to 10 MiB more or less, from one run to the next
    environment = os.environ | {"MALLOC_MMAP_THRESHOLD_": "65536", "MALLOC_TRIM_THRESHOLD_": "0"}
    peaks = {}
    for n in (5_000, 50_000):
        done = subprocess.run(
            [sys.executable, __file__, str(n)], capture_output=True, text=True, check=True, env=environment
        )
        peaks[n] = float(done.stdout)
        print(f"n = {n:6}: {peaks[n]:7.1f} MiB above the model's own")
    print(f"ratio {peaks[50_000] / peaks[5_000]:.3f}")
    sides = [(784, 512), (512, 512), (512, 10)]
    one = sum(8 * (d * d + 3 * k * k + k * d) for d, k in sides) / 2**20
    print(f"one d x d, three k x k and one k x d matrix in float64 for each layer: {one:.1f} MiB")


if __name__ == "__main__":
    child(int(sys.argv[1])) if len(sys.argv) > 1 else main()
