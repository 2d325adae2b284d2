"""What params.yaml may hold, and the one function that reads it.

Each experiment has the paper's settings and, beside them, the quick scale's reductions. A mistake is one line
that names the key and what is allowed, exit status 2, and nothing written.
"""

import os
import sys
from pathlib import Path
from typing import Annotated, Any, Literal, NoReturn

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model, model_validator
from pydantic_core import PydanticCustomError

ROOT = Path(__file__).resolve().parent.parent
SCALES = ("quick", "paper")

Count = Annotated[int, Field(ge=1)]
Rate = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Share = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Natural = Annotated[int, Field(ge=0)]
Probability = Annotated[float, Field(ge=0, le=1)]


class Strict(BaseModel):
    """Settings with no unknown keys."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Machine(Strict):
    """Where and how to compute; no result should depend on it beyond round-off."""

    data_root: str  # raw files; the environment variable GRAMLAB_DATA has the last word
    device: Literal["auto", "cpu", "cuda"]
    threads: Count
    checkpoint_seconds: Share

    def root(self) -> Path:
        """The folder with the raw data."""
        return Path(os.environ.get("GRAMLAB_DATA") or ROOT / self.data_root)


_DRAWN = {"samples": (Count, ...), "test_samples": (Natural, 0)}
_GAUSSIAN = {**_DRAWN, "dimension": (Count, ...), "decay": (Share | None, None), "spectrum": (list[Share] | None, None)}
_OPERATIONS = Literal[
    "x+y", "x-y", "x*y", "x/y", "x/y if y is odd else x-y", "x^2+y^2", "x^2+xy+y^2", "x^2+xy+y^2+x", "x^3+xy",
    "x^3+xy^2+y",
]  # fmt: skip
# what each source of gramlab.data takes: type and default, `...` if it must be given; a test compares the two
IMAGES: dict[str, dict[str, Any]] = {
    "digits": {"test_fraction": (Annotated[float, Field(ge=0, lt=1)], 0.2), "enlarge": (Count, 1)},
    "mnist": {},
    "cifar10": {},
    "cifar100": {},
    "svhn": {},
    "celeba": {"attribute": (str, ...), "size": (Count, 96)},
    "folder": {"path": (str, ...)},  # under the data root
    "parquet": {"path": (str, ...), "image": (str, "image"), "label": (str, "label")},
}
SYNTHETIC: dict[str, dict[str, Any]] = {
    "swiss_roll": {"samples": (Annotated[int, Field(ge=2)], ...)},
    "chain_monomial": {**_GAUSSIAN, "rank": (Annotated[int, Field(ge=2)], ...), "unit_labels": (bool, True)},
    "high_rank_polynomial": {**_GAUSSIAN, "unit_labels": (bool, True)},
    "staircase": {**_GAUSSIAN, "degree": (Count, 4), "unit_labels": (bool, False)},
    "gaussian": {**_GAUSSIAN, "labels": (Literal["normal", "signs", "ones"], "normal")},
    "alignment_reversing": {
        "samples": (Annotated[int, Field(ge=2)], ...),
        "dimension": (Count, ...),
        "balance": (Annotated[float, Field(gt=0, le=1)], ...),
        "scale": (Rate, 1.0),
        "variance": (Share, 0.5),
        "noise": (Share, 1e-2),
        "offset": (Share, 1e-5),
    },
    "sparse_parity": {
        **_DRAWN,
        "dimension": (Count, ...),
        "support": (list[Natural] | None, None),
        "degree": (Count | None, None),
        "inputs": (Literal["unit_signs", "signs", "bits"], "unit_signs"),
        "labels": (Literal["zero_one", "signs", "classes"], "zero_one"),
    },
    "modular": {
        "modulus": (Annotated[int, Field(ge=2)], ...),
        "operation": (_OPERATIONS, "x+y"),
        "constant": (Natural, 0),
        "fraction": (Annotated[float, Field(gt=0, le=1)], 0.5),
    },
    "linear_teacher": {**_DRAWN, "dimension": (Count, ...), "outputs": (Count, ...)},
    "fact_population": {"p": (Probability, 1e-5), "tau": (Probability, 0.02)},
}
OPTIONS: dict[str, type[Strict]] = {
    name: create_model(name, __base__=Strict, **options) for name, options in {**IMAGES, **SYNTHETIC}.items()
}


class Data(Strict):
    """One data set: these keys, and beside them the options of its source.

    An option that ``quick`` takes over from ``paper`` and that its source doesn't have is left out by null.
    """

    model_config = ConfigDict(extra="allow", frozen=True)

    source: Literal[
        "digits", "mnist", "cifar10", "cifar100", "svhn", "celeba", "folder", "parquet", "swiss_roll",
        "chain_monomial", "high_rank_polynomial", "staircase", "gaussian", "alignment_reversing", "sparse_parity",
        "modular", "fact_population", "linear_teacher",
    ]  # fmt: skip
    train: Count | None = None  # of images: how many to keep; all by default
    test: Natural | None = None
    classes: list[Natural] | None = None  # of images: which to keep
    balanced: bool | None = None  # of images: as many of each class
    order: Literal["random", "first"] | None = None  # of images: which of them to keep
    random_labels: Probability | None = None  # of drawing a training label anew
    standardize: bool | None = None  # of images: each pixel to mean 0 and variance 1 over the training set
    seed: Natural = 0  # of everything that is drawn

    @model_validator(mode="after")
    def _fits_its_source(self) -> "Data":
        for key in ("train", "test", "classes", "balanced", "order", "standardize") if self.source in SYNTHETIC else ():
            if getattr(self, key) is not None:
                raise _at(key, f"only images have it; source {self.source} has: {_listed(self.source)}")
        try:
            self._own()
        except ValidationError as error:
            found = {line["type"]: str(line["loc"][0]) for line in reversed(error.errors())}
            if "extra_forbidden" in found:
                key = found["extra_forbidden"]
                raise _at(key, f"source {self.source} has no such option; allowed: {_listed(self.source)}") from error
            if "missing" in found:
                key = found["missing"]
                raise _at(key, f"{key} must be given for source {self.source}") from error
            raise
        return self

    def parts(self) -> dict[str, "Data"]:
        """Itself, as the one set that there is."""
        return {"": self}

    def _own(self) -> Strict:
        given = {key: value for key, value in (self.model_extra or {}).items() if value is not None}
        return OPTIONS[self.source].model_validate(given)

    def options(self) -> dict[str, Any]:
        """The keyword arguments of gramlab.data.prepare beside the source and the data root."""
        common = self.model_dump(include=Data.model_fields.keys() - {"source"}, exclude_unset=True, exclude_none=True)
        return {**common, **self._own().model_dump(exclude_unset=True)}


class Sets(Strict):
    """Several data sets by name, kept in one file; training variants name theirs by ``part``. Null leaves one out."""

    sets: dict[str, Data | None]
    here: list[str] | None = None  # those that are prepared, where not all can be had

    @model_validator(mode="after")
    def _here_fits(self) -> "Sets":
        if unknown := sorted({*(self.here or [])} - self.declared().keys()):
            raise ValueError(f"here: no set {', '.join(unknown)}; allowed: {', '.join(self.declared())}")
        if not self.parts():
            raise ValueError("no set is left")
        return self

    def declared(self) -> dict[str, Data]:
        """The sets by name."""
        return {name: one for name, one in self.sets.items() if one is not None}

    def parts(self) -> dict[str, Data]:
        """Those of them that are prepared."""
        return {name: one for name, one in self.declared().items() if self.here is None or name in self.here}


def _at(key: str, says: str) -> ValidationError:
    # of the type `missing`, after which the value is not repeated
    custom = PydanticCustomError("missing", "{says}", {"says": says})
    return ValidationError.from_exception_data("Data", [{"type": custom, "loc": (key,), "input": None}])


def _listed(source: str) -> str:
    common = ["train", "test", "classes", "balanced", "order", "standardize"] if source in IMAGES else []
    return ", ".join([*OPTIONS[source].model_fields, *common, "random_labels", "seed"])


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
        given = self.model_fields_set - {"kind"}
        if missing := must - given:
            raise ValueError(f"{' and '.join(sorted(missing))} must be given for a model of kind {self.kind}")
        if more := given - must - may:
            raise ValueError(f"{' and '.join(sorted(more))} must be left out for a model of kind {self.kind}")
        return self

    def options(self) -> dict:
        """What gramlab.nets.build takes beside the kind and the data's shape."""
        return {key: getattr(self, key) for key in sorted(self.model_fields_set - {"kind"})}


