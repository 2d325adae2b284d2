"""C.fig4: at the printed lambda = p one neuron is best, and AGOP and W^T W agree; at lambda = p / 100 they do not."""

import itertools

import numpy as np

p, tau = 1e-5, 0.02
x = np.array(list(itertools.product((0.0, 1.0, 2.0), repeat=4)))
y = tau * x[:, 0] * x[:, 1] + x[:, 2] * x[:, 3]
weight = np.full(81, p / 81)
weight[(x == [1, 1, 0, 0]).all(1)] += 1 - p
starts = (  # rows (w, a); four neurons represent x_1 x_2 and x_3 x_4 by squares of sums and differences
    np.full((1, 5), 0.5),
    np.array([[1, 1, 0, 0, tau], [1, -1, 0, 0, -tau], [0, 0, 1, 1, 1], [0, 0, 1, -1, -1]]) / 2,
)


def minimum(decay, theta, damping=1e-3):
    """Return the loss over lambda at the minimum near this start, by Levenberg and Marquardt, and the weights there."""

    def residuals(theta):
        z, a = x @ theta[:, :4].T, theta[:, 4]
        root = (weight / decay)[:, None] ** 0.5
        slopes = np.concatenate([2 * (a * z)[:, :, None] * x[:, None], (z**2)[:, :, None]], 2).reshape(81, -1)
        values = np.concatenate([root[:, 0] * (z**2 @ a - y), theta.ravel() / 2**0.5])
        return values, np.concatenate([root * slopes, np.eye(theta.size) / 2**0.5])

    values, slopes = residuals(theta)
    for _ in range(400):
        step = np.linalg.solve(slopes.T @ slopes + damping * np.eye(theta.size), slopes.T @ values)
        new = theta - step.reshape(theta.shape)
        new_values, new_slopes = residuals(new)
        if new_values @ new_values < values @ values:
            theta, values, slopes, damping = new, new_values, new_slopes, max(damping / 3, 1e-9)
        else:
            damping *= 4
    return values @ values, theta


for name, decay in (("p, as printed", p), ("p / 100", p / 100)):
    value, theta = min((minimum(decay, start) for start in starts), key=lambda pair: pair[0])
    W, a = theta[:, :4], theta[:, 4]
    gradients = 2 * (x @ W.T * a) @ W
    agop, gram = gradients.T @ (weight[:, None] * gradients), W.T @ W
    cosine = np.sum(agop * gram) / np.linalg.norm(agop) / np.linalg.norm(gram)
    neurons = np.sum(np.linalg.norm(theta, axis=1) > 1e-3)
    print(f"lambda = {name}: neurons at the minimum {neurons}, cosine of AGOP and W^T W {cosine:.3f}")
    assert (neurons == 1 and cosine > 0.99) if decay == p else (neurons > 1 and cosine < 0.1)
