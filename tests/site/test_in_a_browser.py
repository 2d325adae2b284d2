"""The pages in Chromium, from disk: filters, search, sorting and the address, keyboard, without scripts, on paper."""

import re
from itertools import pairwise

import pytest
from axe_playwright_python.sync_playwright import Axe

from tasks.settings import load

KEYS = list(load("quick").claims)
SAMPLE = ("a_fig7", "a_lem1", "b_fig8", "b_fig9", "d_thm4_3")  # a level, a correction, many statements, not run

ATLAS = ["atlas/index.html", "atlas/training.html", "atlas/mlp_images_sgd_decay.html"]


def rows(page) -> list[str]:
    """The keys of the claims that the table shows, in its order."""
    return page.locator("#claims tbody tr:visible").evaluate_all("rows => rows.map(row => row.id)")


def expected(claims, condition) -> list[str]:
    """The keys of the claims whose results at some scale meet the condition."""
    by_key = {result["key"]: scale for scale in claims for result in claims[scale].values()}
    names = {result["key"]: name for scale in claims for name, result in claims[scale].items()}
    absent = {"verdict": "not run", "reason": "data or machine not here", "paper": ""}
    return sorted(key for key in by_key
                  if any(condition(scale, claims[scale].get(names[key], absent)) for scale in claims))  # fmt: skip


@pytest.mark.parametrize("width", [1280, 800, 390])
def test_every_kind_of_page_fits_its_width_and_asks_for_nothing(page, site, width):
    page.set_viewport_size({"width": width, "height": 800})
    kinds = [path.name for path in site.glob("*.html")] + ["papers/C.html"] + [f"claims/{key}.html" for key in SAMPLE]
    kinds += ATLAS
    for name in kinds:
        page.goto((site / name).as_uri())
        assert page.evaluate("document.documentElement.scrollWidth") <= width, name
        for image in page.locator("img").all():
            image.scroll_into_view_if_needed()
            page.wait_for_function("image => image.complete", arg=image.element_handle())
            assert image.evaluate("image => image.naturalWidth") > 0, name


def test_a_phone_says_of_each_wide_box_that_it_scrolls(page, site):
    page.set_viewport_size({"width": 390, "height": 844})
    for name in ("index.html", "papers/A.html", "claims/a_fig7.html", "claims/a_lem1.html", "controls.html", *ATLAS):
        page.goto((site / name).as_uri())
        page.evaluate("document.querySelectorAll('details').forEach(details => details.open = true)")
        for image in page.locator("img").all():
            image.scroll_into_view_if_needed()
            page.wait_for_function("image => image.complete", arg=image.element_handle())
        page.wait_for_timeout(100)
        boxes = page.locator(".scroll:visible, .math:visible, pre:visible").evaluate_all(SCROLLS_AND_SAYS_SO)
        assert all(scrolls == says for scrolls, says in boxes), name
        assert name != "claims/a_fig7.html" or any(scrolls for scrolls, _ in boxes)


SCROLLS_AND_SAYS_SO = """boxes => boxes.map(box => [
    box.scrollWidth > box.clientWidth + 1, getComputedStyle(box, '::before').content.includes('sideways')])"""


def test_no_formula_of_a_claim_is_cut_on_a_desktop(page, site):
    page.set_viewport_size({"width": 1280, "height": 900})
    formulas = 0
    for key in KEYS:
        page.goto((site / "claims" / f"{key}.html").as_uri())
        boxes = page.locator(".math").evaluate_all("boxes => boxes.map(box => [box.scrollWidth, box.clientWidth])")
        assert all(needed <= there + 1 for needed, there in boxes), key
        formulas += len(boxes)
    assert formulas > len(KEYS)


