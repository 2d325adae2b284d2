"""A device that computes on the CPU and refuses what a GPU refuses, for machines without one.

Inside ``with Pretend():`` tensors can be on the device ``pretend``. Their numbers lie in ordinary CPU tensors, which
the same kernels compute on, so results can be compared; but operations that mix devices are refused, and so are
numpy's view of such a tensor, random numbers from a CPU's generator, least squares by a method for full rank only and,
with deterministic algorithms on, the operations for which CUDA has none (documentation of
torch.use_deterministic_algorithms, torch 2.15).
"""

import re
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode, _disable_current_modes, return_and_correct_aliasing
from torch.utils._pytree import tree_leaves, tree_map_only
from torch.utils.backend_registration import _setup_privateuseone_for_python_backend

_setup_privateuseone_for_python_backend("pretend")
DEVICE = torch.device("pretend:0")
NOT_DETERMINISTIC = re.compile(
    r"aten::(avg_pool3d_backward|_adaptive_avg_pool[23]d_backward|adaptive_max_pool2d_backward|max_unpool\dd|"
    r"fractional_max_pool\dd_backward|upsample_(linear1|bilinear2|bicubic2|trilinear3)d_backward|histc|"
    r"reflection_pad\dd_backward|nll_loss2d_forward|_ctc_loss_backward|grid_sampler_\dd_backward|put_?|scatter_reduce_?|"
    r"masked_scatter_?|index_reduce_?)"
)


class Refused(RuntimeError):
    """A GPU would refuse this."""


class Remote(torch.Tensor):
    """A tensor on the device."""

    @staticmethod
    def __new__(cls, inner: torch.Tensor) -> "Remote":
        return torch.Tensor._make_wrapper_subclass(
            cls, inner.shape, strides=inner.stride(), storage_offset=inner.storage_offset(), dtype=inner.dtype,
            layout=inner.layout, device=DEVICE,
        )  # fmt: skip

    def __init__(self, inner: torch.Tensor):
        self.inner = inner

    def tolist(self) -> Any:
        return self.inner.tolist()  # as of any device; torch refuses it to subclasses

    def __repr__(self, **_: Any) -> str:
        return f"Remote({self.inner})"

    @classmethod
    def __torch_dispatch__(cls, operation: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return call(operation, args, kwargs or {})


class Pretend(TorchDispatchMode):
    """Where the device can be used."""

    def __enter__(self) -> "Pretend":
        torch._C._set_only_lift_cpu_tensors(True)  # torch.tensor(…, device=…) moves its numbers where we see it
        torch.__future__.set_overwrite_module_params_on_conversion(True)  # `.data =` would not take `inner` along
        return super().__enter__()

    def __exit__(self, *error: Any) -> None:
        torch._C._set_only_lift_cpu_tensors(False)
        torch.__future__.set_overwrite_module_params_on_conversion(False)
        super().__exit__(*error)

    def __torch_dispatch__(self, operation: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return call(operation, args, kwargs or {})


def call(operation: Any, args: tuple, kwargs: dict[str, Any]) -> Any:
    """Compute on the CPU what both machines would accept."""
    name, asked = operation._schema.name, kwargs.get("device")
    tensors = [one for one in tree_leaves((args, kwargs)) if isinstance(one, torch.Tensor)]
    if asked is None:
        there = any(isinstance(one, Remote) for one in tensors)
    else:
        there = torch.device(asked).type == DEVICE.type
    if name == "aten::copy_":
        there = isinstance(args[0], Remote)
    else:
        _refuse_a_mixture(name, args, tensors)
    if there:
        if any(isinstance(one, torch.Generator) for one in tree_leaves((args, kwargs))):
            raise Refused(f"{name}: a CPU's generator for a tensor on {DEVICE}")
        no_way = NOT_DETERMINISTIC.fullmatch(name) or (name == "aten::bincount" and len(tensors) > 1)
        if torch.are_deterministic_algorithms_enabled() and no_way:
            raise Refused(f"{name} has no deterministic implementation on a GPU")
        if name == "aten::linalg_lstsq":
            raise Refused(f"{name} takes matrices of full rank only on a GPU, and does not say so")
    if asked is not None:
        kwargs = {**kwargs, "device": torch.device("cpu")}
    plain, named = tree_map_only(Remote, lambda one: one.inner, (args, kwargs))
    with _disable_current_modes():
        made = operation(*plain, **named)
    if not there:
        return made
    made = tree_map_only(torch.Tensor, lambda one: one if isinstance(one, Remote) else Remote(one), made)
    owned = any(isinstance(one, Remote) for one in tensors)
    return return_and_correct_aliasing(operation, args, kwargs, made) if owned else made


def _refuse_a_mixture(name: str, args: tuple, tensors: list[torch.Tensor]) -> None:
    if re.match(r"aten::(_unsafe_)?index|aten::_index_put", name) and isinstance(args[1], (list, tuple)):
        # a tensor on the device takes indices of a CPU; a tensor on a CPU takes no others
        indices = {id(one) for one in args[1] if one is not None}
        if isinstance(args[0], Remote):
            tensors = [one for one in tensors if id(one) not in indices]
    kinds = {isinstance(one, Remote) for one in tensors if one.dim() or isinstance(one, Remote)}
    if len(kinds) > 1:
        raise Refused(f"{name}: tensors on {DEVICE} and on cpu")
