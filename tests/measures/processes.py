"""Two processes that measure one network, for test_parts.py: ``torchrun processes.py HOW OUT``.

HOW is "plain", "ddp" (DistributedDataParallel), "fsdp" (fully_shard), or "differ" (the processes disagree).
"""

import sys
from pathlib import Path

import torch
from torch import distributed as dist
from torch import nn

import gramlab


def network():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 5), nn.Tanh(), nn.Linear(5, 9)).double()


def data():
    torch.manual_seed(1)
    return torch.randn(23, 6, dtype=torch.float64), torch.randint(0, 9, (23,))


def main(how: str, out: Path) -> None:
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    model, (x, y) = network(), data()
    options = {"weight_decay": 0.1, "batch_size": 4, "shard": "process"}
    if how == "ddp":
        model = nn.parallel.DistributedDataParallel(model)
    if how == "fsdp":
        from torch.distributed.device_mesh import init_device_mesh
        from torch.distributed.fsdp import fully_shard

        mesh = init_device_mesh("cpu", (2,))
        for layer in model[::2]:
            fully_shard(layer, mesh=mesh)
        fully_shard(model, mesh=mesh)
    if how == "differ":
        options["weight_decay"] = 0.1 + rank
    gramlab.measure(model, x, y, **options).save(out / f"exact{rank}.safetensors")
    if how == "plain":
        gramlab.measure(model, x, y, outputs=3, **options).save(out / f"estimated{rank}.safetensors")
    dist.destroy_process_group()


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
