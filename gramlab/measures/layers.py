"""Find the layers of a model that are measured, and name the parameters that are not."""

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import torch
from torch import Tensor, nn

from gramlab.arguments import did_you_mean
from gramlab.measures.kinds import Layer, Projection, as_layers, is_adapted, parametrized_weight
from gramlab.measures.preserve_state import preserved_state

KINDS = "Linear, convolutions, transposed convolutions, Embedding, attention, Conv1D of Hugging Face"
# why a parameter is left out
NOT_NAMED = "not named in layers="
NOT_MEASURED = "{} is not a measured kind of layer"
UNREACHED = "no sample reaches layer {!r}"

Layers = str | Sequence[str] | Callable[[str, nn.Module], bool] | None


def find_layers(model: nn.Module, layers: Layers = None) -> dict[str, Layer]:
    """Return the measured layers by their names in ``model.named_modules()``, in that order.

    The projections of ``nn.MultiheadAttention`` have the names of the module with ".q_proj", ".k_proj", ".v_proj" and
    ".out_proj". The Linear layers that an adapted Linear is made of are measured only by name.

    Parameters
    ----------
    model : torch.nn.Module
    layers : None, str, sequence of str, or predicate (name, module), default None
        None stands for every layer that multiplies by a weight. The name of an attention module stands for its four
        projections; a predicate gets that module with each of their names.

    Returns
    -------
    dict of str to Layer

    Raises
    ------
    ValueError
        If no layer matches, if the names come from an iterator, if a name does not exist (the nearest names are listed)
        or is of another kind, if a layer is lazy and has no weight yet, if its weight is complex, and if the model
        normalises by its batches even in evaluation: outputs would then depend on the batch size.

    Examples
    --------
    >>> from torch import nn
    >>> find_layers(nn.Sequential(nn.Linear(4, 6), nn.ReLU(), nn.Linear(6, 2)), "2")
    {'2': Linear(in_features=6, out_features=2, bias=True)}
    """
    modules = dict(model.named_modules())
    for name, module in modules.items():
        if isinstance(module, nn.modules.batchnorm._BatchNorm) and module.running_mean is None:
            raise ValueError(
                f"layer {name!r} is a {type(module).__name__} without running statistics: it normalises by the batch,"
                " so that all numbers would depend on batch_size; use track_running_stats=True"
            )
    measurable = {name: layer for key, module in modules.items() for name, layer in as_layers(key, module).items()}
    if layers is None:
        adapted_prefixes = tuple(f"{name}." if name else "" for name, module in modules.items() if is_adapted(module))
        selected = {name: layer for name, layer in measurable.items() if not _is_inside(name, adapted_prefixes)}
    elif callable(layers):
        _check_predicate(layers)
        selected = {name: layer for name, layer in measurable.items() if layers(name, layer.module)}
    elif isinstance(layers, Iterator):
        raise ValueError(
            f"layers is a {type(layers).__name__}, which can be read only once, and the names are read several times:"
            " give a list of names"
        )
    elif not isinstance(layers, Iterable) or not all(isinstance(name, str) for name in layers):
        raise ValueError(f"layers must be names, a predicate of (name, module) or None, not {layers!r}")
    else:
        names = _projections([layers] if isinstance(layers, str) else list(layers), modules)
        for name in names:
            _check_not_parametrized(name, modules)
            if name not in modules and name not in measurable:
                if (first_name := _first_name(model, name)) is not None:
                    raise ValueError(f"{name!r} is the same module as {first_name!r}: name that in layers=")
                nearest = did_you_mean(name, measurable, most=3, cutoff=0.3)
                some = "" if nearest else f"; the first ones are {list(measurable)[:3]}"
                raise ValueError(f"the model has no layer named {name!r}{nearest or some}")
            if name not in measurable:
                kind = type(modules[name]).__name__
                raise ValueError(
                    f"layer {name!r} is a {kind}, which is not measured: it is no plain product with a weight"
                )
        selected = {name: layer for name, layer in measurable.items() if name in names}
    if not selected:
        condition = "" if layers is None else f" that matches layers={layers!r}"
        unmeasured_kinds = _unmeasured_kinds(model) or f"; {KINDS} are" * (not measurable)
        raise ValueError(f"the {type(model).__name__} has no layer that is measured{condition}{unmeasured_kinds}")
    for name, layer in selected.items():
        # not module.weight, which may be computed, and change the model: a spectral_norm takes a step in training
        if isinstance(layer.module._parameters.get("weight"), nn.parameter.UninitializedParameter):
            raise ValueError(f"layer {name!r} is lazy and has no weight yet: run the model once before measuring")
        if kinds := [p.dtype for p in layer.module.parameters() if p.is_complex()]:
            raise ValueError(
                f"layer {name!r} has weights of {kinds[0]}, and gramlab measures real ones; name the layers to measure"
                " in layers="
            )
    return selected


