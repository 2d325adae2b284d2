"""What the pages say, without a browser: every link leads somewhere, every claim has its page, numbers agree."""

import html
import json
import re
import subprocess
import sys
import tomllib
from html.parser import HTMLParser
from urllib.parse import unquote

import pytest

from tasks import papers
from tasks.reporting.prose import prose
from tasks.reporting.typesetting import number, typeset
from tasks.settings import ROOT, load

KEYS = list(load("quick").claims)
FRESH = json.loads((ROOT / "reports/fresh.json").read_text(encoding="utf-8"))


class Links(HTMLParser):
    """The addresses, the anchors and the text of a page."""

    def __init__(self, text: str):
        super().__init__()
        self.links, self.anchors, self.open, self.text = [], set(), [], ""
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.links += [attributes[name] for name in ("href", "src") if name in attributes]
        self.anchors |= {attributes["id"]} if "id" in attributes else set()

    def handle_data(self, data):
        self.text += data


def plain(html: str) -> str:
    """The text of HTML."""
    return Links(html).text


@pytest.fixture(scope="module")
def pages(site):
    folders = (site, site / "papers", site / "claims", site / "controls", site / "atlas")
    return {path: Links(path.read_text()) for folder in folders for path in folder.glob("*.html")}


def test_a_claims_words_have_the_paragraphs_of_its_file(site, claims):
    """The results hold them as one line; words of an older check stay as they are recorded."""
    split = 0
    for claim in claims["quick"].values():
        words = (
            (site / "claims" / f"{claim['key']}.html").read_text().partition('id="says">')[2].partition("</section>")[0]
        )
        shown = [plain(paragraph) for paragraph in re.findall("<p>(.*)</p>", words)]
        text = papers.claim(load("quick").paper[claim["key"]], claim["key"]).__doc__.strip()
        same = " ".join(text.split()) == claim["statement"]
        assert len(shown) == (text.count("\n\n") + 1 if same else 1), claim["key"]
        split += same and len(shown) > 1
    assert split > 20


def test_the_site_is_made_in_less_than_20_seconds(built):
    assert built[1] < 20  # of one processor, since tests share the machine


def test_every_claim_and_every_paper_has_a_page(site):
    assert {path.stem for path in (site / "claims").glob("*.html")} == set(KEYS)
    assert {path.stem for path in (site / "claims").glob("*.md")} == set(KEYS)
    assert {path.stem for path in (site / "papers").iterdir()} == {papers.paper(name).LETTER for name in papers.names()}


def test_every_link_leads_to_a_file_and_a_place_in_it(pages):
    for path, page in pages.items():
        for link in page.links:
            if link.startswith("https://arxiv.org/abs/"):
                continue
            file, _, anchor = link.partition("#")
            target = (path.parent / unquote(file)).resolve() if file else path.resolve()
            assert target.exists(), f"{path.name}: {link}"
            if anchor and target.suffix == ".html" and "=" not in anchor:
                assert anchor in Links(target.read_text()).anchors, f"{path.name}: {link}"


def test_every_link_of_the_markdown_leads_to_a_file(site):
    for path in [site / "README.md", site / "atlas/README.md", *(site / "claims").glob("*.md")]:
        text = path.read_text()
        links = re.findall(r"\]\(([^)\s]+)\)", text) + re.findall(r'href="([^"]+)"', text)
        for link in links:
            if not link.startswith("https://arxiv.org/abs/"):
                assert (path.parent / link.partition("#")[0]).exists(), f"{path.name}: {link}"


def test_no_page_is_larger_than_300_kilobytes(site):
    for path in [
        *site.glob("*.html"),
        *site.glob("*.md"),
        *site.glob("claims/*"),
        *site.glob("controls/*"),
        *site.glob("papers/*"),
        *site.glob("atlas/*"),
    ]:
        assert path.stat().st_size <= 300_000, path


def test_every_table_has_a_caption_and_every_head_a_scope(site):
    count = 0
    for path in site.rglob("*.html"):
        for table in re.findall(r"<table.*?</table>", path.read_text(), re.S):
            count += 1
            assert re.search(r"<caption[^>]*>\s*\S", table), path
            assert not re.search(r"<th(?![^>]*scope=)[ >]", table), path
    assert count > 200


def test_the_first_lines_of_a_page_name_a_subject_once(pages, site, claims):
    """Of what was measured for neighbours; a planted pair is in the doctest of ``subjects_once``."""
    measured = [claim["measured"] for claim in claims["quick"].values()]
    assert any(re.search(r"(^|; )([^:;]+): [^;]+; \2: ", text) for text in measured)
    for claim in claims["quick"].values():
        lines = pages[site / "claims" / f"{claim['key']}.html"].text.partition("The claim, in our words")[0]
        assert not re.search(r"(: |; )([A-Za-z][^:;]+): [^;:]+; \2: ", lines), claim["id"]


