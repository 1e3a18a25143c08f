"""One table has the codes and sentences of losses; the other modules name a code."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import interlingua as il
from interlingua.model.losses import Report
from interlingua.model.reasons import REASONS, because
from tools import losses_page

SOURCE = Path(il.__file__).parent
REPORTING = {"lost", "lost_at", "dropped", "drop", "drop_block", "dropped_block", "loss_of"}


def calls() -> Iterator[tuple[str, ast.Call, str]]:
    """Every call by a name, with the file and line."""
    for path in sorted(SOURCE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call):
                owner = node.func
                name = owner.attr if isinstance(owner, ast.Attribute) else getattr(owner, "id", "")
                if name == "add" and not ast.unparse(owner).endswith("report.add"):
                    continue
                yield name, node, f"{path.relative_to(SOURCE)}:{node.lineno}"


def test_every_code_is_in_the_table_with_the_facts_of_its_sentence() -> None:
    used = set()
    for name, call, place in calls():
        for code in _codes(call) if name == "because" else ():
            facts = {keyword.arg for keyword in call.keywords}
            needed = set(re.findall(r"{(\w+)", REASONS[code][1])) - {"to", "model"}
            assert facts == needed, f"{place}: {code}"
            used.add(code)
    chosen = {f"{of}_{kind}" for of in ("vendor", "host") for kind in ("field", "setting")}
    assert set(REASONS) - used <= chosen | {f"{code}_known" for code in chosen}


def _codes(call: ast.Call) -> list[str]:
    """The codes that a call may name: one, or one of two."""
    constants = [node for node in ast.walk(call.args[0]) if isinstance(node, ast.Constant)]
    return [node.value for node in constants if node.value in REASONS]


def test_no_module_passes_a_text_of_its_own() -> None:
    for name, call, place in calls():
        if name in REPORTING or name == "add":
            texts = [arg for arg in call.args[2 if name == "add" else 1 :] if _is_text(arg)]
            assert not texts, f"{place}: {ast.unparse(texts[0])}"


def _is_text(node: ast.expr) -> bool:
    if isinstance(node, ast.Constant):
        return isinstance(node.value, str) and " " in node.value
    literal = [v.value for v in getattr(node, "values", ()) if isinstance(v, ast.Constant)]
    return isinstance(node, ast.JoinedStr) and any(" " in str(part) for part in literal)


@pytest.mark.parametrize("code", sorted(REASONS))
def test_a_sentence_is_plain(code: str) -> None:
    severity, text = REASONS[code]
    assert re.fullmatch("[a-z0-9_]+", code)
    assert severity in ("info", "warning", "error")
    assert not re.search(r"\b(said|told|kept|nobody|stands for it)\b", text)
    assert not text.endswith(".")


def test_a_loss_names_what_happened_and_why() -> None:
    body = {"model": "gpt-5", "seed": 7, "messages": [{"role": "user", "content": "hi"}]}
    report = il.convert(body, "openai-chat", "anthropic", model="claude-sonnet-4-6").report
    (seed,) = [loss for loss in report.losses if loss.code == "seed_unsupported"]
    assert seed.reason == "seed dropped: Anthropic has no equivalent"
    assert seed.severity == "warning"


def test_the_page_of_losses_lists_them() -> None:
    page = SOURCE.parents[1] / "docs" / "losses.md"
    text = page.read_text(encoding="utf-8")
    assert losses_page.page(text) == text, "run make docs"


def test_other_packages_may_pass_a_text() -> None:
    report = Report("mine")
    report.add("dropped", "$.x", "it does not fit")
    report.add("dropped", "$.messages[0].content[1]", because("empty"), block_type="text")
    assert [loss.code for loss in report.entries] == ["", "empty"]
    assert report.losses[0].reason == "it does not fit"
    assert report.notes[0].reason == "text dropped: it is empty"


@pytest.mark.parametrize(
    ("path", "sentence"),
    [
        ("$.tools[0].kind", "custom tool sent as text"),
        ("$.error.kind", "error kind sent as text"),
        ("$.messages[0].content[0].call_type", "custom call sent as text"),
        ("$.options.max_output_tokens", "max_tokens sent as text"),
    ],
)
def test_fields_have_the_names_that_people_know(path: str, sentence: str) -> None:
    assert because("sent_as_text").completed("gemini", path, None)[1].startswith(sentence)


def test_a_prompt_that_begins_at_the_provider_is_lost_with_an_error() -> None:
    body = {
        "contents": [{"role": "user", "parts": [{"text": "hi"}]}],
        "cachedContent": "cachedContents/x",
    }
    report = il.convert(body, "gemini", "openai", model="gpt-5").report
    (loss,) = report.losses
    assert (loss.severity, loss.at) == ("error", ("$.cachedContent",))
    assert "send the messages themselves" in loss.reason
