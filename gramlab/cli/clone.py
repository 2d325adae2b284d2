"""Commands that only a clone of the project has: its pyproject.toml names them, and the library knows no more of them.

The table ``[tool.gramlab.commands]`` maps a command's name to ``module:name``, a Typer app or a function. A command is
imported when it is typed. The clone is the folder that gramlab itself was imported from, so that the library and the
commands are of one version, and no file of the folder where somebody types ``gramlab`` is run.
"""

from __future__ import annotations

import sys
import tomllib
from importlib import import_module
from pathlib import Path
from typing import Any

import typer
from typer.core import TyperGroup

from gramlab.arguments import did_you_mean

ROOT = Path(__file__).resolve().parents[2]
NAMES = ("claims", "compare", "new")  # the commands of a clone, so that they do not count as mistyped without it
MISSING = "needs a clone of gramlab with the extra [pipeline]; in the clone: pip install --editable '.[pipeline]'"


def commands(root: Path = ROOT) -> dict[str, str]:
    """``module:name`` of each command of the clone; none where gramlab was not imported from a clone."""
    try:
        with open(root / "pyproject.toml", "rb") as file:
            content = tomllib.load(file)
    except FileNotFoundError:
        return {}
    return content.get("tool", {}).get("gramlab", {}).get("commands", {})


class Group(TyperGroup):
    """The commands of the library and, in a clone, those of the clone after them."""

    def list_commands(self, ctx: Any) -> list[str]:
        """The names of all commands, in the order of the help."""
        return [*super().list_commands(ctx), *commands()]

    def get_command(self, ctx: Any, name: str) -> Any:
        """The command of this name, imported now; None where there is none."""
        command = super().get_command(ctx, name)
        if command is not None:
            return command
        place = commands().get(name)
        return None if place is None else _load(ctx, name, place)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command that the first argument names. A mistyped name is an error that names the nearest command."""
        name = args[0]
        if name.startswith("-") or self.get_command(ctx, name) is not None:
            return super().resolve_command(ctx, args)
        if name in NAMES:
            ctx.fail(f"{name} {MISSING}")
        known = self.list_commands(ctx)
        ctx.fail(f"no command {name!r}; the commands are {', '.join(known)}{did_you_mean(name, [*known, *NAMES])}")


def _load(ctx: Any, name: str, place: str) -> Any:
    module, _, attribute = place.partition(":")
    if str(ROOT) not in sys.path:
        sys.path.insert(0, str(ROOT))
    try:
        value = getattr(import_module(module), attribute)
    except ModuleNotFoundError as error:
        ctx.fail(f"{name} {MISSING} ({error.name} is missing)")
    if not isinstance(value, typer.Typer):
        app = typer.Typer(add_completion=False, rich_markup_mode=None)
        app.command(name)(value)
        value = app
    command = typer.main.get_command(value)
    command.name = name
    return command
