"""The result of ``measure``: a mapping of layers, which prints as a table."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from gramlab.arguments import did_you_mean
from gramlab.measures.results import LayerMeasures
from gramlab.measures.undefined import Undefined

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd

_SHOWN = 6  # the repr names so many of the parameters that were left out

# column of the summary -> its value from a layer's measures
_COLUMNS: dict[str, Callable[[LayerMeasures], float]] = {
    "cosine_agop": lambda m: m.cosine("gram", "agop"),
    "null_agop": lambda m: m.cosine_null("gram", "agop")[0],
    "deviation_agop": lambda m: m.cosine_null("gram", "agop")[1],
    "cosine_enfa": lambda m: m.cosine("gram", "enfa"),
    "null_enfa": lambda m: m.cosine_null("gram", "enfa")[0],
    "deviation_enfa": lambda m: m.cosine_null("gram", "enfa")[1],
    "cosine_fact": lambda m: m.cosine("gram", "fact"),
    "null_fact": lambda m: m.cosine_null("gram", "fact")[0],
    "deviation_fact": lambda m: m.cosine_null("gram", "fact")[1],
    "stationarity": lambda m: m.stationarity,
    "effective_rank": lambda m: m.effective_rank,
}


@dataclass(frozen=True, eq=False)
class Measurement(Mapping[str, LayerMeasures]):
    """A mapping from layer names to ``LayerMeasures``, in the model's order.

    Attributes
    ----------
    layers : mapping of str to LayerMeasures
    n : int
        The number of samples.
    outputs : int
        The number of outputs of a sample.
    loss : float or None
        The samples' mean loss, None without targets.
    left_out : mapping of str to str
        Parameters with two axes or more, by name, that belong to no measured layer or that the network also uses
        outside of their layer's calls, and why: the kind of its module, or which layer no sample reaches.
    settings : mapping of str to value
        What was asked for: "loss", "outputs", "weight_decay", "quantities" and, of a part, "shard", "rows" of all,
        "made_from", the digests of data, weights and functions, and "unreached", the layers that no sample of the part
        reaches, whose sums are zero.

    Examples
    --------
    >>> import tempfile, torch, gramlab
    >>> path = tempfile.mkdtemp() + "/measurement.safetensors"
    >>> gramlab.measure(torch.nn.Linear(4, 2), torch.randn(10, 4)).save(path)
    >>> gramlab.Measurement.load(path)[""].agop.shape
    torch.Size([4, 4])
    """

    layers: Mapping[str, LayerMeasures]
    n: int
    outputs: int
    loss: float | None
    left_out: Mapping[str, str] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)

    def __getitem__(self, name: str) -> LayerMeasures:
        if name not in self.layers:
            measured = f"measured layers are {list(self.layers)}"
            raise KeyError(f"{name!r} was not measured; {measured}{did_you_mean(name, self.layers)}")
        return self.layers[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.layers)

    def __len__(self) -> int:
        return len(self.layers)

    def summary(self) -> "pd.DataFrame":
        """Return a data frame with a row for each layer; a quantity without a value is NaN there.

        Returns
        -------
        pandas.DataFrame
            ``kind``, ``shape`` of the weight (k, d), ``n`` samples; for the AGOP, the eNFA and FACT the ``cosine`` with
            WᵀW, its ``null`` for random eigenvectors and the ``deviation`` of the null; ``stationarity``, the distance
            from a critical point; ``effective_rank`` of W. The frame's ``attrs`` hold n, outputs, loss, the settings,
            what was left out, and why values are missing.
        """
        import pandas as pd

        rows, undefined = [], {}
        for name, layer in self.layers.items():
            row: dict[str, Any] = {"kind": layer.kind, "shape": tuple(layer.weight.shape), "n": self.n}
            for column, compute in _COLUMNS.items():
                try:
                    row[column] = compute(layer)
                except Undefined as reason:
                    row[column], undefined[f"{name} {column}"] = float("nan"), str(reason)
            rows.append(row)
        frame = pd.DataFrame(rows, index=pd.Index(list(self.layers), name="layer"))
        frame.attrs = {"n": self.n, "outputs": self.outputs, "loss": self.loss, "settings": dict(self.settings),
                       "left_out": dict(self.left_out), "undefined": undefined}  # fmt: skip
        return frame

    def __repr__(self) -> str:
        """The summary as a table, and what it leaves out."""
        frame = self.summary().drop(columns="n").dropna(axis=1, how="all")
        frame["shape"] = [" × ".join(map(str, shape)) for shape in frame["shape"]]
        lines = [self._heading(), frame.to_string(float_format=lambda value: f"{value:.3g}", na_rep="")]
        if self.left_out:
            names = list(self.left_out)
            more = f", and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
            lines.append("left out: " + ", ".join(f"{name} ({self.left_out[name]})" for name in names[:_SHOWN]) + more)
        return "\n".join(lines)

    def cpu(self) -> "Measurement":
        """Return the measurement with all tensors in the CPU's memory."""
        return replace(self, layers={name: layer.cpu() for name, layer in self.layers.items()})

    def save(self, path: "Path | str") -> None:
        """Write the measurement with its settings to one safetensors file, completely or not at all.

        Parameters
        ----------
        path : Path or str
        """
        from gramlab.measures.parts import save

        save(self, path)

    @classmethod
    def load(cls, path: "Path | str") -> "Measurement":
        """Return the measurement that ``save`` wrote.

        Parameters
        ----------
        path : Path or str

        Returns
        -------
        Measurement

        Raises
        ------
        BadInput
            If the file is not a saved measurement.
        """
        from gramlab.measures.parts import load

        return load(path)

    def _heading(self) -> str:
        loss = "" if self.loss is None else f", {self.settings.get('loss', 'loss')} {self.loss:.4g}"
        cotangents = self.settings.get("outputs", "exact")
        note = {"exact": "", "readout": " (exact through the readout)"}.get(cotangents)
        if note is None:
            note = f" (estimated from {_count(cotangents, 'cotangent')})"
        outputs = f"{_count(self.outputs, 'output')}{note}"
        shard_numbers = self.settings.get("shard")
        shard = "" if shard_numbers is None else f", part {shard_numbers[0]} of {shard_numbers[1]}"
        return f"Measurement of {_count(len(self.layers), 'layer')}: n = {self.n}, {outputs}{loss}{shard}"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