def test_nothing_is_taken_from_another_host(site):
    for path in [*site.glob("**/*.html"), *site.glob("assets/*")]:
        text = path.read_text()
        fetched = re.findall(r'(?:src|srcset|@import|url\()\s*=?\s*["\']?(https?:[^"\')\s]+)', text)
        fetched += re.findall(r'<link[^>]*href="(https?:[^"]+)', text)
        assert not fetched, path


def test_a_claims_page_has_its_verdicts_statements_and_controls(pages, site, claims):
    for scale, results in claims.items():
        for claim in results.values():
            text = pages[site / "claims" / f"{claim['key']}.html"].text
            assert claim["verdict"] in text
            assert claim["reason"] in text
            for statement in claim["statements"]:
                assert html.unescape(plain(prose(statement["quote"]))) in text, (claim["id"], scale)
                assert statement["place"] in text
                for form in statement["forms"].values():
                    if form["measured"]:
                        assert html.unescape(plain(prose(typeset(form["measured"])))) in text
            for control in claim["controls"]:
                assert html.unescape(plain(prose(control))) in text


def test_each_scales_verdict_is_shown_as_its_claims_json_has_it(pages, site, claims):
    text = (site / "claims" / "a_tl.html").read_text()
    assert claims["quick"]["A.tl"]["verdict"] == "holds"
    assert re.search(r'quick scale</span> <span class="badge holds">', text)
    assert re.search(r'paper scale</span> <span class="badge fails">', text)
    lists = pages[site / "index.html"].text.split("What changes with the scale")[1].split("What is inconclusive")[0]
    assert "A.tl" in lists


def test_a_claim_that_was_not_run_says_why_and_has_no_figure(site, claims):
    text = (site / "claims" / "b_fig9.html").read_text()
    ran = [scale for scale in claims if claims[scale].get("B.fig9", {"verdict": "not run"})["verdict"] != "not run"]
    assert "paper" not in ran
    assert re.search(r'paper scale</span> <span class="badge not-run">', text)
    assert "paper/figures/b_fig9.svg" not in text
    assert ("quick/figures/b_fig9.svg" in text) == ("quick" in ran)


def test_what_was_not_run_says_which_data_memory_or_hours_it_needs(pages, site, claims):
    ran = {claim["key"] for claim in claims["paper"].values() if claim["verdict"] != "not run"}
    waiting = pages[site / "index.html"].text.split("What was not run, and why")[1]
    assert set(KEYS) - ran == {"b_fig9", "d_fig9", "d_fig12"}
    for key in set(KEYS) - ran:
        text = pages[site / "claims" / f"{key}.html"].text
        (needs,) = re.findall(r"It needs [^\n]*?(?:core|day|GPU)\b", text)[:1]
        assert needs in waiting


def test_what_no_control_can_break_says_why(pages, site, claims):
    waived = [(claim, statement) for results in claims.values() for claim in results.values()
              for statement in claim["statements"] if statement["forms"] and statement["stands in"]]  # fmt: skip
    assert any(statement["forms"]["claim"]["controls"] for _, statement in waived)  # where a control's row stands too
    for claim, statement in waived:
        reason = html.unescape(plain(prose(statement["stands in"])))
        assert reason in pages[site / "claims" / f"{claim['key']}.html"].text


def test_a_fragile_verdict_is_marked_in_the_table_and_in_the_lists(pages, site):
    text = (site / "index.html").read_text()
    contradicts = text.split('id="contradicts"')[1].split("</section>")[0]
    fragile = {name.lower().replace(".", "_") for name, claim in FRESH["claims"].items() if claim["fragile"]}
    assert fragile
    for key in KEYS:
        row = text.split(f'<tr id="{key}"')[1].split("</tr>")[0]
        assert ("fragile" in row) == (key in fragile), key
        if listed := re.search(rf"{key}\.html.*?</li>", contradicts, flags=re.S):
            assert ("fragile" in listed[0]) == (key in fragile), key
    assert "As printed it is undecided" in contradicts


def test_a_difference_from_the_print_is_the_measured_number_less_the_printed(pages, site, claims):
    statements = claims["paper"]["A.fig7"]["statements"]
    (level,) = [statement for statement in statements if statement["name"] == "VCS's level"]
    less = level["statistic"] - 0.98
    assert f"{less:.4g}".replace("-", "−") in pages[site / "claims" / "a_fig7.html"].text
    assert f"{less:.4g}".replace("-", "−") in pages[site / "index.html"].text


