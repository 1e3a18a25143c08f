"""What a terminal gets to see, and what a pipe does."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import unicodedata
from io import StringIO
from pathlib import Path

import pytest

from interlingua.cli import terminal
from interlingua.model.message import Message
from interlingua.store.base import Store
from tests.cli.running import SOURCE, ok, on_terminal, process
from tests.cli.test_cost import STRANGE, add, answer
from tests.cli.test_sessions import EVIL, talk

pytest.importorskip("pty", reason="pseudo-terminals need Unix")

COLOUR = re.compile(r"\x1b\[[0-9;]*m")
BLOCKS = set("█▉▊▋▌▍▎▏")


def plain(text: str) -> str:
    return COLOUR.sub("", text)


def cells(line: str) -> int:
    return sum(2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in line)


def test_colours_and_bars_are_for_terminals_alone(store: Store) -> None:
    add(store, answer("a:cheap", "1"), answer("b:dear", "4"), answer(STRANGE))
    code, seen = on_terminal("cost")
    assert code == 0
    assert COLOUR.search(seen)
    bars = {
        line.split()[0]: sum(char in BLOCKS for char in line)
        for line in plain(seen).splitlines()
        if line
    }
    assert bars["b:dear"] > bars["a:cheap"] > 0 == bars[STRANGE] == bars["total"]
    piped = process("cost").stdout.decode()
    assert "\x1b" not in piped
    assert not set(piped) & BLOCKS
    assert "b:dear" in piped


def test_bars_give_way_to_the_names_of_models(store: Store) -> None:
    long = "gemini:gemini-3.1-pro-preview-customtools"
    add(store, answer(long, "1"), answer("a:cheap", "1"))
    _, seen = on_terminal("cost", columns=70)
    assert long in plain(seen)
    assert not set(seen) & BLOCKS


def test_no_color_is_respected(store: Store) -> None:
    add(store, answer(cost="1"))
    _, seen = on_terminal("cost", NO_COLOR="1")
    assert not re.search(r"\x1b\[[0-9;]*3[0-9]", seen)


@pytest.mark.parametrize("columns", [30, 50, 80, 120])
def test_no_line_is_wider_than_the_terminal(store: Store, columns: int) -> None:
    id = talk(store, "text " * 100, name="a long name " * 10)
    add(store, answer("provider:" + "long-model-name-" * 5, "0.123456789"))
    every = ["models", "--all"]
    for arguments in (["sessions", "list"], ["cost"], every, ["sessions", "search", "text"]):
        code, seen = on_terminal(*arguments, columns=columns, talk=False)
        assert code == 0
        assert max(map(cells, plain(seen).splitlines())) <= columns, arguments
        if arguments == every:
            assert "$3.00" in seen
    if columns >= 80:
        assert id in on_terminal("sessions", "list", columns=columns)[1]


@pytest.mark.parametrize("columns", [60, 80])
def test_losses_and_errors_are_broken_between_words(tmp_path: Path, columns: int) -> None:
    file = tmp_path / "r.json"
    messages = [{"role": "user", "content": "hi"}]
    file.write_text(json.dumps({"model": "gpt-5", "seed": 7, "messages": messages}))
    code, seen = on_terminal("convert", file, "--to", "claude", "--compact", columns=columns)
    lines = plain(seen).replace("\x1b[K", "").splitlines()
    at = next(n for n, line in enumerate(lines) if line.startswith("anthropic: "))
    assert code == 0
    assert max(len(line) for line in lines[at:] if " " in line.strip()) <= columns
    words = " ".join(" ".join(lines[at:]).split())
    assert "'gpt-5' belongs to OpenAI, and Anthropic does not serve it; use -m, such as" in words
    code, seen = on_terminal("convert", tmp_path / "r.json", "--to", "x", columns=columns)
    assert "choose one of" in " ".join(seen.split())


def test_formats_are_shown_for_people(tmp_path: Path) -> None:
    code, seen = on_terminal("dialects", "--matrix", columns=60)
    assert code == 0
    assert "…" not in seen
    assert re.search(r"1 openai-chat +\d\d +\d\d ", plain(seen))
    page = plain(on_terminal("dialects", "anthropic", columns=80)[1])
    assert "```" not in page
    assert "\n#" not in page
    assert process("dialects", "anthropic").stdout.startswith(b"# Anthropic Messages")


def test_no_content_acts_on_the_terminal(store: Store) -> None:
    id = talk(store, f"word {EVIL}", name=EVIL)
    store.append(store.create_session("/w").id, [answer(f"evil:{EVIL}", "1")], check=False)
    for arguments in (
        ["sessions", "list"],
        ["sessions", "show", id],
        ["sessions", "show", id, "--raw"],
        ["sessions", "show", id, "--json"],
        ["sessions", "list", "--json"],
        ["sessions", "export", id, "--to", "markdown"],
        ["export", "--to", "canonical"],
        ["export"],
        ["cost"],
        ["cost", "--json"],
    ):
        _, seen = on_terminal(*arguments, columns=250)
        assert "alert" in seen, arguments
        assert not set(plain(seen)) & set("\x1b\x9b\u202e\x07"), arguments


def test_json_on_a_terminal_is_the_same_json(store: Store) -> None:
    talk(store, EVIL, name=f"{EVIL} \U000e0001")
    code, seen = on_terminal("sessions", "list", "--json", columns=200)
    assert code == 0
    assert json.loads(seen) == json.loads(ok("sessions", "list", "--json"))


class Screen(StringIO):
    def isatty(self) -> bool:
        return True


def test_progress_shows_rows_rate_and_time_left_after_a_second(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = iter([0.0, 0.5, 2.0, 2.05, 4.0])
    monkeypatch.setattr(terminal.time, "monotonic", lambda: next(clock))
    monkeypatch.setattr(sys, "stderr", screen := Screen())
    with terminal.progress("converting", 1000, unit="rows") as done:
        for _ in range(4):
            done(100, 2_000)
    shown = [line.removesuffix("\x1b[K") for line in screen.getvalue().split("\r") if line]
    assert shown == [
        "converting: 20%, 4,000 rows, 2,000/s, 8 s left",
        "converting: 40%, 8,000 rows, 2,000/s, 6 s left",
        "",
    ]


def test_progress_is_silent_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", elsewhere := StringIO())
    monkeypatch.setattr(terminal, "FIRST_SHOWN", 0.0)
    with terminal.progress("converting", 1000) as done:
        done(100)
    assert not elsewhere.getvalue()


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.4, "0 s"), (59.4, "59 s"), (185, "3 min 05 s"), (7800, "2 h 10 min")]
)
def test_durations_are_short(seconds: float, text: str) -> None:
    assert terminal.duration(seconds) == text


def test_a_reader_that_leaves_early_is_no_crash(store: Store) -> None:
    talk(store, *["x" * 1000 for _ in range(500)])
    command = f"{sys.executable} -m interlingua export | head -c 10"
    environment = {**os.environ, "PYTHONPATH": str(SOURCE)}
    done = subprocess.run(command, shell=True, capture_output=True, env=environment, check=False)
    assert len(done.stdout) == 10
    assert b"Traceback" not in done.stderr


def test_wide_letters_keep_columns_in_line(store: Store) -> None:
    talk(store, "x", name="日本語")
    talk(store, "x", name="abc")
    lines = ok("sessions", "list").splitlines()
    ends = {cells(line[: line.index(" 1 ")]) for line in lines[1:]}
    assert len(ends) == 1


def test_without_rich_the_extra_is_named(store: Store) -> None:
    store.append(store.create_session("/w").id, [Message.user("x")])
    program = (
        "import sys; sys.modules['rich'] = None; sys.modules['rich.console'] = None;"
        "sys.stdout.isatty = lambda: True; sys.argv = ['interlingua', 'sessions', 'list'];"
        "from interlingua.cli.main import main; main()"
    )
    environment = {**os.environ, "PYTHONPATH": str(SOURCE)}
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, env=environment, check=False
    )
    assert done.returncode == 1
    assert b"interlingua[cli]" in done.stderr


@pytest.mark.parametrize("name", ["convert", "dialects", "inspect"])
def test_commands_load_nothing_that_they_do_not_need(name: str) -> None:
    program = (
        f"import sys; from interlingua.cli.main import module_of; module_of({name!r});"
        "print(*[each for each in sys.modules if each.split('.')[0] in"
        " ('rich', 'apsw', 'sqlite3', 'decimal') or each.startswith(('interlingua.store',"
        " 'interlingua.costs', 'interlingua.routing'))])"
    )
    environment = {**os.environ, "PYTHONPATH": str(SOURCE)}
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, env=environment, check=True
    )
    loaded = set(done.stdout.decode().split()) - {"decimal"}  # the model has amounts
    assert not loaded


@pytest.mark.parametrize("way", ["request", "stream", "lines", "inspect"])
def test_what_is_converted_does_not_act_on_the_terminal(tmp_path: Path, way: str) -> None:
    """C1 controls and marks of direction are printable for JSON, and not for a terminal."""
    words = "a\x9b31mb\x9d0;c\u202ed\x1b[2J"
    file = tmp_path / "said.json"
    wire: dict[str, object] = {"model": "m", "messages": [{"role": "user", "content": words}]}
    how = ["convert", file, "--from", "openai-chat", "--to", "anthropic"]
    if way == "stream":
        choice = {"index": 0, "delta": {"content": words}, "finish_reason": "stop"}
        wire = {"id": "c", "object": "chat.completion.chunk", "choices": [choice]}
        how += ["--kind", "stream"]
    elif way == "lines":
        how += ["--lines", "--jobs", "1"]
    elif way == "inspect":
        how = ["inspect", file]
    data = json.dumps(wire, ensure_ascii=False)
    file.write_text(f"data: {data}\n\ndata: [DONE]\n\n" if way == "stream" else data + "\n")
    code, seen = on_terminal(*how, talk=False)
    assert code == 0, seen
    assert "31mb" in seen
    assert not {"\x9b", "\x9d", "\u202e"} & set(seen)
    assert "\x1b[2J" not in seen
    if way != "inspect":
        piped = process(*how).stdout.decode()
        assert "\x9b31mb" in piped, "a pipe gets it as it is"
