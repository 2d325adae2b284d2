"""The site that people read: ``python -m tasks.site`` writes the pages of both scales into ``reports/``.

It reads only files that git holds, so that a fresh clone can make it: the results of both scales, the papers' folders
and params.yaml. The pages hold no time, commit or machine.
"""

import argparse

from gramlab.files import atomic
from tasks.reporting.outdated import remove_others
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
        remove_others(REPORTS / folder, {name.name for name in names if name.parent == REPORTS / folder})


if __name__ == "__main__":
    main()
