"""``python -m gramlab`` is ``gramlab``."""

from gramlab.cli import main

main()