class Grid(Strict):
    """Values that train side by side, every one with every other and with every seed; they take the run's own place."""

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


class Train(Strict):
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
    method: Literal["newton-schulz", "svd"] = "svd"  # of the whitened optimizers
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
    variants: dict[str, dict[str, Any] | None] = {}  # by name, what replaces some of these; null leaves one out

    @model_validator(mode="after")
    def _loss_fits_its_model(self) -> "Train":
        if (self.loss == "vae") != (self.model.kind == "vae"):
            raise ValueError(f"loss {self.loss} does not fit a model of kind {self.model.kind}")
        return self

    @model_validator(mode="after")
    def _variants_fit(self) -> "Train":
        self.each()
        return self

    def each(self) -> dict[str, "Train"]:
        """The run's variants by name, each with its settings; the run itself, by "", where there are none."""
        if not self.variants:
            return {"": self}
        own = self.model_dump(exclude={"variants"}, exclude_unset=True)
        made = {}
        for name, change in self.variants.items():
            if change is None:
                continue
            if fixed := change.keys() & {"data", "seeds", "variants"}:
                raise ValueError(f"variant {name} cannot change {', '.join(sorted(fixed))}")
            try:
                made[name] = Train.model_validate(merged(own, change))
            except ValidationError as error:
                first = error.errors()[0]
                at = ".".join(map(str, first["loc"]))
                raise ValueError(f"variant {name}: {at}: {first['msg'].removeprefix('Value error, ')}") from error
        return made

    def epochs_kept(self) -> tuple[int, ...]:
        """The epochs after which the weights are kept."""
        return tuple(sorted({0, *range(0, self.epochs + 1, self.snapshots), self.epochs}))


