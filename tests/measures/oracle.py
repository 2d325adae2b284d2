"""Every quantity from its definition: the Jacobian of each sample by ``torch.func.jacrev``, then plain sums.

Shares no code with gramlab. The layer under test is replaced, in a copy of the model, by one that forms its input
rows itself (patches by slicing, not ``unfold``), adds a zero displacement to them and to its output, and lets
``jacrev`` differentiate with respect to the displacements.
"""

import copy

import torch
from torch import nn
from torch.func import jacrev
from torch.nn import functional as F


class Displaced(nn.Module):
    """z = W (h + u) + b + v, with the rows h of each call kept."""

    def __init__(self, layer):
        super().__init__()
        self.layer, self.weight, self.bias = layer, layer.weight, layer.bias
        self.groups = getattr(layer, "groups", 1)
        self.begin(None, None)

    def begin(self, u, v):
        self.u, self.v, self.rows, self.outputs = u, v, [], []

    def forward(self, x):
        call = len(self.rows)
        h = self.cut(x)  # (groups, rows, d)
        W = self.weight.reshape(self.groups, -1, h.shape[-1])
        moved = h if self.u is None else h + self.u[call]
        z = torch.stack([moved[g] @ W[g].T for g in range(self.groups)])  # (groups, rows, k)
        self.rows.append(h.detach().clone())
        self.outputs.append(z.detach().clone())  # the model may change z in place
        if self.v is not None:
            z = z + self.v[call]
        return self.uncut(z, x)

    def cut(self, x):
        if isinstance(self.layer, nn.Linear):
            return x.reshape(1, -1, x.shape[-1])
        kh, kw = self.layer.kernel_size
        (sh, sw), (dh, dw) = self.layer.stride, self.layer.dilation
        if self.layer.padding == "same":
            th, tw = dh * (kh - 1), dw * (kw - 1)
            pad = (tw // 2, tw - tw // 2, th // 2, th - th // 2)
        elif self.layer.padding == "valid":
            pad = (0, 0, 0, 0)
        else:
            ph, pw = self.layer.padding
            pad = (pw, pw, ph, ph)
        mode = "constant" if self.layer.padding_mode == "zeros" else self.layer.padding_mode
        x = F.pad(x, pad, mode=mode)
        self.high = (x.shape[2] - dh * (kh - 1) - 1) // sh + 1
        self.wide = (x.shape[3] - dw * (kw - 1) - 1) // sw + 1
        windows = []
        for i in range(self.high):
            for j in range(self.wide):
                top, left = i * sh, j * sw
                windows.append(x[:, :, top : top + dh * (kh - 1) + 1 : dh, left : left + dw * (kw - 1) + 1 : dw])
        patches = torch.stack(windows, 1)  # (n, positions, channels, kh, kw)
        split = patches.reshape(*patches.shape[:2], self.groups, -1)
        return split.permute(2, 0, 1, 3).reshape(self.groups, -1, split.shape[-1])

    def uncut(self, z, x):
        if isinstance(self.layer, nn.Linear):
            z = z[0].reshape(*x.shape[:-1], -1)
            return z if self.bias is None else z + self.bias
        n = x.shape[0]
        z = z.reshape(self.groups, n, self.high, self.wide, -1).permute(1, 0, 4, 2, 3)
        z = z.reshape(n, -1, self.high, self.wide)
        return z if self.bias is None else z + self.bias[:, None, None]


def displaced(model, name):
    model = copy.deepcopy(model).eval()
    for parameter in model.parameters():
        parameter.requires_grad_(False)
    at = model
    *path, last = name.split(".")
    for step in path:
        at = getattr(at, step)
    layer = Displaced(getattr(at, last))
    # a layer that is registered under several names is replaced under each of them
    for module in model.modules():
        for child, submodule in list(module.named_children()):
            if submodule is layer.layer and module is not layer:
                setattr(module, child, layer)
    return model, layer


def jacobians(model, name, x, of):
    """For each sample: the rows of all calls, their outputs, and the Jacobians of ``of`` in and out.

    ``of(outputs, i)`` gives a vector (c,). Lists over samples of (groups, rows, d), (groups, rows, k),
    (c, groups, rows, d), (c, groups, rows, k).
    """
    model, layer = displaced(model, name)
    samples = []
    for i in range(len(x)):
        layer.begin(None, None)
        model(x[i : i + 1])
        rows, outputs = layer.rows, layer.outputs

        def run(u, v, i=i):
            layer.begin(u, v)
            return of(model(x[i : i + 1]), i)

        zeros = [torch.zeros_like(h) for h in rows], [torch.zeros_like(z) for z in outputs]
        J_in, J_out = jacrev(run, argnums=(0, 1))(*zeros)
        samples.append((torch.cat(rows, 1), torch.cat(outputs, 1), torch.cat(J_in, 2), torch.cat(J_out, 2)))
    return samples


def outer(a, b):
    """Σ over all but the groups and the last axis: (..., groups, rows, p) and the same with q -> (groups, p, q)."""
    return torch.einsum("...grp,...grq->gpq", a, b)


def shift(h, step):
    """(h + step)(h + step)ᵀ − hhᵀ as step (h + step)ᵀ + h stepᵀ, which loses no digits where the step is small."""
    return outer(step, h + step) + outer(h, step)


def quantities(model, name, x, y, loss, weight_decay, lr, initial=None):
    """All of ``LayerMeasures``' quantities, by their definitions. ``loss`` gives per-sample losses of a batch."""
    n = len(x)
    _, layer = displaced(model, name)
    W = layer.weight.reshape(layer.groups, layer.weight.shape[0] // layer.groups, -1)
    of_outputs = jacobians(model, name, x, lambda f, i: f.reshape(-1))
    of_loss = jacobians(model, name, x, lambda f, i: loss(f, y[i : i + 1]).reshape(-1))
    results = {
        "gram": torch.einsum("gkd,gke->gde", W, W),
        "back_gram": torch.einsum("gkd,gld->gkl", W, W),
        "agop": sum(outer(J, J) for _, _, J, _ in of_outputs) / n,
        "ptk": sum(outer(J, J) for _, _, _, J in of_outputs) / n,
        "enfa": sum(outer(J, J) for _, _, J, _ in of_loss) / n,
        "back_enfa": sum(outer(J, J) for _, _, _, J in of_loss) / n,
        "fact": -sum(outer(J[0], h) for h, _, J, _ in of_loss) / (n * weight_decay),
        "back_fact": -sum(outer(z, J[0]) for _, z, _, J in of_loss) / (n * weight_decay),
        "weight_gradient": sum(outer(J[0], h) for h, _, _, J in of_loss) / n,
        "virtual_shift": sum(shift(h, -lr * J[0] / n) for h, _, J, _ in of_loss),
    }
    results["back_agop"] = results["ptk"]
    if initial is not None:
        _, first = displaced(initial, name)
        W0 = first.weight.reshape(W.shape)
        of_initial = jacobians(initial, name, x, lambda f, i: f.reshape(-1))
        moved = [J - J0 for (_, _, _, J), (_, _, _, J0) in zip(of_outputs, of_initial, strict=True)]
        K_bar = sum(outer(J, J) for J in moved) / n
        results |= {
            "centered_gram": torch.einsum("gkd,gke->gde", W - W0, W - W0),
            "initial_gram": torch.einsum("gkd,gke->gde", W0, W0),
            "centered_ptk": K_bar,
            "centered_agop": torch.einsum("gkd,gkl,gle->gde", W - W0, results["ptk"], W - W0),
            "double_centered_agop": torch.einsum("gkd,gkl,gle->gde", W - W0, K_bar, W - W0),
            "ptk_centered_agop": torch.einsum("gkd,gkl,gle->gde", W0, K_bar, W0),
        }
    return {key: value[0] if len(value) == 1 else value for key, value in results.items()}
