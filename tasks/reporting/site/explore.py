"""The pictures of the pages in ``reports/explore/``: matrices as images, curves as drawings, and their numbers.

All pictures are in the page, so that it needs no script to be read; a script shows one step at a time.
"""

import base64
import itertools
import json
import math
import struct
import zlib
from typing import Any

import numpy as np
from markupsafe import Markup, escape

from tasks.reporting.site.content import read
from tasks.reporting.typesetting import typeset
from tasks.settings import ROOT, SCALES

BLUE, WHITE, RED = np.array([[33, 102, 172], [255, 255, 255], [178, 24, 43]])
SHADES = 32  # of each colour
WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 640, 260, 52, 190, 12, 42
# a curve has its quantity's colour in the figures, by a name in explore.css; vermillion is for controls alone
HUES = {"Virtual Covariance Shift": "blue", "FACT": "blue", "AGOP": "green", "√AGOP": "green",
        "observed": "blue", "predicted": "purple"}  # fmt: skip
FREE = ("blue", "green", "purple")  # in this order, for quantities that no figure draws


def views() -> dict[str, dict[str, dict[str, Any]]]:
    """The views by a paper's letter and a scale, from the results of both scales."""
    by_letter: dict[str, dict[str, dict[str, Any]]] = {}
    for scale in SCALES:
        for letter, view in (read(ROOT / "reports" / scale / "explore.json") or {}).items():
            by_letter.setdefault(letter, {})[scale] = view
    return by_letter


def with_pictures(view: dict[str, Any]) -> dict[str, Any]:
    """A view with what its page shows of each option: the images by matrix, the drawing, and the table of numbers."""
    names = [f"{value:g}" for value in view["values"]]
    options = [
        {
            "name": option,
            "strips": [
                {"name": matrix["name"], "images": images(matrix["entries"][option], names, matrix)}
                for matrix in view["matrices"]
            ],
            "several": any(len(curve["seeds"][option]) > 1 for curve in view["curves"]),
            "drawing": drawing(view, option) if view["curves"] else "",
            "numbers": list(zip(names, *(summaries(curve["seeds"][option]) for curve in view["curves"]), strict=True)),
        }
        for option in view["options"]
    ]
    return {"start": "", "opens": "", **view, "shown": options, "names": names}


def images(frames: list[list[float] | None], names: list[str], matrix: dict[str, Any]) -> list[dict[str, Any]]:
    """The images of a matrix that were measured, each with its place on the slider."""
    return [
        {"index": index, "value": names[index], "source": png(frame, matrix["limit"]), "largest": max(map(abs, frame))}
        for index, frame in enumerate(frames)
        if frame is not None
    ]


def png(entries: list[float], limit: float | None = None) -> str:
    """A square matrix as the address of an image with a pixel for each entry: blue negative, red positive.

    Parameters
    ----------
    entries : list of float
        Row by row.
    limit : float, optional
        The size that has the full colour; the largest entry without it.

    Returns
    -------
    str
        A ``data:`` address.
    """
    side = math.isqrt(len(entries))
    matrix = np.asarray(entries).reshape(side, side)
    share = np.clip(matrix / (limit or np.abs(matrix).max() or 1), -1, 1)
    # a byte for each pixel, and the colours that occur: half the size of a colour for each pixel
    steps, index = np.unique(np.rint(SHADES * share), return_inverse=True)
    used = (steps / SHADES)[:, None]
    palette = np.rint(WHITE + np.abs(used) * (np.where(used < 0, BLUE, RED) - WHITE)).astype(np.uint8)
    rows = b"".join(b"\0" + row.tobytes() for row in index.reshape(side, side).astype(np.uint8))
    header = struct.pack(">IIBBBBB", side, side, 8, 3, 0, 0, 0)
    chunks = (
        (b"IHDR", header), (b"PLTE", palette.tobytes()), (b"IDAT", zlib.compress(rows, 9)), (b"IEND", b"")
    )  # fmt: skip
    content = b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)) for kind, data in chunks
    )
    return "data:image/png;base64," + base64.b64encode(content).decode()


