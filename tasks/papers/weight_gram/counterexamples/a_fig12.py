"""A.fig12: without momentum the printed steps leave most of a slow direction unlearned; with 0.95 they learn it."""

rate, steps, curvature = 0.005, 4000, 0.03  # of a flat direction of the loss


def left(momentum):
    """Return the part of the error in this direction that gradient descent leaves after all steps."""
    error, velocity = 1.0, 0.0
    for _ in range(steps):
        velocity = momentum * velocity + curvature * error
        error -= rate * velocity
    return error


print(f"error left without momentum, as printed: {left(0.0):.2f}")
print(f"error left with momentum 0.95:           {left(0.95):.1e}")
assert left(0.0) > 0.5
assert left(0.95) < 1e-4