def _check_predicate(layers: Callable) -> None:
    """Raise ValueError for a class, or for a function that does not take a name and a module."""
    problem = None
    if isinstance(layers, (type, nn.Module)):
        problem = f"the {'class' if isinstance(layers, type) else 'module'} {layers!r}"
    else:
        try:
            inspect.signature(layers).bind("", None)
        except TypeError as error:
            problem = f"a callable that does not take both ({error})"
        except ValueError:  # it has no signature to inspect
            pass
    if problem is not None:
        raise ValueError(f"layers must be names, a predicate of (name, module) or None, not {problem}")


def _check_not_parametrized(name: str, modules: Mapping[str, nn.Module]) -> None:
    """Raise ValueError for a projection of attention whose weight is parametrized."""
    module_name, _, part = name.rpartition(".")
    module = modules.get(module_name)
    if not isinstance(module, nn.MultiheadAttention) or part not in Projection.PARTS:
        return
    if (weight := parametrized_weight(module, part)) is not None:
        raise ValueError(
            f"layer {name!r} is not measured: a parametrization computes the {weight} of the attention module"
            f" {module_name!r} anew at each use. To measure a copy of the model with the weight as it is now, call"
            " torch.nn.utils.parametrize.remove_parametrizations on the copy's module"
        )


def _first_name(model: nn.Module, name: str) -> str | None:
    """The first name of a module that has several, None for other names."""
    module = dict(model.named_modules(remove_duplicate=False)).get(name)
    return next((first_name for first_name, candidate in model.named_modules() if candidate is module), None)


def _unmeasured_kinds(model: nn.Module) -> str:
    """The kinds of the model's modules with a weight, none of which is measured."""
    kinds = dict.fromkeys(
        type(module).__name__
        for name, module in model.named_modules()
        if not as_layers(name, module) and any(p.ndim > 1 for p in module.parameters(recurse=False))
    )
    return f"; those of the kind {', '.join(kinds)} are not" if kinds else ""


def _is_inside(name: str, prefixes: Sequence[str]) -> bool:
    return any(name.startswith(prefix) and name != prefix.removesuffix(".") for prefix in prefixes)


def _projections(names: Sequence[str], modules: Mapping[str, nn.Module]) -> list[str]:
    """The names, with those of its projections in place of an attention module's; also of parametrized ones."""
    expanded: list[str] = []
    for name in names:
        has_projections = isinstance(modules.get(name), nn.MultiheadAttention) and as_layers(name, modules[name])
        prefix = f"{name}." if name else ""
        expanded += [prefix + part for part in Projection.PARTS] if has_projections else [name]
    return expanded


def left_out(
    model: nn.Module,
    measured: Mapping[str, Layer],
    used_elsewhere: Mapping[str, str] = MappingProxyType({}),
    unreached: Mapping[str, Layer] = MappingProxyType({}),
) -> dict[str, str]:
    """Return the parameters with two axes or more that belong to no measured layer, and why.

    Parameters
    ----------
    model : torch.nn.Module
    measured : mapping of str to Layer
    used_elsewhere : mapping of str to str, default {}
        Parameters that the network also uses outside of their layers, and how.
    unreached : mapping of str to Layer, default {}
        Layers that could be measured if a sample reached them.

    Returns
    -------
    dict of str to str
        A parameter's name -> the kind of its module, that ``layers=`` does not name it, or which layer no sample
        reaches.

    Examples
    --------
    >>> model = nn.ModuleList([nn.Linear(2, 3), nn.GRU(3, 3)])
    >>> left_out(model, find_layers(model))
    {'1.weight_ih_l0': 'GRU is not a measured kind of layer', '1.weight_hh_l0': 'GRU is not a measured kind of layer'}
    """
    covered = {id(parameter) for layer in measured.values() for parameter in layer.parameters()}
    measurable = {id(parameter) for name, module in model.named_modules()
                  for layer in as_layers(name, module).values()
                  for parameter in layer.parameters()}  # fmt: skip
    unreached_names = {id(parameter): name for name, layer in unreached.items() for parameter in layer.parameters()}
    reasons: dict[str, str] = {}
    for name, parameter in model.named_parameters():
        if isinstance(parameter, nn.parameter.UninitializedParameter) or parameter.ndim < 2 or id(parameter) in covered:
            continue
        if id(parameter) in unreached_names:
            if name not in used_elsewhere:
                reasons[name] = UNREACHED.format(unreached_names[id(parameter)])
        elif id(parameter) in measurable:
            reasons[name] = NOT_NAMED
        else:
            reasons[name] = NOT_MEASURED.format(type(model.get_submodule(_owner(name))).__name__)
    return {**used_elsewhere, **reasons}


