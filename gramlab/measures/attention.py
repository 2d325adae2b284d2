"""See the projections of ``nn.MultiheadAttention``, which multiplies by bare tensors that no hook sees."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any, cast

from torch import Tensor, nn
from torch.nn import functional as F

from gramlab.measures.kinds import Projection, as_layers


@contextmanager
def capture_projections(
    layers: Mapping[str, Projection], project: Callable[[Tensor, Tensor, Mapping[str, slice]], Tensor]
) -> Iterator[None]:
    """Report each product with a projection's weight while the context is open.

    Torch's attention calls ``torch.nn.functional.linear`` with the weights. A function in its place recognises them by
    their memory and passes everything else on. ``preserved_state`` switches off the fused kernels, which call
    no such function.

    Parameters
    ----------
    layers : mapping of str to Projection
        The projections by name.
    project : callable (input, output, parts) -> output
        Gets the input (T, n, d) of a product, its output, and the columns of each layer in the output's last axis.
    """
    by_module: dict[nn.Module, dict[str, Projection]] = {}
    for name, layer in layers.items():
        by_module.setdefault(layer.module, {})[name] = layer
    # attention modules in their forward, (T, n), and the projections that they have called
    modules_in_forward: list[tuple[nn.MultiheadAttention, tuple[int, ...], set[str]]] = []
    linear = F.linear

    def recording_linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
        z = linear(input, weight, bias)
        if not modules_in_forward:
            return z
        module, shape, called = modules_in_forward[-1]
        parts = _columns_by_part(module, weight, called)
        called.update(parts)
        names = {layer.part: name for name, layer in by_module[module].items()}
        if columns := {names[part]: place for part, place in parts.items() if part in names}:
            # the input of the output projection has rows (T n, d)
            return project(input if input.ndim == 3 else input.view(*shape, -1), z, columns)
        return z

    def enter(module: nn.MultiheadAttention, arguments: tuple, keywords: dict) -> None:
        query = arguments[0] if arguments else keywords["query"]
        shape = (len(query), 1) if query.ndim == 2 else tuple(query.shape[:2])
        is_transposed = module.batch_first and query.ndim == 3
        modules_in_forward.append((module, shape[::-1] if is_transposed else shape, set()))

    def leave(*_: Any) -> None:
        modules_in_forward.pop()

    with ExitStack() as stack:
        for module in by_module:
            stack.callback(module.register_forward_pre_hook(enter, with_kwargs=True).remove)
            stack.callback(module.register_forward_hook(leave, prepend=True, always_call=True).remove)
        stack.callback(setattr, F, "linear", linear)
        F.linear = recording_linear  # type: ignore[assignment]
        yield


def _columns_by_part(module: nn.MultiheadAttention, weight: Tensor, called: set[str]) -> dict[str, slice]:
    """The columns of the module's projections in the product with a weight that is a part of their tensor.

    Of projections with the same rows of a tensor, which are tied, the product is that of the first one that was not
    called yet: torch calls them in this order.
    """
    columns: dict[str, slice] = {}
    for part, layer in as_layers("", module).items():
        tensor, start, stop = cast(Projection, layer).place()
        if part in called or tensor.untyped_storage().data_ptr() != weight.untyped_storage().data_ptr():
            continue
        first_row = (weight.storage_offset() - tensor.storage_offset()) // weight.shape[1]
        place = slice(start - first_row, stop - first_row)
        if first_row <= start and stop <= first_row + weight.shape[0] and place not in columns.values():
            columns[part] = place
    return columns
