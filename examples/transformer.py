"""What do the projections of a small causal transformer learn? FACT, AGOP and Target Linearity along training.

    python examples/transformer.py            # writes to ./build/transformer, in a minute or so

The task: go on with sequences a, a + b, a + 2b, ... modulo 11. From the third token on the next one is determined. The
recorder measures every projection of the attention, the feed-forward layers, the embedding and the readout, estimates
the AGOP of all 7 x 11 outputs from 16 random cotangents, and follows the optimizer to accumulate FACT.
"""

import sys
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn import functional as F

import gramlab
from gramlab import tables

WORDS, LENGTH, DECAY = 11, 7, 0.1


class Transformer(nn.Module):
    """A causal transformer of one block, with learned positions."""

    def __init__(self, width: int = 32) -> None:
        super().__init__()
        self.embed, self.positions = nn.Embedding(WORDS, width), nn.Parameter(0.1 * torch.randn(LENGTH, width))
        self.block = nn.TransformerEncoderLayer(width, 4, 64, dropout=0.0, activation="gelu", batch_first=True)
        self.head = nn.Linear(width, WORDS)

    def forward(self, tokens: Tensor) -> Tensor:
        """Scores (n, T, words) of the next token."""
        causal = nn.Transformer.generate_square_subsequent_mask(tokens.shape[1])
        return self.head(self.block(self.embed(tokens) + self.positions, src_mask=causal))


def sequences() -> Tensor:
    """All sequences a + b t modulo 11, (121, LENGTH + 1)."""
    a, b = torch.meshgrid(torch.arange(WORDS), torch.arange(WORDS), indexing="ij")
    return (a.reshape(-1, 1) + b.reshape(-1, 1) * torch.arange(LENGTH + 1)) % WORDS


def main(out: Path, steps: int = 400) -> None:
    """Train and record, and print the first and the last measurement of each layer."""
    torch.set_num_threads(1)
    torch.manual_seed(0)
    data, model = sequences(), Transformer()
    train, held_out = (part for part in data[torch.randperm(len(data))].split((100, 21)))
    x, y = train[:, :-1], train[:, 1:]
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=DECAY)
    (out / "run.parquet").unlink(missing_ok=True)  # a recorder replaces no table
    recorder = gramlab.Recorder(
        model, x, y, out / "run.parquet", every=max(steps // 4, 1), weight_decay=DECAY, outputs=16, accumulate=True
    )
    with recorder.attach(optimizer):
        for _ in range(steps):
            optimizer.zero_grad()
            F.cross_entropy(model(x).flatten(0, 1), y.flatten()).backward()
            optimizer.step()

    # the first token alone does not determine the second
    right = (model(held_out[:, :-1]).argmax(-1) == held_out[:, 1:])[:, 1:].float().mean()
    print(f"accuracy on sequences that were not seen: {float(right):.2f}\n")
    frame = tables.read(out / "run.parquet").to_pandas()
    quantities = ["nfa", "pearson_fact", "pearson_accumulated_fact", "target_linearity"]
    chosen = frame[frame["quantity"].isin(quantities) & frame["step"].isin([0, steps])]
    table = chosen.pivot_table(index="layer", columns=["quantity", "step"], values="value", sort=False)
    print(table.to_string(float_format=lambda value: f"{value:.2f}", na_rep=""))


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "build/transformer"))