class Measure(Strict):
    """What is measured on a training run's snapshots: its own settings, if it has any."""

    samples: Count | None = None  # of the training set; all by default


class Parity(Strict):
    """Sparse parities of one kind, for kernel machines with ``steps`` feature updates."""

    degree: Count
    dimension: Count
    samples: Count
    test_samples: Count = 1000
    steps: Count = 5
    transition: bool = False  # of Figure 1, not of Figure 5


class Simulate(Strict):
    """A Monte Carlo experiment without a data set."""

    instances: Count
    steps: Count | None = None
    every: Count | None = None  # steps between two measurements
    width: Count | None = None  # of the hidden layers
    sizes: list[Count] | None = None  # of matrices that grow
    widths: list[Count] | None = None  # of networks
    draws: Count | None = None  # networks drawn for one average
    balances: list[Probability] | None = None  # of the alignment-reversing data
    data: list[Literal["digits", "mnist", "cifar10", "svhn"]] | None = None  # of images, where it has any
    samples: Count | None = None  # of each of these
    layers: Count | None = None
    modulus: Count | None = None  # of modular addition, and the fraction of its table to train on
    fraction: Rate | None = None
    folder: str | None = None  # of Parquet tables, under the data root; scikit-learn's own without one
    largest: Count | None = None  # number of rows of a table
    parities: list[Parity] | None = None
    ridges: list[Rate] | None = None  # of kernel machines, each chosen by its leave-one-out error
    here: dict[str, Any] | None = None  # what replaces some of the paper's own where the machine is too small for them

    @model_validator(mode="after")
    def _here_fits(self) -> "Simulate":
        self.feasible()
        return self

    def feasible(self) -> "Simulate":
        """The settings with ``here`` laid over them."""
        if not self.here:
            return self
        return Simulate.model_validate({**self.model_dump(exclude={"here"}, exclude_unset=True), **self.here})


class Claim(Strict):
    """Which experiment feeds a claim, and which file of tasks/figures draws it."""

    experiment: str
    figure: str


SECTIONS: dict[str, type[Strict]] = {"data": Data, "train": Train, "measure": Measure, "simulate": Simulate}


