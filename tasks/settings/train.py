"""The settings of networks and of their training."""

import re
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationError, model_validator

from tasks.settings.fields import Count, Probability, Rate, Reducible, Share, Strict, shown


class Model(Strict):
    """A network. Its kind decides which keys it must and may have; gramlab.nets.build explains them."""

    kind: Literal["mlp", "deep_linear", "cnn", "vae", "resnet18", "vgg11"] = "mlp"
    hidden: list[Count] = []
    activation: Literal[
        "gelu", "relu", "leaky_relu", "tanh", "sigmoid", "softplus", "linear", "relu^2", "relu^3", "quadratic", "cosine"
    ] = "gelu"
    bias: bool = True
    output_scale: Rate = 1.0  # of an mlp: the factor of its outputs
    latent: Count = 32  # of a vae
    channels: Count | None = None  # of a cnn (16), or of the first convolution of a resnet18 or vgg11 (64)
    kernel: Count = 2  # side of a cnn's kernels
    width: Count = 512  # of the hidden linear layers of a resnet18 or vgg11
    depth: Count = 5  # the number of these layers

    @model_validator(mode="after")
    def _fits_its_kind(self) -> "Model":
        must, may = {
            "mlp": ({"hidden", "activation"}, {"bias", "output_scale"}),
            "deep_linear": ({"hidden"}, set()),
            "cnn": (set(), {"channels", "kernel", "activation"}),
            "vae": ({"hidden"}, {"latent", "activation"}),
        }.get(self.kind, (set(), {"width", "depth", "channels"}))
        set_fields = self.model_fields_set - {"kind"}
        if missing := must - set_fields:
            raise ValueError(f"{' and '.join(sorted(missing))} must be given for a model of kind {self.kind}")
        if more := set_fields - must - may:
            raise ValueError(f"{' and '.join(sorted(more))} must be left out for a model of kind {self.kind}")
        return self

    def options(self) -> dict:
        """The keyword arguments of gramlab.nets.build, without the kind and the data's shape."""
        return {key: getattr(self, key) for key in sorted(self.model_fields_set - {"kind"})}


class Grid(Strict):
    """Values that train side by side: every combination, with every seed. They replace the run's single values."""

    lr: list[Rate] | None = None
    weight_decay: list[Share] | None = None
    label_noise: list[Probability] | None = None
    beta: list[Share] | None = None

    @model_validator(mode="after")
    def _different(self) -> "Grid":
        for axis, values in self.axes().items():
            if not values or len(set(values)) < len(values):
                raise ValueError(f"{axis} must hold different values")
        return self

    def axes(self) -> dict[str, list[float]]:
        """The values by name, in the order of this class."""
        return {key: value for key, value in self if value is not None}


