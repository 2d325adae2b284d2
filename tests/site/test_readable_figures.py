"""The figures of both reports, read in a browser."""

import re
from pathlib import Path

import pytest

FIGURE = '<svg xmlns="http://www.w3.org/2000/svg" width="100" height="40"><text y="20">quick scale</text></svg>'
READ = """svg => {
    const frame = svg.getBoundingClientRect(), found = [];
    const ofOneLine = text => text.textContent.trim() && !text.querySelector('tspan');
    const texts = [...svg.querySelectorAll('text')].filter(ofOneLine);
    texts.forEach((text, i) => {
        const box = text.getBoundingClientRect(), says = text.textContent.trim();
        const beyond = [frame.left - box.left, box.right - frame.right, frame.top - box.top, box.bottom - frame.bottom];
        if (Math.max(...beyond) > 1)
            found.push(says + ' is cut off');
        for (const other of texts.slice(0, i)) {
            const at = other.getBoundingClientRect();
            if (Math.min(box.right, at.right) - Math.max(box.left, at.left) > 2
                && Math.min(box.bottom, at.bottom) - Math.max(box.top, at.top) > 4)
                found.push(says + ' lies on ' + other.textContent.trim());
        }
    });
    return found;
}"""


SMALLEST = 9.0  # pixels of a figure's text on the page


@pytest.mark.parametrize("width", [1400, 390])
def test_a_figures_text_is_large_enough_on_the_page(browser, site, width):
    """On a phone the figure keeps its width and scrolls: at 358 pixels its text would be 4 pixels high."""
    page = browser.new_page(viewport={"width": width, "height": 900})
    for key in ("a_fig8", "a_fig12", "b_fig7", "d_fig1"):
        page.goto((site / "claims" / f"{key}.html").as_uri())
        for image in page.locator(".figures img").all():
            image.scroll_into_view_if_needed()
            page.wait_for_function("image => image.complete", arg=image.element_handle())
            text = (site / "claims" / image.get_attribute("src")).read_text()
            sizes = {float(size) for size in re.findall(r"font(?:-size)?: (?:\w+ )?(\d+(?:\.\d+)?)px", text)}
            points = min(size for size in sizes if not any(abs(size - 0.7 * of) < 0.01 for of in sizes))  # no indices
            inches = float(re.search(r'viewBox="0 0 (\S+)', text)[1])
            assert points * image.bounding_box()["width"] / inches >= SMALLEST, (key, width)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.close()


def test_a_figures_text_can_be_read(browser):
    """Nothing is cut off or lies on something else; ticks' powers, whose boxes are larger than they, aside."""
    page = browser.new_page(viewport={"width": 1400, "height": 1400})
    cases = {"": [], '<text x="8" y="33">over it</text>': ["over it lies on quick scale"],
             '<text x="90" y="9">beyond</text>': ["beyond is cut off"]}  # fmt: skip
    for more, expected in cases.items():
        page.set_content(FIGURE.replace("</svg>", more + "</svg>"))
        assert page.locator("svg").evaluate(READ) == expected
    for path in Path("reports").glob("*/figures/*.svg"):
        page.set_content(path.read_text())
        assert page.locator("svg").evaluate(READ) == [], path
