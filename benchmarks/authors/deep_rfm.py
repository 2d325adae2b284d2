"""Paper D's Deep RFM: the machine of each of its layers, which is the package rfm of recursive_feature_machines."""

from collections.abc import Iterator

import torch

from benchmarks.authors.checkout import Checkout
from benchmarks.authors.comparison import Comparison, Functions
from benchmarks.authors.subject import CLASSES, Subject
from gramlab.kernels.functions import Kernel, agop
from gramlab.kernels.solve import dual

BANDWIDTH = 2.0
DIAGONAL = 1e-6  # as in machines.py


def comparisons(checkout: Checkout, subject: Subject) -> Iterator[Comparison]:
    """The features M of the first layer, by the call in deep_rfm.py."""
    x, labels = subject.few(30)
    x = x / x.norm(dim=1, keepdim=True)
    y = 2 * torch.nn.functional.one_hot(labels, CLASSES).double() - 1
    kernels = vars(checkout.take("rfm/kernels.py", "laplacian_M", "euclidean_distances_M", "euclidean_distances"))
    path = "rfm/recursive_feature_machine.py"
    machine_class = checkout.take(path, "RecursiveFeatureMachine", "LaplaceRFM", **kernels).LaplaceRFM
    torch.set_default_dtype(torch.float64)
    machine = machine_class(bandwidth=BANDWIDTH)
    machine.fit((x, y), (x, y), loader=False, iters=1, classif=False, reg=-1, M_batch_size=10000, verbose=False)
    torch.set_default_dtype(torch.float32)
    by_ridge = {ridge: features(x, y, ridge) for ridge in (0.0, 1e-3)}
    scaled = {ridge: M / M.max() for ridge, M in by_ridge.items()}
    functions = Functions(checkout, f"{path}: LaplaceRFM.fit(reg=-1)", "gramlab.DeepRFM(ridge=0)")
    yield functions.compare(
        "M of the first layer of Deep RFM",
        machine.M, by_ridge[0.0],
        "They divide M by its largest entry, and their fit ignores its argument reg: a ridge of 1e-3 is used "
        "where the call asks for none.",
        scaled[1e-3], DIAGONAL,
    )  # fmt: skip
    yield functions.compare(
        "M of the first layer of Deep RFM over its largest entry",
        machine.M, scaled[0.0],
        "Their fit ignores its argument reg: a ridge of 1e-3 is used where the call asks for none.", scaled[1e-3],
        DIAGONAL,
    )  # fmt: skip


def features(x: torch.Tensor, y: torch.Tensor, ridge: float) -> torch.Tensor:
    """The AGOP of the kernel machine."""
    kernel = Kernel("laplace", BANDWIDTH)
    alpha, _ = dual(lambda: kernel.matrix(x), y, ridge)
    return agop(kernel, x, x, alpha)
