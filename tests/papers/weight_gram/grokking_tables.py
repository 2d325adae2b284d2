"""Tables of the claims on grokking, with a known answer."""

from types import ModuleType

from planted import series

from tasks.judging.rows import Rows
from tasks.judging.rules import Finding


def judged(claim: ModuleType, name: str, table: Rows) -> Finding:
    """What the rule of one of a claim's statements finds."""
    statement = next(statement for statement in claim.STATEMENTS if statement.name == name)
    return statement.rule(statement.rows_read(table))


def figure_12(linearity=lambda p: 0.45 - 0.2 * p, test=lambda p: 0.5 - 0.4 * p, train=lambda p, x: x * 0.75) -> Rows:
    cases = {p: f"label_noise={p:g}" for p in (0.0, 0.25, 0.5, 0.75, 1.0)}
    epochs = (0.0, 1.0)
    return series(
        target_linearity={
            (case, layer, x): x * linearity(p) - (layer == "1") * 0.3 * x
            for p, case in cases.items()
            for layer in "012"
            for x in epochs
        },
        train_accuracy={(case, "", x): train(p, x) for p, case in cases.items() for x in epochs},
        test_accuracy={(case, "", x): x * test(p) for p, case in cases.items() for x in epochs},
    )


def figures_13_and_14(last=lambda x: 0.1 * min(x, 6), before=lambda x: 0.3 * x - 1, emerges=6) -> Rows:
    """Networks of two weight decays that memorise at epoch 1; grokking emerges at an epoch and lasts two."""
    cases, epochs = ("weight_decay=0.25", "weight_decay=0.75"), tuple(float(x) for x in range(13))
    laws = {"2": before, "3": last}
    return series(
        target_linearity={(case, layer, x): law(x) for case in cases for layer, law in laws.items() for x in epochs},
        train_accuracy={(case, "", x): 0.5 * (x >= 1) + 0.52 for case in cases for x in epochs},
        test_accuracy={(case, "", x): 0.02 + 0.6 * (x >= emerges) + 0.35 * (x >= emerges + 2)
                       for case in cases for x in epochs},
    )  # fmt: skip
