"""A.fig1: with the printed step no point of the Swiss roll moves visibly; with the authors' step all do."""

import torch

torch.manual_seed(0)
t = torch.linspace(1.5, 4.5, 1000)[:, None] * torch.pi
X = torch.cat([t * t.cos(), t * t.sin()], 1) / 10
y = (t - t.mean()) / t.std()
net = torch.nn.Sequential(torch.nn.Linear(2, 32), torch.nn.GELU(), torch.nn.Linear(32, 32), torch.nn.GELU(),
                          torch.nn.Linear(32, 1))  # fmt: skip
total = torch.zeros_like(X)
for _ in range(50):
    inputs = X.clone().requires_grad_()
    parameters = list(net.parameters())
    of_inputs, *of_parameters = torch.autograd.grad(((net(inputs) - y) ** 2).mean(), [inputs, *parameters])
    total += of_inputs
    for parameter, gradient in zip(parameters, of_parameters, strict=True):
        parameter.data -= 0.05 * gradient
moved = {c: float((c * total).norm() / X.norm()) for c in (0.05, 700.0)}
for c, share in moved.items():
    print(f"step c = {c:g}: the points move by {share:.1e} of their norm")
assert moved[0.05] < 1e-3 < 0.1 < moved[700.0]
