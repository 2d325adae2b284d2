"""Two processes that measure one network, for test_parts.py: ``torchrun processes.py OUT HOW...``.

HOW is "plain", "ddp" (DistributedDataParallel), "fsdp" (fully_shard), "differ" (the processes disagree), or the name of
something that differs ("weights", "data", "function"). "fsdp readout" takes that way. In "fsdp root" the last layer
belongs to the root module, which frees its weights after a backward pass. "unequal" and "fsdp unequal" have
3 and 2 batches, "empty" and "fsdp empty" 1 and none. In "routed" each process reaches another expert. In "failing" and
"fsdp failing" the loss of process 1 is infinite.
The results or errors of each are in a folder of its name.
"""

import sys
from pathlib import Path

import torch
from small_networks import Routed, routed_samples
from torch import distributed as dist
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

import gramlab


def network():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 5), nn.Tanh(), nn.Linear(5, 9)).double()


def data():
    torch.manual_seed(1)
    return torch.randn(23, 6, dtype=torch.float64), torch.randint(0, 9, (23,))


def squares(outputs, targets):
    return outputs.square().sum(1)


def infinite(outputs, targets):
    return outputs.sum(1) / 0.0


def measure(how: str, out: Path) -> None:
    rank = dist.get_rank()
    model, (x, y) = network(), data()
    options = {"weight_decay": 0.1, "batch_size": 4, "shard": "process"}
    if how == "ddp":
        model = nn.parallel.DistributedDataParallel(model)
    if how.startswith("fsdp"):
        from torch.distributed.device_mesh import init_device_mesh
        from torch.distributed.fsdp import fully_shard

        mesh = init_device_mesh("cpu", (2,))
        for layer in model[:-1:2] if how == "fsdp root" else model[::2]:
            fully_shard(layer, mesh=mesh)
        fully_shard(model, mesh=mesh)
    if how == "fsdp readout":
        options["outputs"] = "readout"
    if how == "differ":
        options["weight_decay"] = 0.1 + rank
    if how == "weights":
        model[4].bias.data.add_(rank)
        options["layers"] = "0"
    if how == "data":
        x = x + rank
    if how == "function":
        power = 2 + rank
        options["loss"] = lambda outputs, targets: outputs.abs().pow(power).sum(1)
    if how == "routed":
        torch.manual_seed(0)
        model, (x, y) = Routed().double(), routed_samples()
        x, y = x[:16], y[:16]
        options["loss"] = "mse"
    if how.endswith("unequal"):  # 5 batches, and 3 and 2 of them; the last is shorter
        x = DataLoader(TensorDataset(x, y), batch_size=5)
        y = None
    if how.endswith("empty"):
        x = DataLoader(TensorDataset(x, y), batch_size=23)
        y = None
    if how.endswith("failing"):
        options["loss"] = infinite if rank else squares
    if how in ("weights", "data", "function", "failing", "fsdp failing"):
        try:
            gramlab.measure(model, x, y, **options)
        except ValueError as error:
            out.mkdir(exist_ok=True)
            (out / f"error{rank}.txt").write_text(str(error))
        return
    measured = gramlab.measure(model, x, y, **options)
    out.mkdir(exist_ok=True)
    measured.save(out / f"exact{rank}.safetensors")
    if how == "plain":
        gramlab.measure(model, x, y, outputs=3, **options).save(out / f"estimated{rank}.safetensors")
        options["loss"] = lambda outputs, targets: outputs.square().sum(1)
        gramlab.measure(model, x, y, **options).save(out / f"function{rank}.safetensors")


def main(out: Path, *hows: str) -> None:
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    for how in hows:
        measure(how, out / how)
    dist.destroy_process_group()


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
