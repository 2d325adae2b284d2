"""Kinds of values, and the class of all settings: unknown keys are refused."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

Count = Annotated[int, Field(ge=1)]
Rate = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Share = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Natural = Annotated[int, Field(ge=0)]
Probability = Annotated[float, Field(ge=0, le=1)]


class Strict(BaseModel):
    """Settings with no unknown keys."""

    model_config = ConfigDict(extra="forbid", frozen=True)
