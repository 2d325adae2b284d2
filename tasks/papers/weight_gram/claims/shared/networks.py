"""The layers of the networks on which A.eq1, A.eq2 and A.thm1 are measured.

The number of a random network decides its kind, and all networks of a kind have the same layers. Chance decides only
their sizes and activations.
"""

import re

CONVOLUTIONS = {
    "cnn": ("0", "2", "4"),
    "ResNet-18": ("conv1", "layer1.0.conv1", "layer1.1.conv2", "layer2.0.downsample.0", "layer3.0.downsample.0"),
}
LINEAR = {
    "mlp": ("0", "2", "4", "6"),
    "skip": ("0", "2.a", "2.b", "3.a", "3.b", "5"),
    "cnn": ("7",),
    "ResNet-18": ("fc",),
    "transformer block": ("query", "key", "value", "out", "up", "down"),
    "a dead layer": ("0", "2", "4", "5"),
}


def convolutions_of(case: str, _: int = 0) -> tuple[str, ...]:
    """The convolutions of a case."""
    return CONVOLUTIONS.get(_kind(case), ())


def linear_layers_of(case: str, _: int = 0) -> tuple[str, ...]:
    """The linear layers of a case."""
    return LINEAR.get(_kind(case), ())


def layers_of(case: str, _: int = 0) -> tuple[str, ...]:
    """All measured layers of a case."""
    return (*convolutions_of(case), *linear_layers_of(case))


def _kind(case: str) -> str:
    """The kind of a random network, such as mlp of "3: mlp gelu 20"; of another network its name."""
    match = re.fullmatch(r"\d+: (\w+) .*", case)
    return match[1] if match else case