class Settings:
    """All of params.yaml at one scale, validated: ``data``, ``train``, ``measure``, ``simulate``, ``claims``."""

    def __init__(self, raw: dict[str, Any], scale: str):
        self.scale = scale
        if unknown := raw.keys() - {*SECTIONS, "machine", "claims"}:
            refuse(f"params.yaml: unknown section {', '.join(sorted(unknown))}; allowed: {_names()}")
        if missing := {*SECTIONS, "machine", "claims"} - raw.keys():
            refuse(f"params.yaml: section {', '.join(sorted(missing))} is missing")
        self.machine = _valid(Machine, raw["machine"], "machine")
        self.claims = {key: _valid(Claim, value, f"claims.{key}") for key, value in raw["claims"].items()}
        made: dict[str, dict[str, Any]] = {}
        for section, kind in SECTIONS.items():
            made[section] = {}
            for key, value in raw[section].items():
                at = f"{section}.{key}"
                if not isinstance(value, dict) or value.keys() != {"paper", "quick"}:
                    refuse(f"params.yaml: {at} must hold exactly the two keys paper and quick")
                one = Sets if section == "data" and "sets" in value["paper"] else kind
                paper = _valid(one, value["paper"], f"{at}.paper")
                # validated on top of the paper's settings, so that a mistake is named where it stands
                quick = _valid(one, merged(value["paper"], value["quick"]), f"{at}.quick")
                made[section][key] = paper if scale == "paper" else quick
        self.data: dict[str, Data | Sets] = made["data"]
        self.train: dict[str, Train] = made["train"]
        self.measure: dict[str, Measure] = made["measure"]
        self.simulate: dict[str, Simulate] = made["simulate"]
        self._consistent()

    def _consistent(self) -> None:
        for key, run in self.train.items():
            _known(run.data, self.data, f"train.{key}.*.data", "data set")
            self.train[key] = self._trainable(key, run)
        for key in self.measure:
            _known(key, self.train, f"measure.{key}", "training run")
        if both := self.measure.keys() & self.simulate.keys():
            refuse(f"params.yaml: {', '.join(sorted(both))} stands both in measure and in simulate")
        for key, claim in self.claims.items():
            _known(claim.experiment, self.experiments(), f"claims.{key}.experiment", "experiment")

    def _trainable(self, key: str, run: Train) -> Train:
        """The run without the variants whose data set is not prepared at this scale or on this machine."""
        data, each = self.data[run.data], run.each()
        for name, one in each.items():
            at = ".".join(filter(None, (f"train.{key}.*", name and f"variants.{name}", "part")))
            _known(one.part, data.sets if isinstance(data, Sets) else data.parts(), at, "set")
        kept = {name: run.variants[name] for name, one in each.items() if name and one.part in data.parts()}
        if run.variants and not kept:
            refuse(f"params.yaml: train.{key}: nothing to train; data.{run.data} has: {', '.join(data.parts())}")
        return run.model_copy(update={"variants": kept})

    def experiments(self) -> dict[str, Measure | Simulate]:
        """Every experiment by name."""
        return {**self.measure, **self.simulate}


def merged(paper: dict, quick: dict | None) -> dict:
    """The paper's settings with the reductions laid over them, key by key."""
    out = dict(paper)
    for key, value in (quick or {}).items():
        out[key] = merged(paper[key], value) if isinstance(value, dict) and isinstance(paper.get(key), dict) else value
    return out


def read(path: Path = ROOT / "params.yaml") -> dict[str, Any]:
    """params.yaml as it stands."""
    try:
        found = yaml.safe_load(path.read_text())
    except OSError as error:
        refuse(f"{path.name}: {error.strerror}")
    except yaml.YAMLError as error:
        refuse(f"{path.name}: not valid YAML: {' '.join(str(error).split())}")
    return found if isinstance(found, dict) else refuse(f"{path.name}: holds no settings")


def load(scale: str) -> Settings:
    """The settings at this scale; on a mistake one line to stderr and exit status 2."""
    if scale not in SCALES:
        refuse(f"unknown scale {scale!r}; allowed: {', '.join(SCALES)}")
    return Settings(read(), scale)


def pick(settings: dict[str, Any], key: str, what: str) -> Any:
    """The entry of this name; on an unknown one, one line to stderr and exit status 2."""
    if key not in settings:
        refuse(f"unknown {what} {key!r}; allowed: {', '.join(settings)}")
    return settings[key]


def refuse(line: str) -> NoReturn:
    """Say what is wrong in one line and exit with status 2."""
    print(line, file=sys.stderr)
    raise SystemExit(2)


def _known(name: str, allowed: Any, at: str, what: str) -> None:
    if name not in allowed:
        refuse(f"params.yaml: {at}: no {what} {name!r}; allowed: {', '.join(allowed)}")


def _names() -> str:
    return ", ".join([*SECTIONS, "machine", "claims"])


def _valid(kind: type[Strict], value: Any, at: str) -> Any:
    try:
        return kind.model_validate(value)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join([at, *map(str, first["loc"])])
        allowed = f"; allowed: {', '.join(kind.model_fields)}" if first["type"] == "extra_forbidden" else ""
        given = "" if first["type"] in ("missing", "extra_forbidden") else f", not {first['input']!r}"
        refuse(f"params.yaml: {where}: {first['msg'].removeprefix('Value error, ')}{given}{allowed}")
