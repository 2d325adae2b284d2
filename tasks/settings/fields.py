"""Types of values, and the base classes of all settings. They refuse unknown keys."""

from typing import Annotated, Any, Self, get_args

from pydantic import BaseModel, ConfigDict, Field, model_validator

Count = Annotated[int, Field(ge=1)]
Rate = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Share = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Natural = Annotated[int, Field(ge=0)]
Probability = Annotated[float, Field(ge=0, le=1)]


def shown(value: Any) -> str:
    """A value as a message shows it: the beginning of a long one."""
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


class Strict(BaseModel):
    """Settings with no unknown keys."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    @model_validator(mode="before")
    @classmethod
    def _no_truth_value_as_a_number(cls, value: Any) -> Any:
        """Refuse true and false where a number or a text belongs: pydantic reads them as 1 and 0."""
        for name, given in value.items() if isinstance(value, dict) else ():
            field = cls.model_fields.get(name)
            items = given if isinstance(given, list) else [given]
            if field and not _may_be_true(field.annotation) and any(isinstance(item, bool) for item in items):
                raise ValueError(f"{name} must not be {shown(given)}")
        return value


def _may_be_true(annotation: Any) -> bool:
    """Whether a type contains truth values."""
    return annotation in (bool, Any) or any(_may_be_true(part) for part in get_args(annotation))


class Reducible(Strict):
    """Settings of an experiment that may be too large for a machine."""

    affordable: dict[str, Any] | None = None  # replace the paper's settings where the machine is too small for them

    @model_validator(mode="after")
    def _check_affordable(self) -> Self:
        self.feasible()
        return self

    def feasible(self) -> Self:
        """The settings with those of ``affordable`` in place of the paper's."""
        if not self.affordable:
            return self
        settings = self.model_dump(exclude={"affordable"}, exclude_unset=True)
        return type(self).model_validate({**settings, **self.affordable})
