"""Parts of a data set, and the sum over processes."""

from collections.abc import Mapping, Set
from numbers import Integral
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn
from torch import distributed as dist

if TYPE_CHECKING:
    from gramlab.measures.accumulate import Accumulator

Shard = tuple[int, int] | str | None


def resolve_shard(shard: Shard) -> tuple[int, int] | None:
    """Return (i, n) of a part, that of this process for "process", and None for the whole data set.

    Parameters
    ----------
    shard : (int, int), "process" or None

    Returns
    -------
    (int, int) or None

    Raises
    ------
    ValueError
        Unless 0 ≤ i < n, and if "process" comes before ``torch.distributed.init_process_group``.

    Examples
    --------
    >>> resolve_shard((1, 4))
    (1, 4)
    """
    if shard is None:
        return None
    if shard == "process":
        if not dist.is_available() or not dist.is_initialized():
            raise ValueError("shard='process' needs torch.distributed.init_process_group first, as under torchrun")
        return dist.get_rank(), dist.get_world_size()
    is_pair = isinstance(shard, (tuple, list)) and len(shard) == 2 and all(isinstance(i, Integral) for i in shard)
    if not is_pair or not 0 <= int(shard[0]) < int(shard[1]):
        raise ValueError(f"shard must be (i, n) with 0 <= i < n, 'process' or None, not {shard!r}")
    return int(shard[0]), int(shard[1])


def unwrapped(model: nn.Module) -> nn.Module:
    """Return the module inside a DistributedDataParallel, a DataParallel or the result of ``torch.compile``.

    Any other module is returned unchanged.

    Parameters
    ----------
    model : torch.nn.Module

    Returns
    -------
    torch.nn.Module

    Examples
    --------
    >>> inside = nn.Linear(4, 2)
    >>> unwrapped(torch.compile(inside)) is inside, unwrapped(inside) is inside
    (True, True)
    """
    parallel = (nn.parallel.DistributedDataParallel, nn.parallel.DataParallel)
    while isinstance(model, nn.Module):
        if isinstance(model, parallel):
            model = model.module
        elif (
            type(model).__name__ == "OptimizedModule" and "_orig_mod" in model._modules
        ):  # torch._dynamo has the class, and takes long to import
            model = model._modules["_orig_mod"]  # type: ignore[assignment]
        else:
            break
    return model


def unwrapped_weights(weights: Mapping[str, Tensor], names: Set[str]) -> Mapping[str, Tensor]:
    """Return a state dict without the prefixes of data-parallel and compiled modules.

    Prefixes are removed until the weights fit, since a part of the network may be called "module" itself.

    Parameters
    ----------
    weights : mapping of str to Tensor
    names : set of str
        The weights' names in the unwrapped module.

    Returns
    -------
    mapping of str to Tensor

    Examples
    --------
    >>> list(unwrapped_weights({"module._orig_mod.weight": torch.ones(2)}, {"weight"}))
    ['weight']
    """
    if weights.keys() <= names or weights.keys() >= names:
        return weights
    for prefix in ("module.", "_orig_mod."):
        if all(name.startswith(prefix) for name in weights):
            return unwrapped_weights({name.removeprefix(prefix): tensor for name, tensor in weights.items()}, names)
    return weights


def whole_tensor(t: Tensor) -> Tensor:
    """Return a tensor that FSDP has split over processes as a whole; all processes must call this."""
    return t.full_tensor() if hasattr(t, "full_tensor") else t


def local_tensor(t: Tensor) -> Tensor:
    """Return this process's part of a tensor that FSDP has split, and any other tensor unchanged."""
    return t.to_local() if hasattr(t, "to_local") else t


def is_split(model: nn.Module) -> bool:
    """Whether FSDP has split parameters of the model over processes."""
    return any(hasattr(parameter, "full_tensor") for parameter in model.parameters())


def reduce_over_processes(
    accumulator: "Accumulator", settings: Mapping[str, Any], made_from: Mapping[str, Any]
) -> None:
    """All-reduce the sums, once, at the end.

    Parameters
    ----------
    accumulator : Accumulator
        Changed in place.
    settings : mapping
        What must be the same in all processes.
    made_from : mapping
        The digests of weights, data and functions, which must be the same as well.

    Raises
    ------
    ValueError
        In every process, if they measured different things.
    """
    from gramlab.measures.identity import differences

    name = None if accumulator.cotangents is None else accumulator.cotangents.name
    shapes = {layer: {key: tuple(t.shape) for key, t in sums.items()} for layer, sums in accumulator.group_sums.items()}
    own_content = {
        **{name: repr(value) for name, value in settings.items()},
        **made_from,
        "layers": {layer: sorted(sums) for layer, sums in accumulator.sums.items()},
        "outputs": accumulator.outputs,
        "cotangents": name if isinstance(name, int) else "exact",
        "loss": accumulator.loss if isinstance(accumulator.loss, str) else "callable",
    }
    contents: list[Any] = [None] * dist.get_world_size()
    dist.all_gather_object(contents, (own_content, shapes, accumulator.used_elsewhere, accumulator.reached))
    for rank, (other_content, *_) in enumerate(contents):
        if differing := differences(contents[0][0], other_content):
            raise ValueError(f"processes 0 and {rank} measure different things: their {', '.join(differing)} differ")
    accumulator.used_elsewhere = set().union(*(used for *_, used, _ in contents))
    accumulator.reached = set().union(*(reached for *_, reached in contents))
    for _, other_shapes, *_ in contents:  # a process whose samples never reach a layer has no sums for it
        for layer, layer_shapes in other_shapes.items():
            for key, shape in layer_shapes.items():
                device = next(iter(accumulator.sums[layer].values())).device
                layer_sums = accumulator.group_sums.setdefault(layer, {})
                layer_sums.setdefault(key, torch.zeros(shape, dtype=torch.float64, device=device))
    device = next(iter(next(iter(accumulator.sums.values())).values()), torch.zeros(())).device
    numbers = torch.tensor([accumulator.n, accumulator.total_loss], dtype=torch.float64, device=device)
    dist.all_reduce(numbers)
    accumulator.n, accumulator.total_loss = int(numbers[0]), float(numbers[1])
    for layer in accumulator.sums:
        for sums in (accumulator.sums[layer], accumulator.group_sums.get(layer, {})):
            for key in sorted(sums):
                dist.all_reduce(sums[key])
