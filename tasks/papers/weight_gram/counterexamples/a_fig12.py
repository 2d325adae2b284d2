"""A.fig12: without momentum the printed steps leave most of a slow direction unlearned; with 0.95 they learn it."""

left = []
for momentum in (0.0, 0.95):
    error, velocity = 1.0, 0.0  # in a flat direction of the loss, of curvature 0.03
    for _ in range(4000):  # steps, at the printed rate 0.005
        velocity = momentum * velocity + 0.03 * error
        error -= 0.005 * velocity
    left.append(error)
    print(f"error left with momentum {momentum:g}: {abs(error):.1e}")
assert left[0] > 0.5
assert abs(left[1]) < 1e-4
