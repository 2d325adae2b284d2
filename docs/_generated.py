"""Pages of the reference that are made from the code: functions, keys of params.yaml, columns of a table."""

import ast
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import gramlab
import gramlab.data
import gramlab.nets
import gramlab.tables
from tasks.settings import data, machine, simulation, train

# the pages of functions: title, introduction, and the module whose public names they list
FUNCTIONS: dict[str, tuple[str, str, ModuleType, list[str]]] = {
    "gramlab": ("Measuring", "Import these names from `gramlab`.", gramlab, list(gramlab._HOME)),
    "theory": ("Theory", "Import these names from `gramlab.theory`.", gramlab.theory, gramlab.theory.__all__),
    "nets": ("Networks and training", "Import these names from `gramlab.nets`.", gramlab.nets, gramlab.nets.__all__),
    "data": ("Data sets", "Import these names from `gramlab.data`.", gramlab.data, gramlab.data.__all__),
    "files": (
        "Reading and writing tables",
        "Import these names from `gramlab.tables`.",
        gramlab.tables,
        ["read", "write", "table", "seeds"],
    ),
}

SECTIONS = {
    "`machine`: the machine": (machine, ["Machine"]),
    "`streams`: random numbers": (machine, ["Streams"]),
    "`data`: data sets": (data, ["Data", "Sets"]),
    "`PAPER.train`: training runs": (train, ["Train", "Model", "Grid"]),
    "`PAPER.simulate`: experiments without a training run": (simulation, ["Simulation"]),
}


def comment(lines: list[str], node: ast.stmt) -> str:
    """The comment behind a statement, or in the lines above it."""
    behind = re.search(r"  # (.*)$", lines[(node.end_lineno or node.lineno) - 1])
    above: list[str] = []
    for line in reversed(lines[: node.lineno - 1]):
        if not line.strip().startswith("# "):
            break
        above.insert(0, line.strip()[2:])
    return behind[1] if behind else " ".join(above)


def cell(text: str, code: bool = False) -> str:
    """A cell of a Markdown table."""
    text = re.sub(r"\s+", " ", text).replace("|", r"\|")
    return f"`{text}`" if code and text else text


def fields(module: ModuleType, name: str) -> Iterator[tuple[str, str, str, str]]:
    """Key, type, default and comment of each field of a settings class, from the source."""
    source = inspect.getsource(module)
    lines = source.splitlines()
    (class_node,) = (node for node in ast.parse(source).body if isinstance(node, ast.ClassDef) and node.name == name)
    for node in class_node.body:
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            default = "" if node.value is None else ast.unparse(node.value)
            yield node.target.id, ast.unparse(node.annotation), default, comment(lines, node)


def settings_page() -> str:
    """The keys of params.yaml."""
    page = [
        "# Keys of params.yaml\n",
        "This page is made from the classes in `tasks/settings` that validate `params.yaml`. A key without a default "
        "is required. `Count` is a whole number of at least 1, `Natural` of at least 0; `Rate` is a number above 0, "
        "`Share` of at least 0, `Probability` from 0 to 1.\n",
        "Each entry of `PAPER.train` and `PAPER.simulate` has these keys below `paper:`. `quick:` has those that the "
        "quick scale replaces. `PAPER.claims` maps the key of a claim to the key of its experiment.\n",
    ]
    for title, (module, names) in SECTIONS.items():
        page.append(f"## {title}\n")
        for name in names:
            page.append(f"**{name}.** {inspect.getdoc(getattr(module, name))}\n")
            page += ["| key | type | default | meaning |", "| --- | --- | --- | --- |"]
            page += [
                f"| {cell(key, True)} | {cell(kind, True)} | {cell(default, True)} | {cell(meaning)} |"
                for key, kind, default, meaning in fields(module, name)
            ]
            page.append("")
    page += ["## Options of each source of data\n", "An option whose default is `...` is required.\n"]
    page += ["| source | options |", "| --- | --- |"]
    for source, options in {**data.IMAGES, **data.SYNTHETIC}.items():
        shown = (f"`{key}` {'(required)' if default is ... else default}" for key, (_, default) in options.items())
        page.append(f"| `{source}` | {cell(', '.join(shown))} |")
    return "\n".join(page) + "\n"


def tables_page() -> str:
    """The columns of a table."""
    lines = inspect.getsource(gramlab.tables).splitlines()
    page = [
        "# Columns of a table\n",
        "`gramlab.Recorder`, `gramlab probe` and all experiments write Parquet files with these columns, one row a "
        'measured number. A column that does not apply is empty: `""` or 0. [Read a table](../../how-to/tables.md) '
        "shows how pandas and DuckDB read them.\n",
        "| column | type | meaning |",
        "| --- | --- | --- |",
    ]
    for field in gramlab.tables.SCHEMA:
        (line,) = (line for line in lines if line.strip().startswith(f'("{field.name}", pa.'))
        page.append(f"| `{field.name}` | {field.type} | {cell(line.partition('  # ')[2])} |")
    return "\n".join(page) + "\n"


def functions_page(title: str, introduction: str, module: ModuleType, names: list[str]) -> str:
    """The docstrings of a module's public names."""
    page = [f"# {title}\n", f"{introduction}\n", "```{eval-rst}", f".. currentmodule:: {module.__name__}\n"]
    for name in names:
        value = getattr(module, name)
        if inspect.isclass(value):
            hidden = ", ".join(method for method in dir(value) if method.endswith("_request"))  # scikit-learn's
            page += [f".. autoclass:: {name}", "   :members:", f"   :exclude-members: {hidden}", ""]
        elif callable(value):
            page += [f".. autofunction:: {name}", ""]
    return "\n".join([*page, "```"]) + "\n"


def write_pages(folder: Path) -> None:
    """Write the pages where they are missing or changed."""
    folder.mkdir(parents=True, exist_ok=True)
    pages = {"settings.md": settings_page(), "tables.md": tables_page()}
    pages |= {f"{name}.md": functions_page(*arguments) for name, arguments in FUNCTIONS.items()}
    for name, text in pages.items():
        if not (folder / name).exists() or (folder / name).read_text(encoding="utf-8") != text:
            (folder / name).write_text(text, encoding="utf-8")
