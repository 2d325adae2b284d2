"""The documentation site: ``make docs`` builds it with Sphinx, without a network."""

import os
import re
import sys
from pathlib import Path

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.application import Sphinx

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "docs")]

project, copyright = "gramlab", "the gramlab developers"
extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
exclude_patterns = ["_*"]
html_theme, html_title = "furo", "gramlab"
html_last_updated_fmt = None
html_copy_source, html_show_sourcelink = False, False
html_math_renderer = "mathml"
pygments_style, pygments_dark_style = "friendly", "monokai"

nb_execution_mode = "off"  # tests execute the notebooks; the site shows the outputs that git holds
myst_enable_extensions = ["dollarmath", "amsmath"]
myst_heading_anchors = 4
myst_url_schemes = ("http", "https", "mailto", "repository")

autodoc_typehints = "none"  # the docstrings have the types
napoleon_google_docstring, napoleon_use_rtype, napoleon_use_ivar = False, False, True
suppress_warnings = ["ref.python"]  # a type such as "as outputs" is no link

# a link out of docs/, from a page of Markdown or of a notebook
OUTSIDE = re.compile(r"(?<=\]\()(\.\.?/[^)\s#]*)")


def mark_links_to_the_repository(app: Sphinx, document: str, source: list[str]) -> None:
    """Give links to files outside docs/ a scheme of their own, so that Sphinx leaves them alone."""
    folder = Path(app.env.doc2path(document)).parent

    def mark(link: re.Match[str]) -> str:
        path = Path(os.path.normpath(folder / link[1]))
        return link[1] if path.is_relative_to(ROOT / "docs") else f"repository:{path.relative_to(ROOT).as_posix()}"

    source[0] = OUTSIDE.sub(mark, source[0])


def link_to_the_repository(app: Sphinx, doctree: nodes.document, document: str) -> None:
    """Turn these links into paths from the built page to the file in the clone."""
    page = Path(app.outdir, document).parent
    for reference in doctree.findall(nodes.reference):
        scheme, _, path = reference.get("refuri", "").partition(":")
        if scheme == "repository":
            reference["refuri"] = os.path.relpath(ROOT / path, page)


def show_formula(writer, node: nodes.Element) -> None:
    """Write a formula as MathML, which browsers show without a script."""
    display = "block" if isinstance(node, nodes.math_block) else "inline"
    writer.body.append(convert(node.astext(), display=display))
    raise nodes.SkipNode


def setup(app: Sphinx) -> None:
    """Register the above, and write the pages that are made from the code."""
    from _generated import write_pages

    app.add_html_math_renderer("mathml", (show_formula, None), (show_formula, None))
    app.connect("source-read", mark_links_to_the_repository)
    app.connect("doctree-resolved", link_to_the_repository)
    write_pages(ROOT / "docs/reference/generated")
