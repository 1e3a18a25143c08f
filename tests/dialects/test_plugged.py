"""A dialect that is a package of its own: the one that `docs/writing-a-dialect.md` builds."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import interlingua as il
from interlingua.adapt.stream_convert import StreamConverter, detect_stream
from interlingua.dialects import probes, registry
from interlingua.errors import DetectError, ReadError

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "writing-a-dialect.md"
FILES = re.compile(r"(?ms)^cat > (toy/\S+) <<'END'\n(.*?)^END$")
REQUEST: dict[str, Any] = {
    "model": "m",
    "talk": [
        {"who": "rules", "says": "Be kind."},
        {"who": "me", "says": "Hi", "mood": "good"},
        {"who": "you", "says": ""},
    ],
    "most_words": 7,
    "stream": None,
    "odd": [1],
}
RESPONSE = {
    **{"model": "m", "answer": {"who": "you", "says": "Ho"}, "why": "done"},
    **{"heard": 3, "said": 2, "odd": True},
}
STREAM = (
    b'data: {"model": "m", "says":"Hel"}\n\ndata: {"says":"lo", "mood":1}\n\n'
    b'data: {"why":"done","heard":3,"said":2}\n\n'
)


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of the page, as whoever pastes them has them."""
    folder = tmp_path_factory.mktemp("plugged")
    found = FILES.findall(PAGE.read_text(encoding="utf-8"))
    assert len(found) == 10
    for name, text in found:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder / "toy"


