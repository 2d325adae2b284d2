"""Steps of training as CUDA graphs."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from gramlab.nets.config import TrainingConfig


@dataclass
class Graph:
    """A recorded call: replaying it reads `inputs` and writes `output`."""

    recording: torch.cuda.CUDAGraph
    inputs: list[Tensor]
    output: Tensor


class Replayed:
    """A function of CUDA tensors that is recorded as a CUDA graph and then replayed.

    A training step of small networks consists of more than a hundred short operations. Starting them one by one takes
    longer than computing them; a replay starts all of them at once. The operations, and so the numbers, are the same.

    The first call for each key and shapes of inputs is an ordinary one, since libraries allocate memory in it. The
    second records the graph.

    Parameters
    ----------
    function : callable
        ``function(key, *inputs)`` returns one tensor. It may change tensors in place, and must neither wait for the
        device nor read a number from it. Tensors other than its inputs must keep their place in memory.
    device : str
        The GPU.

    Examples
    --------
    >>> import torch
    >>> weights = torch.zeros(2, device="cuda")                         # doctest: +SKIP
    >>> add = Replayed(lambda key, x: weights.add_(x).sum(), "cuda")    # doctest: +SKIP
    >>> for _ in range(3):                                              # doctest: +SKIP
    ...     print(add(0, torch.ones(2)).item())
    2.0
    4.0
    6.0
    """

    def __init__(self, function: Callable[..., Tensor], device: str):
        self.function, self.device = function, torch.device(device)
        self.graphs: dict[tuple, Graph | None] = {}  # None after the first call
        self.stream = torch.cuda.Stream(self.device)
        self.pool = torch.cuda.graph_pool_handle()  # shared, since an output is copied before the next replay

    def __call__(self, key: int, *inputs: Tensor) -> Tensor:
        """Call the function.

        Parameters
        ----------
        key : int
            Calls with different keys have graphs of their own.
        *inputs : Tensor

        Returns
        -------
        Tensor
        """
        kind = (key, *(value.shape for value in inputs))
        if kind not in self.graphs:
            self.graphs[kind] = None
            return self._call_plainly(key, *inputs)
        graph = self.graphs[kind]
        if graph is None:
            graph = self.graphs[kind] = self._record(key, inputs)
        for graph_input, value in zip(graph.inputs, inputs, strict=True):
            graph_input.copy_(value, non_blocking=True)
        graph.recording.replay()
        return graph.output.clone()

    def _call_plainly(self, key: int, *inputs: Tensor) -> Tensor:
        """An ordinary call, on the stream that records later: torch keeps memory for each stream."""
        current = torch.cuda.current_stream(self.device)
        self.stream.wait_stream(current)
        with torch.cuda.stream(self.stream):
            output = self.function(key, *(value.to(self.device) for value in inputs))
        current.wait_stream(self.stream)
        return output

    def _record(self, key: int, inputs: tuple[Tensor, ...]) -> Graph:
        """Record a call without executing it."""
        graph_inputs = [value.to(self.device, copy=True) for value in inputs]
        recording = torch.cuda.CUDAGraph()
        with torch.cuda.graph(recording, pool=self.pool, stream=self.stream):
            output = self.function(key, *graph_inputs)
        return Graph(recording, graph_inputs, output)


def repeats_its_operations(model: nn.Module, config: TrainingConfig) -> bool:
    """Whether every step consists of the same operations. Whitening decides by numbers, and so may other modules.

    Parameters
    ----------
    model : nn.Module
    config : TrainingConfig

    Returns
    -------
    bool

    Examples
    --------
    >>> repeats_its_operations(nn.Linear(2, 3), TrainingConfig(optimizer="whitened"))
    False
    """
    known = ("torch.nn.", "torchvision.", "gramlab.")
    are_known = all(type(module).__module__.startswith(known) for module in model.modules())
    return are_known and "whitened" not in config.optimizer and not config.compile