def test_many_rows_are_shown_as_means_and_say_so(pages, site):
    text = (site / "claims" / "a_fig7.html").read_text()
    section = text.split('id="rows-quick"')[1].split("</section>")[0]
    assert "holds means, with the smallest and the largest value" in section
    assert section.count("<tr>") == 1 + 2 * 5  # a row for each arm and seed
    # the mean over x = 0 … 199 of seed + x / 10, its smallest and largest value
    for shown in ("9.95", "13.95", "0", "19.9", "23.9", "200"):
        assert f"<td>{shown}</td>" in section


def test_the_speed_page_has_every_pair_and_every_axis(pages, site):
    text = pages[site / "speed.html"].text
    folder = site.parent / "benchmarks"
    pairs = json.loads((folder / "results.json").read_text(encoding="utf-8"))["pairs"]
    assert len(pairs) > 10
    for row in pairs:
        assert row["quantity"].replace("`", "") in text
        assert f"{row['ratio']:.2f} ({row['low']:.2f} to {row['high']:.2f})" in text
    slower = sum(row["high"] < 1 for row in pairs)
    assert f"in {slower} it is slower in every round" in text
    for row in json.loads((folder / "growth.json").read_text(encoding="utf-8"))["rows"]:
        assert f"{row['axis'].capitalize()}, {row['sizes'][0]} to {row['sizes'][-1]}" in text


def test_a_reply_is_shown_without_its_html(site):
    text = (site / "claims" / "a_fig7.html").read_text()
    assert "The rate was <strong>0.01</strong>. &lt;b&gt;raw&lt;/b&gt;" in text
    assert "Ada Example, author, 2026-11-23, on commit 7241471" in text
    assert "Ada Example" in (site / "claims" / "a_fig7.md").read_text()


def test_a_counterexample_is_shown_with_its_source(site):
    text = (site / "claims" / "a_lem1.html").read_text()
    assert "assert 0 &lt; 1  # &lt;the smallest&gt;" in text


def test_the_table_separates_how_many_statements_were_found_from_why_not_all(pages, site, claims):
    text = " ".join(pages[site / "index.html"].text.split())
    result = claims["paper"]["A.lem3"]
    assert result["reason"] == "refuted"
    assert f"fails {result['supported']} of {result['asserted']}; refuted" in text


def test_formulas_are_mathml(site):
    for key in KEYS:
        assert "<math" in (site / "claims" / f"{key}.html").read_text(), key


def test_the_readme_has_a_row_for_each_claim(site, claims):
    text = (site / "README.md").read_text()
    for key in KEYS:
        assert re.search(rf"^\| \[[A-D]\.\S+\]\(claims/{key}\.md\)", text, flags=re.M | re.I), key
    assert "| paper | 7" in text or "| paper |" in text


def test_the_first_paragraph_counts_the_verdicts_of_the_papers_scale(site, claims):
    verdicts = [claims["paper"].get(name, {"verdict": "not run"})["verdict"] for name in claims["quick"]]
    corrected, fail, undecided, absent = map(verdicts.count, ("holds corrected", "fails", "inconclusive", "not run"))
    sentence = (
        f"At the paper scale {verdicts.count('holds') + corrected} claims hold ({corrected} of them corrected), "
        f"{fail} fail, {undecided} are inconclusive and {absent} did not run."
    )
    assert f"We split four papers into {len(verdicts)} claims" in (site / "README.md").read_text()
    assert sentence in (site / "README.md").read_text()
    shown = re.sub(r'<span class="tip".*?</span>', "", (site / "index.html").read_text())  # without pop-ups
    assert sentence in " ".join(plain(shown).split())


def test_a_remark_on_a_fragile_claim_stands_in_the_part_that_is_about_it(site):
    """Of the claim at the scale of its fresh seeds: behind the sentence, or behind a paragraph of its details."""
    lines = (site / "README.md").read_text().split("\n")
    (on_cifar,) = [line for line in lines if re.search("gave C.tab2.CIFAR10 .* quick-scale verdict", line)]
    assert on_cifar.startswith("  - [On CIFAR-10](claims/c_tab2_cifar10.md)")
    (whitened,) = [line for line in lines if re.search("gave A.fig2 .* quick-scale verdict", line)]
    assert whitened.startswith("  - Over all epochs the whitened update's")
    text = (site / "papers" / "A.html").read_text()
    (item,) = [part for part in text.split("<li") if re.search("<small>.*gave A.fig2 .* quick-scale verdict", part)]
    assert "Over all epochs the whitened update" in without_pop_ups(item)


