"""Functions of a checkout, taken out of its files by name and run on the CPU."""

import __future__

import ast
import subprocess
from functools import cached_property
from pathlib import Path
from types import SimpleNamespace
from typing import Any

LIBRARIES = {"torch", "numpy", "scipy", "math", "time", "functorch", "typing", "contextlib"}  # imports that are run


class OnCPU(ast.NodeTransformer):
    """Code with ``x.cuda()`` replaced by ``x``, and the device "cuda" by "cpu"."""

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.func, ast.Attribute) and node.func.attr == "cuda" and not node.args:
            return node.func.value
        return node

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        return ast.copy_location(ast.Constant("cpu"), node) if node.value == "cuda" else node


class Checkout:
    """A folder with a repository of the authors.

    Parameters
    ----------
    folder : Path
        The checkout; its name is the repository's.
    """

    def __init__(self, folder: Path):
        self.folder, self.name = folder, folder.name

    @cached_property
    def commit(self) -> str:
        """The commit that is checked out, with "+" where tracked files were changed; empty without git."""
        commit = self._git("rev-parse", "HEAD")
        return commit + ("+" if commit and self._git("status", "--porcelain", "--untracked-files=no") else "")

    def take(self, path: str, *names: str, **available: Any) -> SimpleNamespace:
        """Return functions and classes of a file.

        The file itself is not run. The named definitions are compiled in a namespace of their own, with the file's
        imports of common libraries and with ``available``, which stands in for all other imports and global variables.

        Raises
        ------
        LookupError
            If the file does not define a name.
        """
        tree = OnCPU().visit(ast.parse((self.folder / path).read_text(encoding="utf-8")))
        defined = {part.name: part for part in tree.body if isinstance(part, ast.FunctionDef | ast.ClassDef)}
        if missing := [name for name in names if name not in defined]:
            raise LookupError(f"{self.name}/{path} does not define {', '.join(missing)}")
        body = [part for part in tree.body if _is_library(part)] + [defined[name] for name in names]
        module = ast.fix_missing_locations(ast.Module(body=body, type_ignores=[]))
        space: dict[str, Any] = {"__name__": f"{self.name}/{path}"}
        # annotations may name what is not here
        code = compile(module, path, "exec", flags=__future__.annotations.compiler_flag)
        exec(code, space)
        space.update(available)
        return SimpleNamespace(**{name: space[name] for name in names})

    def _git(self, *arguments: str) -> str:
        done = subprocess.run(["git", "-C", self.folder, *arguments], capture_output=True, text=True)
        top = subprocess.run(["git", "-C", self.folder, "rev-parse", "--show-toplevel"], capture_output=True, text=True)
        inside = Path(top.stdout.strip() or "/").resolve() == self.folder.resolve()
        return done.stdout.strip() if done.returncode == 0 and inside else ""


def _is_library(part: ast.stmt) -> bool:
    """Whether a statement imports one of the common libraries."""
    if isinstance(part, ast.Import):
        return all(alias.name.partition(".")[0] in LIBRARIES for alias in part.names)
    return isinstance(part, ast.ImportFrom) and part.level == 0 and (part.module or "").partition(".")[0] in LIBRARIES
