"""Replies to verdicts: the form of those in the repository, what is refused, and the issue form."""

import re
from pathlib import Path

import pytest
import yaml

from tasks.reporting.replies import ReplyError, replies
from tasks.settings import load

ROOT = Path(__file__).resolve().parents[2]
REPLY = "From: Ada Example, author\nDate: 2026-11-23\nCommit: 7241471\n\nThe rate was *0.01*.\n"


def test_every_reply_in_the_repository_is_to_a_claim_and_readable():
    keys = {path.stem for path in (ROOT / "replies").glob("*.md")} - {"README"}
    assert keys <= set(load("quick").claims)
    assert all(replies(ROOT / "replies", key) for key in keys)


def test_the_example_of_the_readme_is_a_reply(tmp_path):
    block = re.search(r"```markdown\n(.*?)```", (ROOT / "replies/README.md").read_text(), flags=re.S).group(1)
    (tmp_path / "a_fig7.md").write_text(re.sub("^   ", "", block, flags=re.M))
    (reply,) = replies(tmp_path, "a_fig7")
    assert reply.author == "Ada Example, author of the paper"
    assert reply.commit == "7241471"
    assert "Figure 7" in reply.html
    assert replies(tmp_path, "a_fig8") == []


def test_several_replies_to_a_claim_keep_their_order(tmp_path):
    second = REPLY.replace("Ada Example, author", "Bo Example, reader").replace("2026-11-23", "2026-12-01")
    (tmp_path / "a_fig7.md").write_text(f"{REPLY}\nA rule:\n\n---\n\nmore\n\n---\n{second}")
    first_reply, second_reply = replies(tmp_path, "a_fig7")
    assert "<hr" in first_reply.html  # a line of three dashes within a text is Markdown
    assert (second_reply.author, str(second_reply.date)) == ("Bo Example, reader", "2026-12-01")


def test_a_reply_can_neither_request_nor_run_anything(tmp_path):
    text = "<script>alert(1)</script> ![x](http://localhost/x.png) [y](javascript:alert(1)) <b onclick=x>z</b>"
    (tmp_path / "a_fig7.md").write_text(REPLY + text)
    (reply,) = replies(tmp_path, "a_fig7")
    assert "<em>0.01</em>" in reply.html
    assert not re.search(r"<script|<img|<b |href=\"javascript", reply.html)


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ("From: Ada Example, author\n", "", "From:"),
        ("7241471", "the last", "Commit:"),
        ("2026-11-23", "yesterday", "yesterday is no date"),
        ("The rate was *0.01*.", "", "empty line"),
    ],
)
def test_a_malformed_reply_is_refused_with_its_file(tmp_path, before, after, message):
    (tmp_path / "a_fig7.md").write_text(REPLY.replace(before, after))
    with pytest.raises(ReplyError, match=f"replies/a_fig7.md: .*{message}"):
        replies(tmp_path, "a_fig7")


def test_the_issue_form_asks_for_claim_commit_and_number():
    form = yaml.safe_load((ROOT / ".github/ISSUE_TEMPLATE/claim.yml").read_text())
    required = {field["id"] for field in form["body"] if field.get("validations", {}).get("required")}
    assert {"claim", "commit", "number"} <= required
    names = [field["id"] for field in form["body"] if "id" in field]
    assert len(names) == len(set(names))
    types = {field["type"] for field in form["body"]}
    assert types <= {"markdown", "input", "textarea", "dropdown", "checkboxes"}  # what a git host's forms know
