"""Every committed cassette goes home to the byte, by way of its golden file."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

import interlingua as il
from tests.cassettes import cases, cassette, golden
from tests.cassettes.cassette import Cassette

TAPES = cassette.committed()
EACH = [
    pytest.param(tape, taped, id=f"{tape.source}-{tape.dialect}-{taped.name}")
    for tape in TAPES
    for taped in tape.exchanges
]


def generated(dialect: str, case: str) -> Cassette:
    return cassette.load(cassette.FOLDER / "generated" / dialect / f"{case}.json")


@pytest.mark.requirement("S002-104")
@pytest.mark.parametrize(("tape", "taped"), EACH)
def test_a_cassette_reads_as_its_golden_file_and_that_is_written_as_the_cassette(
    tape: Cassette, taped: cassette.Taped
) -> None:
    assert golden.problems(tape, taped, golden.load(tape)[taped.name]) == []


@pytest.mark.requirement("S002-104")
@pytest.mark.parametrize("dialect", il.dialects())
def test_every_dialect_has_each_case_whole_and_streamed(dialect: str) -> None:
    names = {
        taped.name
        for tape in TAPES
        for taped in tape.exchanges
        if (tape.source, tape.dialect) == ("generated", dialect)
    }
    wanted = {"text", "tools", "thinking", "image", "error"}
    if dialect == "openai-chat":  # which has no thinking of its own
        wanted.remove("thinking")
    assert names == wanted | {f"{name}.stream" for name in wanted}


@pytest.mark.parametrize("dialect", il.dialects())
def test_the_cases_say_what_their_names_promise(dialect: str) -> None:
    fields = {
        case.name: golden.load(generated(dialect, case.name)) for case in cases.cases(dialect)
    }
    tools = fields["tools"]["tools"]
    assert b'"tool_result"' in tools.request
    assert tools.response.count(b'"type":"tool_use"') == 2
    assert b'"image"' in fields["image"]["image"].request
    assert b'"error":{"kind":' in fields["error"]["error"].response
    assert b'"error":{"kind":' in fields["error"]["error.stream"].response
    if "thinking" in fields:
        is_signed = dialect not in ("ollama", "cohere")
        for each in fields["thinking"].values():
            assert (b'"signature":' in each.request) is is_signed
            assert (b'"signature":' in each.response) is is_signed


@pytest.mark.parametrize("name", ["tools", "tools.stream"])
def test_the_first_difference_is_named(name: str) -> None:
    """The comparison can fail: each part is spoiled in turn, and the place is said."""
    tape = generated("anthropic", "tools")
    (taped,) = [each for each in tape.exchanges if each.name == name]
    good = golden.load(tape)[name]
    for part in ("request", "response", "events"):
        data = getattr(good, part)
        if not data:
            continue
        spoiled = data.replace(b"get_weather", b"get_whether", 1)
        assert spoiled != data
        found = golden.problems(tape, taped, replace(good, **{part: spoiled}))
        assert any(f"read {part}: byte" in problem for problem in found)
        assert any("get_whether" in problem for problem in found)
        # What a stream folds to is looked at, and nothing is written from it.
        is_only_read = part == "response" and name.endswith(".stream")
        assert any("written" in problem for problem in found) is not is_only_read


def test_a_stream_of_others_is_compared_frame_by_frame() -> None:
    """The order of keys is theirs; everything else has to come back."""
    tape = generated("anthropic", "text")
    tape = cassette.Cassette(tape.format, "others", tape.dialect, tape.case, tape.exchanges)
    good = golden.load(generated("anthropic", "text"))["text.stream"]
    taped = tape.exchanges[1]
    assert golden.problems(tape, taped, good) == []
    shorter = msgspec.structs.replace(taped, chunks=(taped.chunks or [])[:-1])
    assert any("6 frames, found 7" in each for each in golden.problems(tape, shorter, good))
    (first, *others) = taped.chunks or []
    assert isinstance(first, str)
    moved = first.replace('{"type":"message_start",', "{").replace(
        "}}}", '}},"type":"message_start"}'
    )
    assert moved != first
    assert not [
        problem
        for problem in golden.problems(
            tape, msgspec.structs.replace(taped, chunks=[moved, *others]), good
        )
        if "written" in problem
    ]
    renamed = first.replace("event: message_start", "event: message_begin")
    found = golden.problems(tape, msgspec.structs.replace(taped, chunks=[renamed, *others]), good)
    assert any("frame 0 is called message_begin" in problem for problem in found)


def test_a_difference_says_the_byte_and_the_pointer() -> None:
    content = golden.first_difference(b'{"a":[1,2]}', b'{"a":[1,3]}')
    assert content is not None
    assert content.startswith("byte 8 (/a/1: 2 / 3): expected ")
    assert golden.first_difference(b"same", b"same") is None
    assert "order of keys" in (golden.first_difference(b'{"a":1,"b":2}', b'{"b":2,"a":1}') or "")
    assert "byte 4" in (golden.first_difference(b"data", b"data: 1") or "")


def test_golden_files_are_il_dumps_and_nothing_else(tmp_path: Path) -> None:
    tape = generated("gemini", "thinking")
    path = golden.save(tape, tmp_path)
    assert path.read_bytes() == (golden.FOLDER / tape.place).read_bytes()
    for each in golden.load(tape, tmp_path).values():
        assert il.dumps(il.loads(each.request, il.Request)) == each.request
        assert il.dumps(il.loads(each.response, il.Response)) == each.response


def test_every_golden_file_has_a_cassette() -> None:
    reviewed = {path.relative_to(golden.FOLDER) for path in golden.FOLDER.rglob("*.json")}
    assert reviewed == {tape.place for tape in TAPES}
