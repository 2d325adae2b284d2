"""The site that people read: ``python -m tasks.site`` writes the pages of both scales into ``reports/``.

It reads only files that git holds, so that a fresh clone can make it: the results of both scales, the papers' folders
and params.yaml. The pages hold no time, commit or machine.
"""

import argparse
from pathlib import Path

from gramlab.files import atomic
from tasks.reporting.site.pages import REPORTS, all_pages

FOLDERS = ("assets", "atlas", "claims", "controls", "explore", "papers")  # folders of pages alone


def main() -> None:
    """Write every page, and remove the pages of claims and papers that no longer exist."""
    argparse.ArgumentParser(prog="python -m tasks.site", description=__doc__).parse_args()
    names = set()
    for name, text in all_pages():
        names.add(REPORTS / name)
        with atomic(REPORTS / name) as temporary:
            temporary.write_text(text, encoding="utf-8")
    for folder in FOLDERS:
        (REPORTS / folder).mkdir(parents=True, exist_ok=True)  # DVC expects it
        remove_others(REPORTS / folder, names)


def remove_others(folder: Path, names: set[Path]) -> None:
    """Remove the files of a folder that have other names; a folder in it, such as Jupyter's, stays."""
    for path in folder.glob("*"):
        if path not in names and not path.is_dir():
            path.unlink()


if __name__ == "__main__":
    main()