def _owner(parameter: str) -> str:
    """The name of the module that a parameter belongs to; it holds the originals of its parametrized weights."""
    module, is_original, _ = f".{parameter}".partition(".parametrizations.")
    return module[1:] if is_original else parameter.rpartition(".")[0]


def first_argument(arguments: tuple, keywords: Mapping[str, Any]) -> Any:
    """Return the first argument of a call, which is a layer's input."""
    return arguments[0] if arguments else keywords.get("input", next(iter(keywords.values())))


def check_forward(name: str, layer: Layer, arguments: tuple, keywords: Mapping[str, Any]) -> None:
    """Raise ValueError if the layer overrides ``forward`` and it does not give W h + b for a random input h.

    The input of a call may be zero, like the first state of a recurrent network, and show nothing. The layer's own
    attributes, buffers and the random states stay as they are.

    Parameters
    ----------
    name : str
    layer : Layer
    arguments, keywords : tuple, mapping
        Of a call of the layer, whose first one is its input.
    """
    if not layer.overrides_forward():
        return
    generator = torch.Generator().manual_seed(0)  # the CPU's, whatever torch.set_default_device says
    layer_input = first_argument(arguments, keywords)
    if layer_input.is_floating_point():
        shape = (*layer_input.shape[:1], *[1] * (layer_input.ndim - 1))
        rows, columns = (
            torch.randn(sides, generator=generator, device="cpu") for sides in (shape, layer_input.shape[1:])
        )
        h = (rows * columns).to(layer_input)
    else:
        words = layer.module.num_embeddings
        h = torch.randint(words, layer_input.shape, generator=generator, device="cpu").to(layer_input)
    with preserved_state(layer.module), torch.no_grad():
        try:
            if arguments:
                z = layer.module.forward(h, *arguments[1:], **keywords)
            else:
                name_of_input = "input" if "input" in keywords else next(iter(keywords))
                z = layer.module.forward(**{**keywords, name_of_input: h})
        except (RuntimeError, TypeError, AttributeError, ValueError, LookupError, AssertionError):
            return  # it may refuse random numbers; its own call is checked in any case
        check_product(name, layer, h, z)


def check_product(name: str, layer: Layer, h: Tensor, z: Any) -> None:
    """Raise ValueError if the layer overrides ``forward`` and its output ``z`` for the input ``h`` is not W h + b.

    Masked, standardised and quantised layers multiply by another matrix than their weight. The error is compared with
    W h, since a large bias would hide it.
    """
    if not layer.overrides_forward():
        return
    try:
        with torch.no_grad():
            product, bias = layer.product(h), layer.product(torch.zeros_like(h))
            eps = torch.finfo(product.dtype).eps
            bound = eps**0.5 * float((product - bias).double().norm()) + 10 * eps * float(product.double().norm())
            is_same = product.shape == z.shape and float((product - z).double().norm()) <= bound
    except (RuntimeError, TypeError, AttributeError):  # the weight has another shape or kind
        is_same = False
    if not is_same:
        kind = getattr(layer, "plain", type(layer)).__name__
        raise ValueError(
            f"layer {name!r} is a {layer.kind} whose forward does not compute {kind}'s W h + b with its weight;"
            " name the layers to measure in layers="
        )


def at_least_float32(t: Tensor) -> Tensor:
    """Return half precision as float32: all products are taken in float32 or float64."""
    return t if t.dtype in (torch.float32, torch.float64) else t.float()
