"""Errors of the command line in one line."""

from collections.abc import Iterator
from contextlib import contextmanager

import typer


@contextmanager
def one_line(command: str) -> Iterator[None]:
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
