"""The programs that show a print's error on a small example: ``tasks/papers/PAPER/counterexamples/KEY.py``."""

from pathlib import Path

from tasks import papers
from tasks.settings import ROOT

DERIVATIONS = "docs/derivations.md"


def counterexample(paper: str, key: str) -> Path | None:
    """The program of a claim; claims with one corrected form share one program.

    Parameters
    ----------
    paper, key
        The folder of the paper, such as ``weight_gram``, and the key of the claim.

    Returns
    -------
    Path or None
        None where the claim has no counterexample.
    """
    folder = papers.FOLDER / paper / "counterexamples"
    programs = {path.stem: path for path in sorted(folder.glob("*.py"))}
    if key in programs:
        return programs[key]
    corrected = getattr(papers.claim(paper, key), "MATH_CORRECTED", None)
    same = [path for name, path in programs.items()
            if corrected and getattr(papers.claim(paper, name), "MATH_CORRECTED", None) == corrected]  # fmt: skip
    return same[0] if same else None


def derivation(key: str) -> str:
    """The address of a claim's derivation, relative to the project, or "" where it has none."""
    anchor = key.replace("_", "-")
    text = (ROOT / DERIVATIONS).read_text(encoding="utf-8")
    return f"{DERIVATIONS}#{anchor}" if f'<a id="{anchor}"></a>' in text else ""