def test_filters_search_and_the_address(page, site, claims):
    page.goto((site / "index.html").as_uri())
    assert rows(page) == KEYS
    page.locator("select[name=verdict]").select_option("fails")
    fails = expected(claims, lambda scale, claim: claim["verdict"] == "fails")
    assert sorted(rows(page)) == fails
    assert page.locator("output.shown").inner_text() == f"{len(fails)} of {len(KEYS)} claims"
    assert page.url.endswith("#verdict=fails")
    page.locator("select[name=scale]").select_option("paper")
    at_paper = expected(claims, lambda scale, claim: claim["verdict"] == "fails" and scale == "paper")
    assert sorted(rows(page)) == at_paper
    assert "a_tl" in at_paper
    page.get_by_label("Search").fill("Target LINEARITY depends")
    assert rows(page) == ["a_tl"]
    address = page.url
    page.goto("about:blank")
    page.goto(address)
    assert rows(page) == ["a_tl"]
    assert page.get_by_label("Search").input_value() == "Target LINEARITY depends"
    page.get_by_role("button", name="Clear").click()
    page.wait_for_function("!location.hash.includes('verdict')")
    assert rows(page) == KEYS


def test_a_number_of_the_matrix_leads_to_its_claims(page, site, claims):
    page.goto((site / "index.html").as_uri())
    link = page.get_by_label(re.compile("^Paper B, quick scale, fails: "))
    number = int(link.inner_text())
    link.click()
    assert len(rows(page)) == number
    assert all(key.startswith("b_") for key in rows(page))


def test_rows_are_short_and_show_all_on_demand(page, site):
    """A long cell is cut to a few lines on the screen, and its whole text is a pop-up; a box of the form shows all."""
    page.set_viewport_size({"width": 1280, "height": 800})
    page.goto((site / "index.html").as_uri())
    table = page.locator("#claims")
    cut = "cells => cells.filter(cell => cell.scrollHeight > cell.clientHeight + 2)"
    without_title = f"cells => ({cut})(cells).filter(cell => cell.title !== cell.textContent).length"
    short = table.bounding_box()["height"]
    assert short < 90 * table.locator("tbody tr").count()
    assert len(table.locator(".text").evaluate_all(f"cells => ({cut})(cells).map(cell => cell.title)")) > 20
    assert table.locator(".text").evaluate_all(without_title) == 0
    page.get_by_label("Whole texts").check()
    assert "whole=yes" in page.url
    assert table.locator(".text").evaluate_all(f"cells => ({cut})(cells).length") == 0
    assert table.bounding_box()["height"] > short
    page.reload()
    assert page.get_by_label("Whole texts").is_checked()
    page.get_by_label("Whole texts").uncheck()
    page.emulate_media(media="print")
    assert table.locator(".text").evaluate_all(f"cells => ({cut})(cells).length") == 0


def test_sorting_by_the_keyboard(page, site):
    page.goto((site / "index.html").as_uri())
    button = page.locator("th[data-sort=verdict] button")
    button.focus()
    page.keyboard.press("Enter")
    head = page.locator("th[data-sort=verdict]")
    assert head.get_attribute("aria-sort") == "ascending"
    assert "sort=verdict" in page.url
    assert "fails" in page.locator(f"#{rows(page)[0]} .badge").all_inner_texts()
    page.keyboard.press("Enter")
    assert head.get_attribute("aria-sort") == "descending"
    assert "fails" in page.locator(f"#{rows(page)[-1]} .badge").all_inner_texts()


def test_the_keyboard_reaches_the_content_and_pop_ups(page, site):
    page.goto((site / "claims" / "a_fig7.html").as_uri())
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the content"
    term = page.locator("a.term").first
    tip = term.locator(".tip")
    assert not tip.is_visible()
    term.focus()
    assert tip.is_visible()
    page.keyboard.press("Escape")
    assert not tip.is_visible()
    term.click()
    assert re.search(r"glossary\.html#[\w-]+$", page.url)
    assert page.locator(":target").count() == 1


