"""Data sets: the sources, and the options of each source."""

from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, ValidationError, create_model, model_validator
from pydantic_core import PydanticCustomError

from gramlab.arguments import did_you_mean
from tasks.settings.fields import Count, Natural, Probability, Rate, Share, Strict

_DRAWN = {"samples": (Count, ...), "test_samples": (Natural, 0)}
_GAUSSIAN = {**_DRAWN, "dimension": (Count, ...), "decay": (Share | None, None), "spectrum": (list[Share] | None, None)}
_OPERATIONS = Literal[
    "x+y", "x-y", "x*y", "x/y", "x/y if y is odd else x-y", "x^2+y^2", "x^2+xy+y^2", "x^2+xy+y^2+x", "x^3+xy",
    "x^3+xy^2+y",
]  # fmt: skip
# options of each source of gramlab.data: type and default, `...` for a required option; a test compares the two
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
    """One data set: these keys and the options of its source.

    ``quick`` inherits the options of ``paper``. Null removes an option that the source of ``quick`` does not have.
    """

    model_config = ConfigDict(extra="allow", frozen=True)

    source: Literal[
        "digits", "mnist", "cifar10", "cifar100", "svhn", "celeba", "folder", "parquet", "swiss_roll",
        "chain_monomial", "high_rank_polynomial", "staircase", "gaussian", "alignment_reversing", "sparse_parity",
        "modular", "fact_population", "linear_teacher",
    ]  # fmt: skip
    train: Count | None = None  # of images: the number of training images; all by default
    test: Natural | None = None
    classes: list[Natural] | None = None  # of images: the classes; all by default
    balanced: bool | None = None  # of images: equally many of each class
    order: Literal["random", "first"] | None = None  # of images: which of them count
    random_labels: Probability | None = None  # that a training label is drawn at random
    standardize: bool | None = None  # of images: each pixel to mean 0 and variance 1 over the training set
    seed: Natural = 0  # of all random draws

    @model_validator(mode="after")
    def _fits_its_source(self) -> "Data":
        for key in ("train", "test", "classes", "balanced", "order", "standardize") if self.source in SYNTHETIC else ():
            if getattr(self, key) is not None:
                raise _error_at(key, f"only images have it; source {self.source} has: {_listed(self.source)}")
        try:
            self._source_options()
        except ValidationError as error:
            key_by_error = {line["type"]: str(line["loc"][0]) for line in reversed(error.errors())}
            if "extra_forbidden" in key_by_error:
                key = key_by_error["extra_forbidden"]
                nearest = did_you_mean(key, _listed(self.source).split(", "))
                raise _error_at(
                    key, f"source {self.source} has no such option{nearest}; allowed: {_listed(self.source)}"
                ) from error
            if "missing" in key_by_error:
                key = key_by_error["missing"]
                raise _error_at(key, f"{key} must be given for source {self.source}") from error
            raise
        return self

    def parts(self) -> dict[str, "Data"]:
        """The set under the empty name, because an entry of a single set has one part."""
        return {"": self}

    def _source_options(self) -> Strict:
        options = {key: value for key, value in (self.model_extra or {}).items() if value is not None}
        return OPTIONS[self.source].model_validate(options)

    def options(self) -> dict[str, Any]:
        """The keyword arguments of gramlab.data.prepare, without the source and the data root."""
        common = self.model_dump(include=Data.model_fields.keys() - {"source"}, exclude_unset=True, exclude_none=True)
        return {**common, **self._source_options().model_dump(exclude_unset=True)}


class Sets(Strict):
    """Several data sets by name in one file. A training variant names its set by ``part``. Null removes a set."""

    sets: dict[str, Data | None]
    affordable: list[str] | None = None  # the sets to prepare where the machine is too small for all

    @model_validator(mode="after")
    def _affordable_fits(self) -> "Sets":
        if unknown := sorted({*(self.affordable or [])} - self.declared().keys()):
            nearest = did_you_mean(unknown[0], self.declared())
            raise ValueError(f"affordable: no set {', '.join(unknown)}{nearest}; allowed: {', '.join(self.declared())}")
        if not self.parts():
            raise ValueError("no set is left")
        return self

    def declared(self) -> dict[str, Data]:
        """The sets by name."""
        return {name: data for name, data in self.sets.items() if data is not None}

    def parts(self) -> dict[str, Data]:
        """The sets that are prepared, by name."""
        declared = self.declared()
        names = declared if self.affordable is None else self.affordable
        return {name: data for name, data in declared.items() if name in names}


def _error_at(key: str, message: str) -> ValidationError:
    # the type `missing`, because `_valid` does not add the value to such a message
    custom = PydanticCustomError("missing", "{message}", {"message": message})
    return ValidationError.from_exception_data("Data", [{"type": custom, "loc": (key,), "input": None}])


def _listed(source: str) -> str:
    common = ["train", "test", "classes", "balanced", "order", "standardize"] if source in IMAGES else []
    return ", ".join([*OPTIONS[source].model_fields, *common, "random_labels", "seed"])
