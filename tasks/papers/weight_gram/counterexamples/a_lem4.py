"""A.lem4: without a boundary between the points both sides are 0; half of the printed bound is attained by one unit."""


def relu(x):
    """Return the network f(x) = max(x, 0), whose gradient jumps by delta = 1 at 0."""
    return max(x, 0.0)


def error(a, b):
    """Return |b f'(a) - f(b)|."""
    return abs(b * float(a > 0) - relu(b))


for a, b, M in ((1.0, 1.0, 0), (-1.0, 1.0, 1)):  # M boundaries on the segment; |a|, |b| <= B = 1, delta = 1
    print(f"a = {a:+g}, b = {b:g}, M = {M}: |error| = {error(a, b):g}, printed bound {2 * M}, ours {M}")
    assert error(a, b) <= M
assert not error(1.0, 1.0) < 2 * 0
assert error(-1.0, 1.0) == 1
