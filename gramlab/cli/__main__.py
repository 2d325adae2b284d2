"""``python -m gramlab.cli`` is ``gramlab``."""

from gramlab.cli import main

main()