def test_all_can_be_read_without_scripts(browser, site):
    context = browser.new_context(java_script_enabled=False, offline=True)
    page = context.new_page()
    page.goto((site / "index.html").as_uri())
    assert page.locator("#claims tbody tr").count() == len(KEYS)
    assert not page.locator("form.filters").is_visible()
    page.locator("#claims tbody a").first.click()
    assert page.url.endswith(f"claims/{KEYS[0]}.html")
    assert page.locator("table.statements tbody tr").count() >= 1
    page.locator("summary").last.click()
    page.locator("a.term").first.hover()
    assert page.locator("a.term .tip").first.is_visible()
    context.close()


def test_the_index_fits_on_sixteen_sheets_of_paper(browser, site):
    page = browser.new_context(offline=True).new_page()
    page.goto((site / "index.html").as_uri())
    assert len(re.findall(rb"/Type\s*/Page\b", page.pdf(prefer_css_page_size=True))) <= 16
    page.set_viewport_size({"width": 733, "height": 1000})
    page.emulate_media(media="print")
    assert page.evaluate("document.documentElement.scrollWidth") <= 733
    assert page.evaluate(CUT_OFF.replace(".statements", "#claims")) == []


def test_every_claim_fits_on_two_sheets_of_paper(browser, site):
    page = browser.new_context(offline=True).new_page()
    for key in KEYS:
        page.goto((site / "claims" / f"{key}.html").as_uri())
        page.evaluate("document.querySelectorAll('img').forEach(image => image.loading = 'eager')")
        page.wait_for_function("[...document.images].every(image => image.complete)")
        sheets = len(re.findall(rb"/Type\s*/Page\b", page.pdf(prefer_css_page_size=True)))
        assert 1 <= sheets <= 2, key


def test_no_word_of_a_table_is_cut_on_paper(browser, site):
    page = browser.new_page(viewport={"width": 733, "height": 1000})  # A4 less its margins, at 96 dots an inch
    page.emulate_media(media="print")
    for key in KEYS:
        page.goto((site / "claims" / f"{key}.html").as_uri())
        assert page.evaluate(CUT_OFF) == [], key


CUT_OFF = """[...document.querySelectorAll('.statements td, .statements th')]
    .filter(cell => cell.scrollWidth > cell.clientWidth + 1).map(cell => cell.innerText)"""


def test_the_first_screen_of_a_claims_page_says_what_was_found_and_why(page, site):
    """On a desktop, and the words of the claim begin on it too."""
    page.set_viewport_size({"width": 1280, "height": 900})
    for key in KEYS:
        page.goto((site / "claims" / f"{key}.html").as_uri())
        box = page.locator(".verdicts").bounding_box()
        assert box["y"] + box["height"] < 900, key


def test_provenance_is_shown_where_a_run_left_it(page, site):
    (site / "quick" / "provenance.js").write_text(
        'var provenance = window.provenance || {};\nprovenance.quick = {"check@a_fig7": {"seconds": 1.5, "cores": 2, '
        '"memory_gib": 24, "gpu": "", "commit": "abc1234"}};\n'
    )
    page.goto((site / "claims" / "a_fig7.html").as_uri())
    details = page.locator("details.provenance[data-scale=quick]")
    details.locator("summary").click()
    details.locator("table").wait_for()
    assert details.locator("tbody td").all_inner_texts() == [
        "check@a_fig7", "1.5", "2 cores, 24 GiB, no GPU", "abc1234"
    ]  # fmt: skip
    (site / "quick" / "provenance.js").unlink()


def test_a_scale_without_provenance_says_where_a_run_leaves_it(page, site):
    """The page's fixture finds an error in the console, as that of a script that does not exist."""
    assert not (site / "quick" / "provenance.js").exists()
    page.goto((site / "claims" / "a_fig7.html").as_uri())
    details = page.locator("details.provenance[data-scale=quick]")
    details.locator("summary").click()
    page.wait_for_function("!document.querySelector('object')")
    assert "reports/quick/provenance.json" in details.locator("p").inner_text()
    paper = page.locator("details.provenance[data-scale=paper]")
    paper.locator("summary").click()
    paper.locator("table").wait_for()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out_from_its_background(browser, site, scheme):
    """At least 4.5 to 1, by the definition of WCAG 2.1."""
    page = browser.new_context(color_scheme=scheme, offline=True).new_page()
    for name in ("index.html", "claims/a_lem1.html", "claims/a_fig7.html", "controls.html",
                 "controls/quick.html", "speed.html", *ATLAS):  # fmt: skip
        page.goto((site / name).as_uri())
        assert page.evaluate(CONTRASTS) == [], name


