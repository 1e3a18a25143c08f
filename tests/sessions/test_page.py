"""What the page about sessions shows works, in the order it is shown."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from interlingua.model.metadata import MessageStatus
from interlingua.sessions import PARTS, AsyncSession, Session
from interlingua.store.base import Store
from tests.sessions.wires import answer, stream

PAGE = (Path(__file__).parents[2] / "docs" / "sessions.md").read_text(encoding="utf-8")
TRANSCRIPT = {
    "model": "gpt-5",
    "messages": [
        {"role": "user", "content": "Hello"},
        {"role": "assistant", "content": "Hello!"},
    ],
}


class Provider:
    """Stands in for the providers: calls a tool once for each time it is offered."""

    def __init__(self) -> None:
        self.asked: list[Any] = []

    def post(self, wire: Any) -> Any:
        self.asked.append(wire)
        dialect = "anthropic" if "max_tokens" in wire else "openai-chat"
        calls = "tools" in wire and "tool_result" not in str(wire) and dialect == "anthropic"
        said = answer(dialect, len(self.asked), calls=calls, text="2962 m.")
        if calls:
            said["content"] = [
                block for block in said["content"] if block.get("name") != "get_weather"
            ]
        return said

    def post_streaming(self, _: Session) -> list[bytes]:
        return stream("anthropic", answer("anthropic", 50, text="It is in the Alps."))


def test_the_examples_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    provider = Provider()
    names: dict[str, Any] = {
        "path": str(tmp_path / "page.db"),
        "post": provider.post,
        "post_streaming": provider.post_streaming,
        "run": lambda name, given: f"{name}: {given}",
        "transcript": TRANSCRIPT,
    }
    examples = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    assert len(examples) == 5
    for example in examples:
        exec(compile(example, "sessions.md", "exec"), names)
    store: Store = names["store"]
    printed = capsys.readouterr().out
    assert "2962 m. 0.000654 True" in printed
    assert "It is in the Alps." in printed
    assert "openai:gpt-5: about" in printed
    assert next(m.text for m in names["fork"].messages()) == "What does the README say?"
    assert len(store.messages(names["fork"].id)) == 2
    assert b"Hello!" in names["data"]
    assert not names["report"]
    store.close()


def test_the_page_names_what_there_is() -> None:
    for part in PARTS:
        assert f"`{part}`" in PAGE
    for status in MessageStatus:
        assert f"`{status.value}`" in PAGE
    for name in re.findall(r"`session\.(\w+)\(", PAGE):
        assert hasattr(Session, name)
        assert hasattr(AsyncSession, name)
