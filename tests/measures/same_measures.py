"""Whether two measurements have the same matrices."""

QUANTITIES = ("agop", "ptk", "enfa", "back_enfa", "fact", "back_fact")


def assert_same(actual, expected, bound=1e-12, quantities=QUANTITIES):
    assert actual.n == expected.n
    assert list(actual) == list(expected)
    for name, layer in expected.items():
        for quantity in quantities:
            a, b = getattr(actual[name], quantity), getattr(layer, quantity)
            assert float((a - b).norm()) <= bound * float(b.norm()), (name, quantity)