CONTRASTS = """() => {
    const channels = colour => colour.match(/[\\d.]+/g).map(Number);
    const luminance = colour => channels(colour).slice(0, 3).map(c => c / 255)
        .map(c => c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
        .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
    const behind = element => {
        for (let e = element; e; e = e.parentElement) {
            const colour = getComputedStyle(e).backgroundColor;
            if ((channels(colour)[3] ?? 1) > 0) return colour;
        }
        return 'rgb(255, 255, 255)';
    };
    const faint = [];
    for (const element of document.querySelectorAll('main *, header *, footer *')) {
        const text = [...element.childNodes].some(node => node.nodeType === 3 && node.textContent.trim());
        if (!text || !element.checkVisibility() || element.closest('math')) continue;
        const pair = [getComputedStyle(element).color, behind(element)].map(luminance);
        const [a, b] = pair.sort((x, y) => y - x);
        if ((a + 0.05) / (b + 0.05) < 4.5) faint.push(element.tagName + ' ' + element.textContent.slice(0, 30));
    }
    return faint;
}"""


@pytest.mark.parametrize("name", ["index.html", "papers/A.html", "claims/a_lem1.html", "controls.html",
                                  "controls/paper.html", "checks.html", "speed.html", "glossary.html",
                                  "derivations.html", "how-to-read.html", *ATLAS])  # fmt: skip
def test_axe_finds_no_barrier(browser, site, name):
    """By the rules of axe-core."""
    page = browser.new_context(offline=True).new_page()
    page.goto((site / name).as_uri())
    violations = Axe().run(page).response["violations"]
    serious = [violation for violation in violations if violation["impact"] != "minor"]
    assert [(violation["id"], violation["nodes"][0]["html"]) for violation in serious] == []


def test_headings_labels_and_tables_are_named(page, site):
    for name in (
        "index.html",
        "papers/A.html",
        "claims/a_fig7.html",
        "controls.html",
        "controls/quick.html",
        "checks.html",
        "speed.html",
        "glossary.html",
        "derivations.html",
        *ATLAS,
    ):
        page.goto((site / name).as_uri())
        assert page.locator("main").count() == 1
        assert page.locator("h1").count() == 1
        levels = page.locator("h1, h2, h3").evaluate_all("all => all.map(head => Number(head.tagName[1]))")
        assert all(after <= before + 1 for before, after in pairwise(levels)), name
        unnamed = page.evaluate("""[...document.querySelectorAll('table')].filter(table => !table.caption
            || [...table.querySelectorAll('th')].some(head => !head.scope)).length""")
        assert unnamed == 0, name
        nameless = page.evaluate("""[...document.querySelectorAll('a, button, input, select, img, nav, [role=region]')]
            .filter(e => !(e.textContent.trim() || e.ariaLabel || e.alt || e.labels?.length)).length""")
        assert nameless == 0, name
        doubled = page.evaluate("""(() => { const ids = [...document.querySelectorAll('[id]')].map(e => e.id);
            return ids.filter((id, i) => ids.indexOf(id) !== i); })()""")
        assert doubled == [], name
        assert page.evaluate("document.documentElement.lang") == "en"


def test_a_heading_is_seen_where_a_link_leads_to_it(page, site):
    page.goto((site / "index.html").as_uri() + "#corrections")
    box = page.locator("#corrections").bounding_box()
    assert 0 <= box["y"] < 700
    hit = page.evaluate("([x, y]) => document.elementFromPoint(x, y).id", [box["x"] + 5, box["y"] + box["height"] / 2])
    assert hit == "corrections"
