"""Errors of the command line in one line."""

import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

import typer
from typer.exceptions import TyperException

from gramlab.arguments import did_you_mean


@contextmanager
def errors_in_one_line(command: str) -> Iterator[None]:
    """Print a ValueError or OSError as one line and exit with status 2.

    Parameters
    ----------
    command : str
        The command's name, with which the line begins.

    Raises
    ------
    typer.Exit
        In place of the error.
    """
    try:
        yield
    except BrokenPipeError:  # `gramlab ... | head`: no mistake; typer ends the program without a word
        raise
    except (ValueError, OSError) as error:
        typer.echo(f"gramlab {command}: {' '.join(str(error).split())}", err=True)
        raise typer.Exit(2) from error


def mistake_message(error: TyperException) -> str:
    """Return the message on mistaken arguments. For an unknown choice it names the nearest one.

    Parameters
    ----------
    error : TyperException
        The error that ``app(..., standalone_mode=False)`` raises.

    Returns
    -------
    str
        The message, or the help where the command has no arguments.

    Examples
    --------
    >>> mistake_message(typer.BadParameter("'papr' is not one of 'quick', 'paper'."))
    "Invalid value: 'papr' is not one of 'quick', 'paper'; did you mean 'paper'?"
    """
    message = str(error.format_message()).replace("Value error, ", "")
    choice = re.search(r"'([^']*)' is not one of ('.*')\.$", message)
    if choice and (nearest := did_you_mean(choice[1], re.findall(r"'([^']*)'", choice[2]))):
        return message.removesuffix(".") + nearest
    return message


def run_program(command: Callable[..., Any]) -> NoReturn:
    """Run a program of one command: print a mistake in its arguments as one line and exit with status 2.

    Parameters
    ----------
    command : callable
        What the program does; its parameters are the arguments.

    Raises
    ------
    SystemExit
        Always, with what the command returns; after Ctrl-C with 130.
    """
    app = typer.Typer(pretty_exceptions_enable=False, add_completion=False)
    app.command()(command)
    try:
        raise SystemExit(app(standalone_mode=False))
    except TyperException as error:
        print(mistake_message(error), file=sys.stderr)
        raise SystemExit(2) from None
