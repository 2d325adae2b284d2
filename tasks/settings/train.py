"""Networks and how they are trained."""

import re
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationError, model_validator

from tasks.settings.fields import Count, Rate, Reducible, Share, Strict


class Model(Strict):
    """A network. Which keys it must and may have depends on its kind; gramlab.nets.build says what they mean."""

    kind: Literal["mlp", "deep_linear", "cnn", "vae", "resnet18", "vgg11"] = "mlp"
    hidden: list[Count] = []
    activation: Literal[
        "gelu", "relu", "leaky_relu", "tanh", "sigmoid", "softplus", "linear", "relu^2", "relu^3", "quadratic", "cosine"
    ] = "gelu"
    bias: bool = True
    output_scale: Rate = 1.0  # of an mlp: what its outputs are multiplied by
    latent: Count = 32  # of a vae
    channels: Count | None = None  # of a cnn, 16; of the first convolution of a resnet18 or vgg11, 64
    kernel: Count = 2  # side of a cnn's kernels
    width: Count = 512  # of the layers before a resnet18's or vgg11's readout, and how many they are
    depth: Count = 5

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
        """What gramlab.nets.build takes beside the kind and the data's shape."""
        return {key: getattr(self, key) for key in sorted(self.model_fields_set - {"kind"})}


class Grid(Strict):
    """Values that train side by side: each combination of them, with each seed. They replace the run's own values."""

    lr: list[Rate] | None = None
    weight_decay: list[Share] | None = None
    label_noise: list[Annotated[float, Field(ge=0, le=1)]] | None = None
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
    part: str = ""  # which one, of data that are several sets
    samples: Count | None = None  # of its training set: the first so many; all by default
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
    label_noise: Annotated[float, Field(ge=0, le=1)] = 0.0  # the probability that a label is drawn anew
    grid: Grid = Grid()
    batch: Count | None  # null: full batch
    epochs: Count
    seeds: Count
    init: Literal["uniform", "normal", "orthogonal", "torchvision"] = "uniform"
    init_scale: Rate | list[Rate] | dict[str, Rate] = 1.0  # for all layers, each in turn, or by name
    snapshots: Count  # epochs between snapshots; the initial and the last weights are always kept
    history_every: Count = 1  # epochs between two rows of losses and accuracies
    observe: list[Literal["virtual_shift", "virtual_update"]] = []
    dtype: Literal["float32", "float64"] = "float32"
    compile: Literal["default", "reduce-overhead", "max-autotune"] | None = None  # a mode of torch.compile
    sets: list[str] = []  # data sets; each trains every arm, as the variant "SET ARM", or just "SET" without arms
    arms: dict[str, dict[str, Any] | None] = {}  # by name the settings that an arm replaces; null leaves the arm out
    variants: dict[str, dict[str, Any] | None] = {}  # settings a variant replaces, over its arm's

    @model_validator(mode="after")
    def _loss_fits_its_model(self) -> "Train":
        if (self.loss == "vae") != (self.model.kind == "vae"):
            raise ValueError(f"loss {self.loss} does not fit a model of kind {self.model.kind}")
        return self

    @model_validator(mode="after")
    def _all_have_an_effect(self) -> "Train":
        adam = self.optimizer in ("adam", "adamw")
        for name, idle, of in (
            ("momentum", adam, self.optimizer),
            ("betas", not adam, self.optimizer),
            ("method", "whitened" not in self.optimizer, self.optimizer),
            ("beta", self.loss != "vae", f"loss {self.loss}"),
        ):
            changed = getattr(self, name) != type(self).model_fields[name].default
            if idle and (changed or getattr(self.grid, name, None) is not None):
                raise ValueError(f"{name} has no effect with {of}")
        return self

    @model_validator(mode="after")
    def _variants_fit(self) -> "Train":
        self.each()
        return self

    def each(self) -> dict[str, "Train"]:
        """The settings of each variant by its name. A run without variants is its only variant, with the name ""."""
        if not (self.variants or self.sets):
            return {"": self}
        without_variants = self.model_dump(exclude={"affordable", "variants", "sets", "arms"}, exclude_unset=True)
        variants = {}
        for name, change in self.changes().items():
            if not re.fullmatch(r"\w[\w .,+=-]*", name):  # it is a folder's name too
                raise ValueError(f"variant {name!r}: letters, digits, spaces and . , + = - make a name")
            if fixed := change.keys() & {"affordable", "data", "seeds", "variants", "sets", "arms"}:
                raise ValueError(f"variant {name} cannot change {', '.join(sorted(fixed))}")
            try:
                variants[name] = Train.model_validate(merged(without_variants, change))
            except ValidationError as error:
                first = error.errors()[0]
                at = [f"variant {name}", ".".join(map(str, first["loc"]))]  # no place: a rule about several keys
                at.append(first["msg"].removeprefix("Value error, "))
                raise ValueError(": ".join(filter(None, at))) from error
        return variants

    def changes(self) -> dict[str, dict[str, Any]]:
        """By the name of each variant the settings that it replaces."""
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
    """The paper's settings with the reductions laid over them, key by key."""
    out = dict(paper)
    for key, value in (quick or {}).items():
        out[key] = merged(paper[key], value) if isinstance(value, dict) and isinstance(paper.get(key), dict) else value
    return out
