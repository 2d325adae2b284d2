"""A fake GPU: a torch device that computes on the CPU and refuses what a GPU refuses, for machines without one.

Within ``with FakeGPU():`` tensors can be on the device ``fake_gpu``. Their numbers are in CPU tensors, and the same
kernels compute with them, so results can be compared. Refused are operations with tensors of two devices, numpy's view
of a tensor on the device, random numbers from a generator of the CPU, least squares by a method for full rank only
and, with deterministic algorithms on, the operations for which CUDA has none (documentation of
torch.use_deterministic_algorithms, torch 2.15).
"""

import re
from collections.abc import Iterator
from contextlib import nullcontext
from functools import cache
from typing import Any

import torch
from torch._C import _len_torch_dispatch_stack
from torch.utils._python_dispatch import TorchDispatchMode, _disable_current_modes, return_and_correct_aliasing
from torch.utils._pytree import tree_map_only
from torch.utils.backend_registration import _setup_privateuseone_for_python_backend

_setup_privateuseone_for_python_backend("fake_gpu")
DEVICE = torch.device("fake_gpu:0")
NOT_DETERMINISTIC = re.compile(
    r"aten::(avg_pool3d_backward|_adaptive_avg_pool[23]d_backward|adaptive_max_pool2d_backward|max_unpool\dd|"
    r"fractional_max_pool\dd_backward|upsample_(linear1|bilinear2|bicubic2|trilinear3)d_backward|histc|"
    r"reflection_pad\dd_backward|nll_loss2d_forward|_ctc_loss_backward|grid_sampler_\dd_backward|put_?|scatter_reduce_?|"
    r"masked_scatter_?|index_reduce_?)"
)


class Refused(RuntimeError):
    """A GPU would refuse this operation."""


class FakeTensor(torch.Tensor):
    """A tensor on the fake GPU."""

    @staticmethod
    def __new__(cls, cpu_tensor: torch.Tensor) -> "FakeTensor":
        return torch.Tensor._make_wrapper_subclass(
            cls, cpu_tensor.shape, strides=cpu_tensor.stride(), storage_offset=cpu_tensor.storage_offset(),
            dtype=cpu_tensor.dtype, layout=cpu_tensor.layout, device=DEVICE,
        )  # fmt: skip

    def __init__(self, cpu_tensor: torch.Tensor):
        self.cpu_tensor = cpu_tensor

    def tolist(self) -> Any:
        return self.cpu_tensor.tolist()  # a GPU has it too, but torch refuses it to subclasses

    def __repr__(self, **_: Any) -> str:
        return f"FakeTensor({self.cpu_tensor})"

    @classmethod
    def __torch_dispatch__(cls, operation: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return run(operation, args, kwargs or {})


class FakeGPU(TorchDispatchMode):
    """Context in which the fake GPU can be used."""

    def __enter__(self) -> "FakeGPU":
        torch._C._set_only_lift_cpu_tensors(True)  # so that torch.tensor(…, device=…) moves its numbers in our sight
        torch.__future__.set_overwrite_module_params_on_conversion(True)  # `.data =` would not move `cpu_tensor`
        return super().__enter__()

    def __exit__(self, *error: Any) -> None:
        torch._C._set_only_lift_cpu_tensors(False)
        torch.__future__.set_overwrite_module_params_on_conversion(False)
        super().__exit__(*error)

    def __torch_dispatch__(self, operation: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return run(operation, args, kwargs or {})


def run(operation: Any, args: tuple, kwargs: dict[str, Any]) -> Any:
    """Run an operation on the CPU, unless a GPU would refuse it."""
    name, device = operation._schema.name, kwargs.get("device")
    leaves = [*leaves_of(args), *leaves_of(kwargs.values())]
    tensors = [leaf for leaf in leaves if isinstance(leaf, torch.Tensor)]
    has_fake = any(isinstance(tensor, FakeTensor) for tensor in tensors)
    on_gpu = has_fake if device is None else torch.device(device).type == DEVICE.type
    if name == "aten::copy_":
        on_gpu = isinstance(args[0], FakeTensor)
    else:
        _refuse_two_devices(name, args, tensors)
    if on_gpu:
        if any(isinstance(leaf, torch.Generator) for leaf in leaves):
            raise Refused(f"{name}: a generator of the CPU for a tensor on {DEVICE}")
        not_deterministic = NOT_DETERMINISTIC.fullmatch(name) or (name == "aten::bincount" and len(tensors) > 1)
        if torch.are_deterministic_algorithms_enabled() and not_deterministic:
            raise Refused(f"{name} has no deterministic implementation on a GPU")
        if name == "aten::linalg_lstsq":
            raise Refused(f"{name} needs matrices of full rank on a GPU, and does not check it")
    if device is not None:
        kwargs = {**kwargs, "device": torch.device("cpu")}
    cpu_kwargs = {key: on_cpu(value) for key, value in kwargs.items()}
    with _disable_current_modes() if _len_torch_dispatch_stack() else nullcontext():
        result = operation(*on_cpu(args), **cpu_kwargs)
    if not on_gpu:
        return result
    result = tree_map_only(
        torch.Tensor, lambda tensor: tensor if isinstance(tensor, FakeTensor) else FakeTensor(tensor), result
    )
    if has_fake and returns_an_argument(operation):
        return return_and_correct_aliasing(operation, args, kwargs, result)
    return result


def leaves_of(values: Any) -> Iterator[Any]:
    """What the arguments of an operation hold, also in their lists; in a third of the time of torch's function."""
    for value in values:
        if isinstance(value, (tuple, list)):
            yield from leaves_of(value)
        else:
            yield value


def on_cpu(value: Any) -> Any:
    """An argument of an operation with the tensors of the CPU in the place of those of the fake GPU."""
    if isinstance(value, FakeTensor):
        return value.cpu_tensor
    return type(value)(map(on_cpu, value)) if isinstance(value, (tuple, list)) else value


@cache
def returns_an_argument(operation: Any) -> bool:
    """Whether a result is an argument of the operation, or a view of one."""
    return operation._schema.is_mutable or any(result.alias_info is not None for result in operation._schema.returns)


def _refuse_two_devices(name: str, args: tuple, tensors: list[torch.Tensor]) -> None:
    """Refuse tensors of two devices, apart from numbers on the CPU, which have no dimension."""
    if re.match(r"aten::(_unsafe_)?index|aten::_index_put", name) and isinstance(args[1], (list, tuple)):
        # a tensor on a GPU takes indices on the CPU; a tensor on the CPU takes no others
        indices = {id(index) for index in args[1] if index is not None}
        if isinstance(args[0], FakeTensor):
            tensors = [tensor for tensor in tensors if id(tensor) not in indices]
    devices = {isinstance(tensor, FakeTensor) for tensor in tensors if tensor.dim() or isinstance(tensor, FakeTensor)}
    if len(devices) > 1:
        raise Refused(f"{name}: tensors on {DEVICE} and on cpu")
