"""A.lem4: without a boundary between the points both sides are 0; half of the printed bound is attained by one unit.

The network f(x) = max(x, 0) has a gradient that jumps by delta = 1 at its boundary 0; |a|, |b| <= B = 1.
"""

errors = []
for a, b, M in ((1.0, 1.0, 0), (-1.0, 1.0, 1)):  # M boundaries between a and b
    errors.append(abs(b * float(a > 0) - max(b, 0.0)))  # |b f'(a) - f(b)|
    print(f"a = {a:+g}, b = {b:g}, M = {M}: |error| = {errors[-1]:g}, printed bound {2 * M}, ours {M}")
    assert errors[-1] <= M
assert not errors[0] < 2 * 0
assert errors[1] == 1
