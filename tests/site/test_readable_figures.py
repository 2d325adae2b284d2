"""The figures of both reports, read in a browser."""

from pathlib import Path

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