@pytest.fixture
def toy(package: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[il.Dialect]:
    monkeypatch.syspath_prepend(str(package))
    yield il.dialect("toy")
    for name in [each for each in sys.modules if each.startswith("toy_dialect")]:
        del sys.modules[name]
    registry._load.cache_clear()


def test_it_is_a_dialect_like_ours(toy: il.Dialect) -> None:
    assert il.dialects()[-1] == "toy"
    assert str(il.detect(REQUEST)) == "toy request (a talk)"
    assert il.detect(RESPONSE).kind == "response"
    assert il.detect({"oops": "no"}).dialect == "toy"


def test_what_it_reads_goes_home(toy: il.Dialect) -> None:
    assert toy.write_request(toy.read_request(REQUEST)).wire == REQUEST
    assert toy.write_response(toy.read_response(RESPONSE)).wire == RESPONSE
    error = {"oops": "too loud", "volume": 11}
    assert toy.write_response(toy.read_response(error)).wire == error


def test_a_change_is_said(toy: il.Dialect) -> None:
    request = toy.read_request(REQUEST)
    changed = request.replace(options=request.options.replace(max_output_tokens=8, stream=True))
    assert toy.write_request(changed).wire == REQUEST | {"most_words": 8, "stream": True}


def test_wrong_shapes_are_named_with_their_place(toy: il.Dialect) -> None:
    with pytest.raises(ReadError, match=r"\$\.talk\[1\]\.says"):
        toy.read_request({"talk": [{"who": "me", "says": "x"}, {"who": "me", "says": 1}]})
    with pytest.raises(ReadError, match=r"\$\.answer\.who"):
        toy.read_response({"answer": {"who": "me", "says": "x"}})


@pytest.mark.parametrize("other", il.dialects())
def test_it_translates_to_and_from_all_others(other: str, toy: il.Dialect) -> None:
    there = il.convert(REQUEST, source="toy", target=other, kind="request", model="m")
    assert {loss.path for loss in there.report.entries} >= {"$.raw.toy.odd"}
    back = il.convert(there.wire, source=other, target="toy", kind="request", model="m")
    says = [(turn["who"], turn["says"]) for turn in back.wire["talk"] if turn["says"]]
    assert says == [("rules", "Be kind."), ("me", "Hi")]
    answer = il.convert(RESPONSE, source="toy", target=other, kind="response")
    again = il.convert(answer.wire, source=other, target="toy", kind="response").wire
    assert again["answer"] == RESPONSE["answer"]
    assert (again["why"], again["heard"], again["said"]) == ("done", 3, 2)


@pytest.mark.parametrize("other", [*il.dialects(), "toy"])
def test_its_streams_are_told_and_translated(other: str, toy: il.Dialect) -> None:
    assert detect_stream(STREAM) == "toy"
    there = StreamConverter("toy", other)
    emitted = there.feed(STREAM) + there.close()
    assert (emitted == STREAM) == (other == "toy")
    back = StreamConverter(other, "toy")
    frames = (back.feed(emitted) + back.close()).split(b"\n\n")[:-1]
    parsed = [json.loads(frame.removeprefix(b"data: ")) for frame in frames]
    assert "".join(each.get("says", "") for each in parsed) == "Hello"
    assert {"why": "done", "heard": 3, "said": 2}.items() <= parsed[-1].items()


def test_a_stream_that_breaks_off_is_an_error(toy: il.Dialect) -> None:
    converter = StreamConverter("toy", "anthropic")
    emitted = converter.feed(STREAM[:40]) + converter.close()
    assert b"message_stop" not in emitted
    assert b'"error"' in emitted


def test_tools_and_pictures_are_told_as_lost(toy: il.Dialect) -> None:
    picture = il.ImageBlock(il.Source("base64", "AAAA"), "image/png")
    tool = il.ToolDefinition("f", "", {"type": "object"})
    request = il.Request((il.Message.user(["Look.", picture]),), "m", (tool,))
    written = toy.write_request(request)
    assert written.wire["talk"] == [{"who": "me", "says": "Look."}]
    assert [loss.path for loss in written.report.entries] == [
        "$.messages[0].content[1]",
        "$.tools[0]",
    ]


def test_it_has_a_page_and_a_place_in_the_matrix(toy: il.Dialect) -> None:
    assert "# The toy API (`toy`)" in probes.page(toy)
    matrix = probes.matrix()
    assert "## From `toy`" in matrix
    others = [name for name in il.dialects() if name not in ("openai-chat", "toy")]
    assert f"| feature | {' | '.join(others)} | toy |" in matrix


def test_a_broken_one_is_named_and_breaks_nothing(
    tmp_path: Path, package: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    points = {"broken": "toy_dialect:NOT_THERE", "other": "toy_dialect:DIALECT", "gone": "no_such"}
    about = tmp_path / "broken-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: broken\nVersion: 1.0\n")
    lines = [f"{name} = {value}" for name, value in points.items()]
    (about / "entry_points.txt").write_text("\n".join(["[interlingua.dialects]", *lines]))
    monkeypatch.syspath_prepend(str(package))
    monkeypatch.syspath_prepend(str(tmp_path))
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        assert il.dialects()[-1] == "toy"
        assert il.detect(REQUEST).dialect == "toy"
    result = sorted(str(each.message) for each in found)
    assert len(result) == 3
    assert "dialect 'broken' cannot be loaded" in result[0]
    assert "dialect 'gone' cannot be loaded: No module named 'no_such'" in result[1]
    assert "dialect 'other' cannot be loaded: toy_dialect:DIALECT is not a dialect" in result[2]
    with pytest.raises(DetectError, match="unknown dialect 'broken'"):
        il.dialect("broken")
    registry._load.cache_clear()


def test_one_whose_signs_fail_is_named_and_breaks_nothing(
    toy: il.Dialect, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(toy.signs.BODIES, "request", lambda data: data["nothing"])
    chat = {"model": "m", "messages": [{"role": "user", "content": "hi"}], "n": 1}
    with pytest.warns(UserWarning, match="dialect 'toy' failed to detect a body: 'nothing'"):
        assert il.detect(chat).dialect == "openai-chat"


SERVED = """
import json, sys, urllib.request
from tests.gateway.sdks.standing import standing
from tests.gateway.sdks.provider import ANSWER, Upstream, settings, targets

asked = {"model": sys.argv[1], "talk": [{"who": "me", "says": "Hello"}]}
with Upstream() as upstream, standing(settings(), targets(upstream.url)) as here:
    url = here if isinstance(here, str) else here.url
    def ask(body):
        sent = urllib.request.Request(url + "/toy/talk", json.dumps(body).encode())
        sent.add_header("authorization", "Bearer x")
        with urllib.request.urlopen(sent, timeout=30) as answer:
            return answer.headers["content-type"], answer.read()
    kind, body = ask(asked)
    assert json.loads(body)["answer"] == {"who": "you", "says": ANSWER}, body
    kind, body = ask({**asked, "stream": True})
    assert kind.startswith("text/event-stream"), kind
    pieces = [json.loads(line[6:]) for line in body.split(b"\\n") if line.startswith(b"data: ")]
    assert "".join(each.get("says", "") for each in pieces) == ANSWER, body
    assert pieces[-1]["why"] == "done", body
print("served")
"""


@pytest.mark.parametrize("model", ["openai:gpt-4o", "anthropic:claude-sonnet-4-5"])
def test_a_gateway_serves_it(model: str, package: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", SERVED, model],
        env={"PYTHONPATH": f"{package}:{ROOT}", "PATH": "/usr/bin:/bin", "HOME": str(package)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.stdout.strip() == "served", done.stderr[-3000:]
