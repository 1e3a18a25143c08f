"""The manifest sees what is written and lost, and names what differs between two of them."""

from __future__ import annotations

from pathlib import Path

from tools import manifest

RECORD = {
    "id": "r1",
    "dialect": "openai-chat",
    "provider": "openai",
    "framing": "sse",
    "request": {"model": "gpt-5", "seed": 7, "messages": [{"role": "user", "content": "hi"}]},
    "stream": [
        {"data": {"choices": [{"index": 0, "delta": {"content": "a"}, "finish_reason": "stop"}]}},
        {"data": "[DONE]"},
    ],
}


def test_a_record_has_one_line_for_each_target() -> None:
    lines = list(manifest.of_record(RECORD))
    keys = [key for key, *_ in lines]
    assert len(set(keys)) == len(keys) == 2 * len(manifest.MODELS) + len(manifest.VIEWS)
    assert "r1 request openai-chat>anthropic" in keys
    assert "r1 stream openai-chat>gemini" in keys
    assert lines == list(manifest.of_record(RECORD))


def test_another_value_and_another_loss_change_the_line() -> None:
    def line(**changes: object) -> manifest.Line:
        record = {**RECORD, "request": {**RECORD["request"], **changes}}  # type: ignore[dict-item]
        return next(
            x for x in manifest.of_record(record) if x[0].endswith("request openai-chat>anthropic")
        )

    _, wire, losses, _ = line()
    assert line(temperature=0.5)[1:3] != (wire, losses)
    assert line(seed=8)[1] == wire
    assert line(seed=None)[2] != losses


def test_differences_name_the_record_and_what_differs(tmp_path: Path) -> None:
    before, after = tmp_path / "before", tmp_path / "after"
    before.write_text("a b\t1\t1\t1\nc d\t1\t1\t1\ne f\t1\t1\t1\n")
    after.write_text("a b\t1\t2\t2\nc d\t1\t1\t1\ng h\t1\t1\t1\n")
    found = manifest.differences(before, after)
    assert found == ["e f: only before", "g h: only after", "a b: losses and notes"]
