"""The command ``gramlab``: measure a checkpoint, or draw a recorded table, without writing a program."""

import sys
from typing import Annotated

import typer
from typer.exceptions import TyperException

from gramlab.cli import clone, measuring
from gramlab.cli.errors import mistake_message

STATUSES = (
    "Exit status: 0 if all went well; 1 if the answer is no (the numbers depend on the batch, a stage failed, "
    "a claim's table lacks what the claim reads), or if head or another reader closes the pipe before the end; "
    "2 for a mistake in the arguments or the files, said in one line; 130 after Ctrl-C."
)

app = typer.Typer(
    cls=clone.Group, no_args_is_help=True, epilog=STATUSES, pretty_exceptions_enable=False, rich_markup_mode=None
)


def _version(wanted: bool) -> None:
    if wanted:
        import gramlab

        typer.echo(f"gramlab {gramlab.__version__}")
        raise typer.Exit


@app.callback()
def callback(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="print the version and exit")
    ] = False,
) -> None:
    """Measure what a network's weights have learned; in a clone of gramlab, work on the papers' claims."""


for _command in (measuring.probe, measuring.batches, measuring.figures):
    app.command()(_command)


def main(arguments: list[str] | None = None) -> None:
    """Run the command ``gramlab``; a mistake in the arguments is one line.

    Parameters
    ----------
    arguments : list of str, optional
        Default the arguments of this process.

    Raises
    ------
    SystemExit
        With the status that ``gramlab --help`` explains.
    """
    try:
        status = app(arguments, prog_name="gramlab", standalone_mode=False)
    except TyperException as error:
        context, message = getattr(error, "ctx", None), mistake_message(error)
        command = f"{context.command_path if context else 'gramlab'}: "
        print(message if message.startswith("Usage: ") else command + message, file=sys.stderr)  # help, or a mistake
        status = 2
    sys.exit(status if isinstance(status, int) else 0)