def test_the_projects_readme_counts_the_statements_that_no_control_breaks_as_the_report_does(site):
    guide = " ".join(plain((site / "how-to-read.html").read_text()).split())
    counted = re.search(r"(\d+) asserted statements hold at some scale", guide)
    readme = " ".join((ROOT / "README.md").read_text().split())
    assert f"{counted[1]} statements of the papers hold although no control breaks" in readme


def test_no_page_shows_the_names_of_settings(site):
    """Quantities such as pearson/root enfa are names of the tables, which a page shows beside its downloads, and
    train.variants.decay-1e-3 is a key of params.yaml, which it shows among the settings."""
    for path in (*site.rglob("*.html"), *site.rglob("*.md")):
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"decay-1·10|(?<![/_])root enfa|(?<!\.)decay-1e-", text), path.name


def test_same_results_same_bytes_and_old_pages_go(built):
    clone, _ = built
    before = {path: path.read_bytes() for path in (clone / "reports").rglob("*") if path.is_file()}
    (clone / "reports/claims/a_gone.html").write_text("of a claim that is no more")
    subprocess.run([sys.executable, "-m", "tasks.site"], cwd=clone, check=True)
    assert {path: path.read_bytes() for path in (clone / "reports").rglob("*") if path.is_file()} == before


def test_the_first_lines_of_a_page_say_what_decides_and_why_with_the_numbers_of_claims_json(pages, site, claims):
    """Of every claim that is not found to hold as printed, at each scale."""
    words = {"fails": "Fails: ", "inconclusive": "Undecided: ", "holds corrected": "Corrected: "}
    for scale, results in claims.items():
        for claim in results.values():
            text = pages[site / "claims" / f"{claim['key']}.html"].text
            first = text.partition("The claim, in our words")[0].split("The paper prints")[1]
            printed, _, first = first.partition(f"{scale} scale")
            assert html.unescape(plain(prose(claim["printed"]))) in printed
            if claim["verdict"] not in words:
                continue
            assert words[claim["verdict"]] in first, claim["id"]
            assert "Why: " in first, claim["id"]
            if claim["verdict"] != "holds corrected" and claim["reason"] not in ("hypothesis not met",
                                                                                "table out of date"):  # fmt: skip
                (deciding,) = (other for other in claim["statements"] if other["name"] == claim["deciding"])
                form = deciding["forms"]["corrected" if deciding["form"] == "corrected" else "claim"]
                while form["part"] in form["parts"]:
                    form = form["parts"][form["part"]]
                is_round_off = form["evidence"] == "exact" and 0 < form["statistic"] < 1
                shown = "below 1 u" if is_round_off else number(form["statistic"])
                assert shown in first or claim["reason"] == "reduced too far", (claim["id"], scale)


def test_the_first_page_says_what_each_paper_is_about_before_what_was_found(pages, site):
    """For a reader who has not met the papers; the same on the paper's page and in the Markdown."""
    for name in papers.names():
        about = tomllib.loads((ROOT / "tasks/papers" / name / "findings.toml").read_text())["about"]
        letter = papers.paper(name).LETTER
        first = without_pop_ups((site / "index.html").read_text()).split(f"Paper {letter}</a>: ")[1]
        assert first.index(about) < first.index('<ul class="findings">'), letter
        of_paper = without_pop_ups((site / "papers" / f"{letter}.html").read_text())
        assert about in of_paper.split("What was found")[0]
        assert about in (site / "README.md").read_text()


def without_pop_ups(page: str) -> str:
    """The HTML of a page with the glossary's terms as plain words."""
    page = re.sub(r'<span class="tip"[^>]*>.*?</span>', "", page, flags=re.DOTALL)
    return html.unescape(re.sub(r'<a class="term"[^>]*>(.*?)</a>', r"\1", page, flags=re.DOTALL))


def test_a_table_of_statements_has_a_column_for_prints_only_where_the_paper_prints_something(site, claims):
    head = {}
    for key in ("a_fig2", "c_tab2"):
        table = (site / "claims" / f"{key}.html").read_text().partition('class="statements')[2]
        head[key] = table.partition("</thead>")[0]
    assert not any(
        statement["printed"] or statement["derived"] for statement in claims["paper"]["A.fig2"]["statements"]
    )
    assert [">Printed</th>" in head[key] for key in ("a_fig2", "c_tab2")] == [False, True]
