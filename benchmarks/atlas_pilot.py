"""Measure where the training of the atlas's cells with weight decay ends, on other random streams, without any law.

    GRAMLAB_STREAM_ROOT=302 PYTHONPATH=. python benchmarks/atlas_pilot.py [WORD ...] [--seeds 5] [--decay λ] [--steps n]

The program trains the cells whose name has one of the words, with the settings in pipeline/atlas/cells.yaml or of the
options. A line has the mean over layers and seeds of ‖∇L + λW‖ / ‖λW‖ at the end, the same with the gradient averaged
over the last steps, and the distance from rest of optimizers that do not rest at critical points. It ends with the
training accuracy, or the loss of a regression, and the processor time. docs/atlas.md says how the numbers were used.
"""

import argparse
import time

import torch

from gramlab.nets.errors import Diverged
from tasks.atlas.cells import Cell, all_cells
from tasks.atlas.measuring.measure import layers_of, problem
from tasks.atlas.measuring.standstill import OTHER_REST, distance_from_rest
from tasks.atlas.measuring.training import train


def line(cell: Cell, seeds: int) -> str:
    """The line of a cell."""
    data, model = problem(cell)
    start = time.process_time()
    snapshots, history = train(cell, model, data, seeds)
    seconds = time.process_time() - start
    distances, rests = [], []
    for seed in range(seeds):
        first = snapshots[0].network(model, seed)
        for (_, side), layer in layers_of(cell, snapshots[-1], model, first, data, seed).items():
            if side == "forward":
                pull = cell.weight_decay * layer.W
                distances.append(float((layer.weight_gradient + pull).norm() / pull.norm()))
                if cell.optimizer in OTHER_REST:
                    rests.append(distance_from_rest(cell.optimizer, layer.W, layer.weight_gradient, cell.weight_decay))

    def mean(quantity: str) -> float:
        last = [row["value"] for row in history if row["quantity"] == quantity and row["step"] == cell.last_step]
        return sum(last) / len(last) if last else float("nan")

    fit = "train_accuracy" if cell.shared.loss == "cross_entropy" else "train_loss"
    numbers = {"distance": sum(distances) / len(distances), "averaged": mean("averaged_stationarity"),
               "from rest": sum(rests) / len(rests) if rests else float("nan"), fit: mean(fit)}  # fmt: skip
    words = ", ".join(f"{name} {value:.3f}" for name, value in numbers.items())
    return f"{cell.name}: decay {cell.weight_decay:g}, {cell.last_step} steps: {words}; {seconds:.0f} s"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("words", nargs="*", default=[""])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--decay", type=float)
    parser.add_argument("--steps", type=int)
    options = parser.parse_args()
    torch.set_num_threads(1)
    changes = {name: value for name, value in (("weight_decay", options.decay), ("steps", options.steps)) if value}
    for cell in all_cells().values():
        if cell.weight_decay and not cell.answer and any(word in cell.name for word in options.words):
            try:
                print(line(cell.model_copy(update=changes), options.seeds), flush=True)
            except Diverged as error:
                print(f"{cell.name}: {error}", flush=True)


if __name__ == "__main__":
    main()
