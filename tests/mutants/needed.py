"""Which code of the tests a test needs: a mutant's result is out of date when this code changes.

A test needs its own function, the fixtures that it names, and the helpers that these use. It also needs what pytest
runs unasked in the files of all of them, for example fixtures with ``autouse``. Code of the product is not looked at.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

Place = tuple[Path, str]  # a file and a name in it
EVERYTHING = "*"  # in place of a name: all that the file defines


@dataclass(frozen=True)
class Module:
    """What a file of tests defines: of each name the statements; and whence it imports names."""

    statements: dict[str, tuple[ast.stmt, ...]]
    unnamed: tuple[ast.stmt, ...]  # what runs whether or not a name asks for it
    imports: dict[str, tuple[str, str]]  # of a name the module and the name there; "*" is the module itself
    lines: tuple[str, ...]

    def text(self, statement: ast.stmt) -> str:
        """The source of a statement, with its decorators."""
        first = min([statement.lineno, *(d.lineno for d in getattr(statement, "decorator_list", ()))])
        return "\n".join(self.lines[first - 1 : statement.end_lineno])


def needed(tree: Path, test: str) -> str:
    """The code that a test needs, as one text; ``test`` is a file, a folder, or a node id.

    A node id that names no function of its file, for example of a doctest, needs the whole file.
    """
    path, _, name = test.partition("::")
    function = name.split("::")[0].partition("[")[0]
    files = sorted((tree / path).rglob("*.py")) if (tree / path).is_dir() else [tree / path]
    todo: list[Place] = []
    for file in filter(Path.is_file, files):
        known = function in parsed(file.read_text(encoding="utf-8")).statements
        todo += [(file, function if known else EVERYTHING), *((above, "") for above in conftests(tree, file))]
    visited: set[Place] = set()
    parts: set[tuple[str, int, str]] = set()
    while todo:
        place = todo.pop()
        if place in visited:
            continue
        visited.add(place)
        file, name = place
        in_reach = [(path, parsed(path.read_text(encoding="utf-8"))) for path in (file, *conftests(tree, file))]
        module = in_reach[0][1]
        for statement in [*statements_of(module, name), *module.unnamed]:
            parts.add((file.relative_to(tree).as_posix(), statement.lineno, module.text(statement)))
            for word in words(statement):
                todo += definitions(tree, in_reach, word)
            for origin, imported in imports_of(statement).values():
                todo += defined(tree, file, origin, imported)
    # a statement keeps its order in the file, and not its line: what stands before it may grow
    return "\0".join(f"{file}\0{text}" for file, _, text in sorted(parts))


def statements_of(module: Module, name: str) -> tuple[ast.stmt, ...]:
    """The statements that define a name, or all of them."""
    if name == EVERYTHING:
        return tuple(statement for statements in module.statements.values() for statement in statements)
    return module.statements.get(name, ())


def definitions(tree: Path, in_reach: list[tuple[Path, Module]], name: str) -> Iterator[Place]:
    """Where a name that a statement uses is defined: in a file in its reach, or where this file imports it from.

    In reach are the statement's own file and the files of the fixtures that it may name.
    """
    for file, module in in_reach:
        if name in module.statements:
            yield file, name
        if name in module.imports:
            origin, imported = module.imports[name]
            yield from defined(tree, file, origin, imported)


def defined(tree: Path, file: Path, origin: str, imported: str) -> Iterator[Place]:
    """Where a name that a file imports is defined; nowhere, if the module is not one of the tests'."""
    inside = f"{origin}.{imported}".replace(".", "/")
    for folder in (tree, file.parent, tree / "tests"):
        for path, name in (
            (folder / f"{inside}.py", EVERYTHING),
            (folder / f"{origin.replace('.', '/')}.py", imported),
        ):
            if path.is_file() and (tree / "tests") in path.parents:
                yield path, name


def conftests(tree: Path, file: Path) -> list[Path]:
    """The conftest.py files that pytest reads for a file, the nearest first."""
    folders = [folder for folder in file.parents if folder == tree or tree in folder.parents]
    return [path for folder in folders if (path := folder / "conftest.py").is_file() and path != file]


@cache
def words(statement: ast.stmt) -> set[str]:
    """The names that a statement uses: as names, as arguments, and as words of its texts, which may name fixtures."""
    names: set[str] = set()
    for node in ast.walk(statement):
        if isinstance(node, ast.Name):
            names.add(node.id)
        elif isinstance(node, ast.arg):
            names.add(node.arg)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and len(node.value) < 200:
            names |= {word.strip() for word in node.value.split(",")}
    return names


@cache
def parsed(source: str) -> Module:
    """Sort the statements of a file."""
    statements: dict[str, list[ast.stmt]] = {}
    unnamed: list[ast.stmt] = []
    imports: dict[str, tuple[str, str]] = {}
    for statement in ast.parse(source).body:
        if isinstance(statement, ast.Import | ast.ImportFrom):
            imports |= imports_of(statement)
        elif not is_docstring(statement):
            names = names_of(statement)
            for name in names:
                statements.setdefault(name, []).append(statement)
            if not names or runs_unasked(statement):
                unnamed.append(statement)
    fixed = {name: tuple(defining) for name, defining in statements.items()}
    return Module(fixed, tuple(unnamed), imports, tuple(source.splitlines()))


@cache
def imports_of(statement: ast.stmt) -> dict[str, tuple[str, str]]:
    """Whence a statement, or a function's body, imports names."""
    imports = {}
    for node in ast.walk(statement):
        if isinstance(node, ast.Import):
            imports |= {alias.asname or alias.name.split(".")[0]: (alias.name, EVERYTHING) for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            imports |= {alias.asname or alias.name: (node.module or "", alias.name) for alias in node.names}
    return imports


def is_docstring(statement: ast.stmt) -> bool:
    """Whether a statement is a text that nothing uses."""
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def names_of(statement: ast.stmt) -> set[str]:
    """The names that a statement defines; of a fixture also the name that its decorator gives."""
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        decorator_values = (
            k.value for d in statement.decorator_list if isinstance(d, ast.Call) for k in d.keywords if k.arg == "name"
        )
        return {statement.name, *(str(value.value) for value in decorator_values if isinstance(value, ast.Constant))}
    if isinstance(statement, ast.Assign | ast.AnnAssign):
        targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
        return {node.id for target in targets for node in ast.walk(target) if isinstance(node, ast.Name)}
    return set()


def runs_unasked(statement: ast.stmt) -> bool:
    """Whether pytest runs a statement that no test names: marks of a file, its hooks, fixtures with ``autouse``."""
    if isinstance(statement, ast.FunctionDef):
        keywords = (k for d in statement.decorator_list if isinstance(d, ast.Call) for k in d.keywords)
        return statement.name.startswith("pytest_") or any(keyword.arg == "autouse" for keyword in keywords)
    return isinstance(statement, ast.Assign) and "pytestmark" in names_of(statement)
