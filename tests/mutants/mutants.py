"""The mutants of the project: mistakes of a scientist, listed by hand, and small edits that cosmic-ray makes."""

import ast
import difflib
import hashlib
import tomllib
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

LISTS = Path("tests/mutants")  # of a tree: a TOML file for each group of mutants
GENERIC = "generic"  # the group whose file names modules instead of mutants
# what the report calls cosmic-ray's operators; others are not used. RemoveDecorator and ExceptionReplacer make no
# mistakes of this project's kind
OPERATORS = {
    "ReplaceBinaryOperator": "arithmetic operator",
    "ReplaceComparisonOperator": "comparison",
    "ReplaceUnaryOperator": "unary operator",
    "NumberReplacer": "number",
    "AddNot": "condition",
    "ReplaceAndWithOr": "condition",
    "ReplaceOrWithAnd": "condition",
    "ReplaceTrueWithFalse": "truth value",
    "ReplaceFalseWithTrue": "truth value",
    "ReplaceBreakWithContinue": "loop",
    "ReplaceContinueWithBreak": "loop",
    "ZeroIterationForLoop": "loop",
}


@dataclass(frozen=True)
class Mutant:
    """A mistake to plant: in ``file`` the text ``old``, which occurs exactly once, becomes ``new``.

    ``tests`` are files or node ids, of which at least one should fail. ``explained`` says of a survivor why no test can
    see it.
    """

    group: str
    kind: str
    name: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]
    explained: str = ""

    def planted_in(self, source: str) -> str:
        """Return the file's text with the mistake. Raises ValueError if it cannot be planted."""
        if (count := source.count(self.old)) != 1:
            raise ValueError(f"the old text occurs {count} times in {self.file}")
        mutated = source.replace(self.old, self.new)
        if mutated == source:
            raise ValueError("the new text is the old one")
        if self.file.endswith(".py"):
            ast.parse(mutated)
        return mutated

    def lines(self, source: str) -> list[int]:
        """Return the numbers of the lines that the mistake changes, or stands before; the first line is 1."""
        matcher = difflib.SequenceMatcher(None, source.splitlines(), source.replace(self.old, self.new).splitlines())
        changed = [
            range(first, max(last, first + 1)) for tag, first, last, _, _ in matcher.get_opcodes() if tag != "equal"
        ]
        return [1 + index for lines in changed for index in lines]

    def change(self, source: str) -> list[str]:
        """Return the lines that the mistake removes and adds, with - and + before them."""
        lines = difflib.ndiff(source.splitlines(), source.replace(self.old, self.new).splitlines())
        return [f"{line[0]} {line[2:].strip()}" for line in lines if line[0] in "-+"]


def read(tree: Path, by_hand_alone: bool = False) -> list[Mutant]:
    """Return the mutants of all lists of a tree, in the order of the files and their entries.

    To draw those that are not written by hand takes half a minute.

    Raises
    ------
    ValueError
        If two mutants of a group have the same name, or a list has an unknown key.
    """
    mutants: list[Mutant] = []
    for path in sorted((tree / LISTS).glob("*.toml")):
        entries = tomllib.loads(path.read_text(encoding="utf-8"))
        if path.stem == GENERIC:
            mutants += [] if by_hand_alone else generic(tree, entries)
        else:
            mutants += [mutant(path.stem, entry) for entry in entries["mutant"]]
    names = [(mutant.group, mutant.name) for mutant in mutants]
    if repeated := {name for name in names if names.count(name) > 1}:
        raise ValueError(f"mutants of one group with the same name: {sorted(repeated)}")
    return mutants


def mutant(group: str, entry: dict) -> Mutant:
    """Return the mutant of an entry."""
    try:
        return Mutant(group=group, **{**entry, "tests": tuple(entry["tests"])})
    except (KeyError, TypeError) as error:
        raise ValueError(f"{group}.toml, {entry.get('name')}: {error}") from error


def generic(tree: Path, entries: dict) -> list[Mutant]:
    """Return the sample of each module's small edits, at most one at a place."""
    explained = {(entry["file"], entry["name"]): entry["explained"] for entry in entries.get("survivor", ())}
    mutants = []
    for module in entries["module"]:
        file, source = module["file"], (tree / module["file"]).read_text(encoding="utf-8")
        for kind, name, mutated in edits(source, f"{entries['seed']} {file}", module["sample"]):
            because = explained.get((file, name), "")
            mutants.append(
                Mutant(GENERIC, kind, f"{file}: {name}", file, source, mutated, tuple(module["tests"]), because)
            )
    return mutants


def places(source: str) -> dict[tuple, list[tuple[str, int]]]:
    """Return cosmic-ray's mutations of a text by their place: the operators' names and numbers of occurrence."""
    from cosmic_ray.ast import ast_nodes, get_ast
    from cosmic_ray.plugins import get_operator, operator_names

    nodes, operators_at = list(ast_nodes(get_ast(source))), {}
    for name in operator_names():
        # "|" is in annotations, where nothing computes
        if name.removeprefix("core/").split("_")[0] not in OPERATORS or "_BitOr_" in name:
            continue
        operator = get_operator(name)()
        positions = (position for node in nodes for position in operator.mutation_positions(node))
        for occurrence, position in enumerate(positions):
            operators_at.setdefault(position, []).append((name, occurrence))
    return operators_at


def _is_python(text: str) -> bool:
    """Whether the text is valid: cosmic-ray takes the ** of keywords for a power, and negates := without brackets."""
    try:
        ast.parse(text)
    except SyntaxError:
        return False
    return True


def edits(source: str, seed: str, count: int) -> list[tuple[str, str, str]]:
    """Return kind, name and mutated text of ``count`` edits, drawn by hashes that begin with the seed."""
    from cosmic_ray.mutating import mutate_code
    from cosmic_ray.plugins import get_operator

    def rank(value: object) -> bytes:
        return hashlib.sha256(f"{seed} {value}".encode()).digest()

    operators_at, count_before = places(source), Counter[str]()
    chosen: dict[tuple, tuple[str, str]] = {}
    for position in sorted(operators_at, key=rank):
        if len(chosen) == count:
            break
        operator, occurrence = min(operators_at[position], key=rank)
        mutated = mutate_code(source, get_operator(operator)(), occurrence)
        if _is_python(mutated):
            chosen[position] = operator, mutated
    drawn: list[tuple[str, str, str]] = []
    for _, (operator, mutated) in sorted(chosen.items()):
        name = operator.removeprefix("core/")
        lines = [
            line[2:].strip() for line in difflib.ndiff(source.splitlines(), mutated.splitlines()) if line[0] in "-+"
        ]
        change = " -> ".join(lines)
        count_before[change] += 1  # no line number in the name: explanations outlive edits elsewhere
        number = f" ({count_before[change]})" if count_before[change] > 1 else ""
        drawn.append((OPERATORS[name.split("_")[0]], change + number, mutated))
    return drawn
