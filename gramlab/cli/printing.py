"""What commands print for programs."""

import json
from typing import Any

import typer


def print_json(content: Any) -> None:
    """Print JSON with letters of all alphabets as they are.

    Parameters
    ----------
    content : object
        Anything that JSON can hold.
    """
    typer.echo(json.dumps(content, indent=2, ensure_ascii=False))
