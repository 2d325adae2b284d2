"""SVG files of figures: small, and with a title and a description for readers who do not see them."""

import base64
import io
import re
from typing import Any
from xml.sax.saxutils import escape

import numpy as np
from matplotlib.figure import Figure
from PIL import Image

LONG_PATH = 1000  # characters
COORDINATE = re.compile(r'(?<=[ "(,ML-])\d+\.\d{3,}(?=[ ",)\n])')
LONGEST = 2500  # characters of a description


def title(figure: Figure) -> str:
    """The figure's title in one line."""
    return " ".join(figure.get_suptitle().split())


def description(figure: Figure, numbers: str = "") -> str:
    """What each panel shows, with the ends of its named lines and the text in it; then ``numbers``."""
    panels = [panel for axes in figure.axes if (panel := _panel(axes))]
    text = " ".join([f"Panel {number}: {panel}." for number, panel in enumerate(panels, 1)])
    text = " ".join(f"{numbers} {text}".split())
    return text if len(text) <= LONGEST else text[:LONGEST].rsplit(" ", 1)[0] + " …"


def statements(finding: dict[str, Any]) -> str:
    """What the rules find, a sentence for each statement and form, from the dictionary of ``tasks.judging.finding``."""
    words = {True: "holds", False: "does not hold", None: "is undecided"}
    sentences = []
    for statement in finding.get("statements", ()):
        for form, form_finding in statement["forms"].items():
            name = statement["name"] + ("" if form == "claim" else f", {form}")
            measured = form_finding["measured"] or f"statistic {form_finding['statistic']:.4g}"
            sentences.append(f"“{name}” {words[form_finding['holds']]} before correction for many tests: {measured}.")
    return " ".join(sentences)


def _panel(axes: Any) -> str:
    """A panel in words: its title, what its axes show, where each named line begins and ends, the text in it."""
    heading = axes.get_title() or axes.get_title(loc="left")
    against = " against ".join(filter(None, (axes.get_ylabel(), axes.get_xlabel())))
    lines = []
    for line in axes.get_lines():
        values = np.asarray(line.get_ydata(), float)
        values = values[np.isfinite(values)]
        if not line.get_label().startswith("_") and len(values) > 1:
            lines.append(f"{line.get_label()} from {values[0]:.3g} to {values[-1]:.3g}")
    texts = [text.get_text() for text in axes.texts]
    return ": ".join(filter(None, (heading, "; ".join(filter(None, (against, *lines, *texts))))))


def with_description(svg: str, key: str, title: str, text: str) -> str:
    """The SVG as one image with a title and a description."""
    labels = f'<title id="{key}-title">{escape(title)}</title>\n<desc id="{key}-desc">{escape(text)}</desc>\n'
    attributes = f' role="img" aria-labelledby="{key}-title" aria-describedby="{key}-desc">\n{labels}'
    opening, _, remainder = svg.partition(">")
    return f"{opening}{attributes}{remainder.lstrip()}"


def slim(svg: str) -> str:
    """The same picture in half the bytes: coordinates to a hundredth of a point, images with a palette."""
    svg = re.sub(r'xlink:href="data:image/png;base64,([^"]*)"', _palette, svg, flags=re.S)
    svg = re.sub(r"<!--.*?-->|<metadata>.*?</metadata>|<!DOCTYPE.*?>|<\?xml.*?\?>", "", svg, flags=re.S)
    svg = re.sub(r"<[^>]+>", lambda tag: COORDINATE.sub(_hundredths, tag[0]), svg)  # the numbers in a text stay
    svg = re.sub(r"M (\S+) (\S+) \nL \1 (\S+) (?=\n|\")", r"M\1 \2V\3", svg)  # upright ticks
    svg = re.sub(r' d="[^"]*"', _path, svg)
    svg = re.sub(r' id="(?:text|axes|figure|patch|line2d|matplotlib\.axis|xtick|ytick|legend|PathCollection'
                 r'|FillBetweenPolyCollection|LineCollection|QuadMesh)_\d+"', "", svg)  # fmt: skip
    for index, name in enumerate(re.findall(r'<clipPath id="(\w+)"', svg)):  # named after all digits of their places
        svg = svg.replace(name, f"clip{index}")
    svg = svg.replace("'DejaVu Sans'", "'DejaVu Sans', Verdana, sans-serif")
    return re.sub(r"\s*\n\s*", "\n", svg).strip() + "\n"


def _hundredths(number: re.Match[str]) -> str:
    return f"{float(number[0]):.2f}".rstrip("0").rstrip(".")


def _path(path: re.Match[str]) -> str:
    """The data of a path without blanks at its letters; those of a long path, of many seeds, to a tenth of a point."""
    short = re.sub(r"\s*([MLQCVZz])\s*", r"\1", path[0])
    return short if len(short) < LONG_PATH else re.sub(r"\d+\.\d\d", lambda number: f"{float(number[0]):.1f}", short)


def _palette(png: re.Match[str]) -> str:
    image = Image.open(io.BytesIO(base64.b64decode(png[1]))).convert("RGBA")
    small, data = image.quantize(128, Image.Quantize.FASTOCTREE), io.BytesIO()
    small.save(data, "PNG", optimize=True)
    return f'xlink:href="data:image/png;base64,{base64.b64encode(data.getvalue()).decode()}"'