class Train(Reducible):
    """One training run, of several seeds together."""

    data: str
    part: str = ""  # the set, where ``data`` has several
    samples: Count | None = None  # the number of training samples, from the first; all by default
    model: Model
    loss: Literal["cross_entropy", "mse", "signed_mse", "bce_with_logits", "vae"]
    optimizer: Literal["sgd", "adam", "adamw", "whitened", "whitened_complement"]
    lr: Rate
    momentum: Annotated[float, Field(ge=0, lt=1)] = 0.0
    betas: tuple[Annotated[float, Field(ge=0, lt=1)], Annotated[float, Field(ge=0, lt=1)]] = (0.9, 0.999)  # Adam's
    weight_decay: Share = 0.0
    method: Literal["newton-schulz", "svd", "ten-steps"] = "svd"  # of the whitened optimizers
    schedule: Literal["constant", "cosine"] = "constant"
    parametrization: Literal["standard", "ntk"] = "standard"
    beta: Share = 1.0  # of the vae's loss
    label_noise: Probability = 0.0  # that a training label is drawn at random
    grid: Grid = Grid()
    batch: Count | None  # null: full batch
    epochs: Count
    seeds: Count
    init: Literal["uniform", "normal", "orthogonal", "torchvision"] = "uniform"
    init_scale: Rate | list[Rate] | dict[str, Rate] = 1.0  # one for all layers, one for each layer, or by name
    snapshots: Count  # epochs between snapshots; the initial and the last weights are always kept
    history_every: Count = 1  # epochs between two rows of losses and accuracies
    observe: list[Literal["virtual_shift", "virtual_update"]] = []
    dtype: Literal["float32", "float64"] = "float32"
    compile: Literal["default", "reduce-overhead", "max-autotune"] | None = None  # a mode of torch.compile
    sets: list[str] = []  # data sets, each with every arm: variants "SET ARM", or "SET" without arms
    arms: dict[str, dict[str, Any] | None] = {}  # the settings that an arm replaces; null removes it
    variants: dict[str, dict[str, Any] | None] = {}  # settings a variant replaces, over its arm's

    @model_validator(mode="after")
    def _loss_fits_its_model(self) -> "Train":
        if (self.loss == "vae") != (self.model.kind == "vae"):
            raise ValueError(f"loss {self.loss} does not fit a model of kind {self.model.kind}")
        return self

    @model_validator(mode="after")
    def _all_have_an_effect(self) -> "Train":
        adam = self.optimizer in ("adam", "adamw")
        for name, idle, cause in (
            ("momentum", adam, self.optimizer),
            ("betas", not adam, self.optimizer),
            ("method", "whitened" not in self.optimizer, self.optimizer),
            ("beta", self.loss != "vae", f"loss {self.loss}"),
        ):
            changed = getattr(self, name) != type(self).model_fields[name].default
            if idle and (changed or getattr(self.grid, name, None) is not None):
                raise ValueError(f"{name} has no effect with {cause}")
        return self

    @model_validator(mode="after")
    def _variants_fit(self) -> "Train":
        if self.arms and not self.sets:
            raise ValueError("arms must have sets: each set has every arm")
        self.by_variant()
        return self

    def by_variant(self) -> dict[str, "Train"]:
        """The settings of each variant by name. A run without variants is its only variant, with the name ""."""
        if not (self.variants or self.sets):
            return {"": self}
        without_variants = self.model_dump(exclude={"affordable", "variants", "sets", "arms"}, exclude_unset=True)
        variants = {}
        for name, change in self.changes().items():
            if not re.fullmatch(r"\w[\w .,+=-]*", name):  # the name of a folder too
                raise ValueError(f"variant {name!r}: letters, digits, spaces and . , + = - make a name")
            if fixed := change.keys() & {"affordable", "data", "seeds", "variants", "sets", "arms"}:
                raise ValueError(f"variant {name} cannot change {', '.join(sorted(fixed))}")
            try:
                variants[name] = Train.model_validate(merged(without_variants, change))
            except ValidationError as error:
                first = error.errors()[0]
                place = ".".join(map(str, first["loc"]))  # empty for a rule about several keys
                of_entry = first["type"] in ("missing", "value_error", "extra_forbidden")
                received = "" if of_entry else f", not {shown(first['input'])}"
                parts = [f"variant {name}", place, first["msg"].removeprefix("Value error, ") + received]
                raise ValueError(": ".join(filter(None, parts))) from error
        return variants

    def changes(self) -> dict[str, dict[str, Any]]:
        """The settings that each variant replaces, by the variant's name."""
        arms = {arm: change for arm, change in (self.arms or {"": {}}).items() if change is not None}
        crossed = {
            f"{part} {arm}".strip(): {"part": part, **change} for part in self.sets for arm, change in arms.items()
        }
        both = merged(crossed, self.variants)
        return {name: change for name, change in both.items() if change is not None}

    def epochs_kept(self) -> tuple[int, ...]:
        """The epochs after which the weights are kept."""
        return tuple(sorted({0, *range(0, self.epochs + 1, self.snapshots), self.epochs}))


def merged(paper: dict, quick: dict | None) -> dict:
    """The paper's settings with the reductions in their place, key by key."""
    out = dict(paper)
    for key, value in (quick or {}).items():
        out[key] = merged(paper[key], value) if isinstance(value, dict) and isinstance(paper.get(key), dict) else value
    return out