def summaries(seeds: list[list[float | None]]) -> list[str]:
    """A curve's mean over seeds at each value, with the smallest and the largest where there are several seeds."""
    texts = []
    for numbers in zip(*seeds, strict=True):
        known = [number for number in numbers if number is not None]
        span = f" ({min(known):.3f} to {max(known):.3f})" if len(known) > 1 else ""
        texts.append(typeset(f"{np.mean(known):.3f}{span}") if known else "–")
    return texts


def drawing(view: dict[str, Any], option: str) -> Markup:
    """The curves of an option: a thin line for each seed, a thick one for the mean, its name at the end.

    A curve that was measured at a single value is a dot.
    """
    values = view["values"]
    by_curve = [curve["seeds"].values() for curve in view["curves"]]
    numbers = [number for of_options in by_curve for seeds in of_options for seed in seeds for number in seed
               if number is not None]  # fmt: skip
    low, high = min(0.0, math.floor(5 * min(numbers)) / 5), max(1.0, max(numbers))

    def x(value: float, digits: int | None = 1) -> float:
        return round(LEFT + (WIDTH - LEFT - RIGHT) * (value - values[0]) / ((values[-1] - values[0]) or 1), digits)

    def y(value: float, digits: int | None = 1) -> float:
        return round(TOP + (HEIGHT - TOP - BOTTOM) * (high - value) / (high - low), digits)

    def line(numbers: list[float | None], kind: str, digits: int | None = 1) -> str:
        known = [(value, number) for value, number in zip(values, numbers, strict=True) if number is not None]
        points = " ".join(f"{x(value, digits)},{y(number, digits)}" for value, number in known)
        if len(known) > 1:
            return f'<polyline class="{kind}" points="{points}"/>'
        # a line through a single point has no length, so that nothing would be seen
        return "".join(f'<circle class="{kind}" cx="{x(value)}" cy="{y(number)}" r="4"/>' for value, number in known)

    parts = []
    for tick in sorted({low, 0.0, high / 2, high}):
        name = typeset(f"{tick:g}")
        parts.append(f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y(tick)}" y2="{y(tick)}"/>'
                     f'<text x="{LEFT - 6}" y="{y(tick) + 4}" text-anchor="end">{name}</text>')  # fmt: skip
    for value in sorted({values[0], values[len(values) // 2], values[-1]}):
        parts.append(f'<text x="{x(value)}" y="{HEIGHT - BOTTOM + 16}" text-anchor="middle">{value:g}</text>')
    parts.append(f'<text x="{(LEFT + WIDTH - RIGHT) / 2}" y="{HEIGHT - 6}" text-anchor="middle">'
                 f"{escape(view['slider'])}</text>")  # fmt: skip
    parts.append(f'<line class="marker" x1="{LEFT}" x2="{LEFT}" y1="{TOP}" y2="{HEIGHT - BOTTOM}"/>')
    ends = []
    for number, curve in enumerate(view["curves"]):
        seeds, look = curve["seeds"][option], f"{HUES.get(curve['name'], FREE[number])} c{number}"
        # many thin lines: whole pixels keep the page small
        parts += [line(seed, f"seed {look}", None) for seed in seeds if len(seeds) > 1]
        mean = [np.mean(known) if (known := [value for value in at if value is not None]) else None
                for at in zip(*seeds, strict=True)]  # fmt: skip
        parts.append(line(mean, f"mean {look}"))
        ends.append([y(next(value for value in reversed(mean) if value is not None)) + 4, look, curve["name"]])
    ends.sort()
    for above, below in itertools.pairwise(ends):
        below[0] = max(below[0], above[0] + 15)
    parts += [f'<text class="name {look}" x="{WIDTH - RIGHT + 8}" y="{height}">{escape(name)}</text>'
              for height, look, name in ends]  # fmt: skip
    title = f"{view['axis']} against {view['slider']}" + (f", {view['choice']} {option}" if view["choice"] else "")
    positions = json.dumps([x(value) for value in values])
    return Markup(
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(title)}" data-positions="{positions}">'
        f"<title>{escape(title)}</title>{''.join(parts)}</svg>"
    )
