"""MCP servers as a source of tools, with real servers in processes of their own."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

import interlingua as il
from interlingua.errors import MissingExtraError
from interlingua.tools.dispatch import Dispatcher, Timeouts
from interlingua.tools.handlers import McpError
from interlingua.tools.mcp import McpServer, McpServers, Offer
from interlingua.tools.mcp_link import Link
from interlingua.tools.mcp_schema import definition_of
from interlingua.tools.registry import ToolRegistry
from tests.tools.mcp_offers import in_object

pytest.importorskip("mcp", reason="needs the extra mcp")

SERVER = str(Path(__file__).parent / "mcp_server.py")
PLAIN = str(Path(__file__).parent / "mcp_plain.py")
"""Starts in a fiftieth of the time, and has the few tools of a test about its process."""


def local(name: str = "test", **more: Any) -> McpServer:
    return McpServer(name=name, command=sys.executable, args=(SERVER, "stdio"), **more)


def plain(name: str = "test", **more: Any) -> McpServer:
    return McpServer(name=name, command=sys.executable, args=("-IS", PLAIN), **more)


@contextmanager
def serving(port: int = 0) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """A server on loopback and its port."""
    command = [sys.executable, SERVER, "http", str(port)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield process, int(process.stdout.readline())
        finally:
            process.kill()


def until(true: Callable[[], Any], seconds: float = 60) -> Any:
    deadline = time.monotonic() + seconds
    while not (value := true()):
        assert time.monotonic() < deadline, "it did not come to be"
        time.sleep(0.02)
    return value


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


class Tools:
    """A registry and what it takes to call its tools."""

    def __init__(self) -> None:
        self.registry = ToolRegistry()
        self.dispatcher = Dispatcher(self.registry, confirm=lambda question: True)

    def call(self, name: str, **input: Any) -> il.ToolResultBlock:
        [result] = self.dispatcher.run_sync([il.ToolUseBlock("a", name, input)])
        return result

    def text(self, name: str, **input: Any) -> str:
        result = self.call(name, **input)
        return "".join(b.text for b in result.content if isinstance(b, il.TextBlock))


@pytest.fixture(scope="module")
def stdio() -> Iterator[tuple[Tools, McpServers]]:
    tools = Tools()
    with McpServers([local()], tools.registry) as servers:
        yield tools, servers


@pytest.fixture(scope="module")
def http() -> Iterator[tuple[Tools, McpServers]]:
    tools = Tools()
    with serving() as (_, port):
        server = McpServer(name="test", url=f"http://127.0.0.1:{port}/mcp")
        with McpServers([server], tools.registry) as servers:
            yield tools, servers


@pytest.fixture(params=["stdio", "http"])
def connected(request: pytest.FixtureRequest) -> tuple[Tools, McpServers]:
    found: tuple[Tools, McpServers] = request.getfixturevalue(request.param)
    return found


def test_the_tools_of_a_server_are_registered(connected: tuple[Tools, McpServers]) -> None:
    tools, servers = connected
    [status] = servers.status()
    assert (status.state, status.problem, status.refused) == ("up", None, {})
    assert status.tools["who_am_i"] == "Who-Am.I"
    assert set(status.tools) == set(tools.registry.names())
    assert {"echo", "add", "where", "everything", "fails", "wait"} <= set(status.tools)
    echo = tools.registry.get("echo")
    assert echo is not None
    assert (echo.description, echo.requires_workspace) == ("Says it again.", False)


def test_references_and_choices_of_a_schema_are_written_out(
    connected: tuple[Tools, McpServers],
) -> None:
    where = connected[0].registry.get("where")
    assert where is not None
    assert where.input_schema is not None
    place = where.input_schema["properties"]["place"]
    assert place["properties"]["country"]["type"] == ["string", "null"]
    assert "$defs" not in where.input_schema


@pytest.mark.requirement("S002-46")
def test_tools_that_only_read_run_and_others_ask(
    stdio: tuple[Tools, McpServers], http: tuple[Tools, McpServers]
) -> None:
    for (tools, _), other in ((stdio, "execute"), (http, "network")):
        effects = {tool.name: tool.side_effects for tool in tools.registry}
        assert (effects["echo"], effects["where"], effects["add"]) == ("read", "read", other)
        careful = Dispatcher(tools.registry)
        read, refused = careful.run_sync(
            [
                il.ToolUseBlock("a", "echo", {"text": "hi"}),
                il.ToolUseBlock("b", "add", {"a": 1}),
            ]
        )
        assert (read.is_error, refused.is_error) == (False, True)


def test_answers_become_blocks(connected: tuple[Tools, McpServers]) -> None:
    tools, _ = connected
    data = il.Source("base64", "ZGF0YQ==")
    assert tools.call("echo", text="grüß dich") == il.ToolResultBlock(
        "a", (il.TextBlock("grüß dich"),), tool_name="echo"
    )
    assert tools.call("everything").content == (
        il.TextBlock("words"),
        il.ImageBlock(data, "image/png"),
        il.AudioBlock(data, "audio/wav"),
        il.TextBlock("[image left out: not valid base64]"),
        il.TextBlock("file:///a.txt:\nbody"),
        il.DocumentBlock(data, "application/pdf", "b.pdf"),
        il.ImageBlock(data, "image/png", "c.png"),
        il.TextBlock("[more](https://example.com/more)"),
    )
    assert tools.text("add", a=1) == "3"
    assert tools.text("structured") == '{"n":1}'


def test_errors_of_a_server_are_error_results(connected: tuple[Tools, McpServers]) -> None:
    tools, _ = connected
    failed = tools.call("fails")
    assert failed.is_error
    assert "it did not work" in str(failed)
    invalid = tools.call("add", a="one")
    assert invalid.is_error
    assert "$.a" in str(invalid)


def test_calls_run_side_by_side_and_are_stopped_in_time(
    connected: tuple[Tools, McpServers],
) -> None:
    tools, _ = connected
    calls = [il.ToolUseBlock(str(n), "wait", {"seconds": 0.5}) for n in range(8)]
    start = time.monotonic()
    results = tools.dispatcher.run_sync(calls)
    assert [result.is_error for result in results] == [False] * 8
    assert time.monotonic() - start < 3.9
    hasty = Dispatcher(tools.registry, confirm=lambda question: True, timeouts=Timeouts(slow=0.2))
    [late] = hasty.run_sync([il.ToolUseBlock("a", "wait", {"seconds": 30})])
    assert late.is_error
    assert "0.2 s" in str(late)
    assert tools.text("echo", text="still there") == "still there"


def test_tools_can_be_called_from_any_loop(stdio: tuple[Tools, McpServers]) -> None:
    tools, _ = stdio

    async def run() -> il.ToolResultBlock:
        [result] = await tools.dispatcher.run([il.ToolUseBlock("a", "echo", {"text": "x"})])
        return result

    assert [asyncio.run(run()).is_error for _ in range(2)] == [False, False]


def test_async_programs_connect_and_close_without_leaving_a_process() -> None:
    tools = Tools()

    async def program() -> int:
        async with McpServers([plain()], tools.registry):
            [result] = await tools.dispatcher.run([il.ToolUseBlock("a", "who_am_i", {})])
            assert isinstance(result.content[0], il.TextBlock)
            pid = int(result.content[0].text)
            assert is_alive(pid)
            remaining.append(tools.registry.find("echo"))
        assert len(tools.registry) == 0
        return pid

    remaining: list[Any] = []
    pid = asyncio.run(program())
    until(lambda: not is_alive(pid))
    tools.registry.register(remaining[0].tool, remaining[0].handler)
    assert "connection is closed" in tools.text("echo", text="x")


def test_a_server_that_dies_is_started_again() -> None:
    tools = Tools()
    with McpServers([plain()], tools.registry) as servers:
        first = int(tools.text("who_am_i"))
        os.kill(first, signal.SIGKILL)
        until(lambda: servers.status()[0].state == "down")
        assert "who_am_i" in tools.registry
        second = int(tools.text("who_am_i"))  # waits for it
        assert second != first
        assert servers.status()[0].state == "up"
        lost = tools.call("die")
        assert lost.is_error
        assert "the tool may or may not have run" in str(lost)
        until(lambda: servers.status()[0].state == "down")
        third = int(tools.text("who_am_i"))
        assert third not in (first, second)
    until(lambda: not is_alive(third))


def test_an_http_server_that_comes_back_is_found_again() -> None:
    tools = Tools()
    with serving() as (process, port):
        servers = McpServers(
            [McpServer(name="test", url=f"http://127.0.0.1:{port}/mcp")], tools.registry
        )
        servers.start()
        first = tools.text("who_am_i")
        process.kill()
    try:
        until(lambda: servers.status()[0].state == "down")
        with serving(port):
            until(lambda: servers.status()[0].state == "up")
            assert tools.text("who_am_i") != first
    finally:
        servers.close()


@pytest.mark.parametrize("kind", ["stdio", "http"])
def test_a_changed_list_of_tools_is_followed(kind: str) -> None:
    tools = Tools()
    changes: list[int] = []
    with ExitStack() as stack:
        server = local()
        if kind == "http":
            _, port = stack.enter_context(serving())
            server = McpServer(name="test", url=f"http://127.0.0.1:{port}/mcp")
        servers = McpServers([server], tools.registry, on_change=lambda: changes.append(1))
        stack.enter_context(servers)
        before = len(changes)
        time.sleep(0.5)  # until it listens
        assert tools.text("grow") == "done"
        until(lambda: "grown" in tools.registry and "add" not in tools.registry)
        until(lambda: len(changes) > before)
        assert tools.text("grown") == "grown"


def test_names_that_are_taken_get_the_server_s_name_before_them() -> None:
    tools = Tools()
    own = il.ToolDefinition("echo", "Ours.", {"type": "object"}, il.SideEffects.NONE, False)
    tools.registry.register(own, lambda input: "ours")
    both = [plain("one"), plain("two", prefix=True)]
    with McpServers(both, tools.registry) as servers:
        one, two = servers.status()
        assert one.tools["one__echo"] == "echo"
        assert one.tools["add"] == "add"
        assert two.tools["two__add"] == "add"
        assert tools.text("one__echo", text="theirs") == "theirs"
    assert tools.registry.names() == ["echo"]


@pytest.mark.parametrize(
    "server",
    [
        McpServer(name="test", command="there-is-no-such-command-here"),
        McpServer(name="test", command=sys.executable, args=("-c", "print('no json')")),
        McpServer(name="test", url="http://127.0.0.1:9/mcp"),
    ],
    ids=["no command", "no server", "no port"],
)
def test_a_server_that_cannot_be_reached_is_told_and_stops_nobody(server: McpServer) -> None:
    tools = Tools()
    start = time.monotonic()
    with McpServers([server], tools.registry) as servers:
        [status] = servers.status()
        assert status.state in ("down", "starting")
        until(lambda: servers.status()[0].problem)
    assert time.monotonic() - start < 20
    assert servers.status()[0].state == "closed"


def test_a_server_that_never_answers_is_given_up_and_ended(tmp_path: Path) -> None:
    pid_file = tmp_path / "pid"
    code = f"import os,time;open({str(pid_file)!r},'w').write(str(os.getpid()));time.sleep(60)"
    server = McpServer(name="test", command=sys.executable, args=("-c", code), connect_timeout=1.0)
    start = time.monotonic()
    with McpServers([server], ToolRegistry()) as servers:
        assert servers.status()[0].problem
        assert time.monotonic() - start < 15
    pid = int(pid_file.read_text())
    until(lambda: not is_alive(pid))


def test_giving_up_while_it_connects_leaves_no_process(tmp_path: Path) -> None:
    pid_file = tmp_path / "pid"
    code = f"import os,time;open({str(pid_file)!r},'w').write(str(os.getpid()));time.sleep(60)"
    server = McpServer(name="test", command=sys.executable, args=("-c", code))

    async def program() -> None:
        async def connect() -> None:
            async with McpServers([server], ToolRegistry()):
                raise AssertionError("it never answers")

        task = asyncio.create_task(connect())
        while not (pid_file.exists() and pid_file.read_text()):
            await asyncio.sleep(0.05)
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task

    asyncio.run(program())
    pid = int(pid_file.read_text())
    until(lambda: not is_alive(pid))


def test_a_call_is_refused_while_the_server_stays_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("interlingua.tools.mcp_link.CALL_WAIT", 0.2)
    monkeypatch.setattr("interlingua.tools.mcp_link.FIRST_WAIT", 30)
    tools = Tools()
    with McpServers([plain()], tools.registry) as servers:
        os.kill(int(tools.text("who_am_i")), signal.SIGKILL)
        until(lambda: servers.status()[0].state == "down")
        assert "not connected (the connection was lost)" in tools.text("echo", text="x")


def test_a_server_ends_when_we_are_killed() -> None:
    code = f"""
import sys, time
import interlingua as il
from interlingua.tools.dispatch import Dispatcher
from interlingua.tools.mcp import McpServer, McpServers
registry = il.ToolRegistry()
server = McpServer(name="test", command=sys.executable, args=("-IS", {PLAIN!r}))
McpServers([server], registry).start()
call = il.ToolUseBlock("a", "who_am_i", {{}})
[result] = Dispatcher(registry, confirm=lambda question: True).run_sync([call])
print(result.content[0].text, flush=True)
time.sleep(60)
"""
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as ours:
        assert ours.stdout is not None
        pid = int(ours.stdout.readline())
        assert is_alive(pid)
        ours.kill()
    until(lambda: not is_alive(pid))


def test_two_servers_of_one_name_are_refused() -> None:
    with pytest.raises(McpError, match="duplicate server name"):
        McpServers([plain(), plain()], ToolRegistry())


def test_without_the_extra_the_error_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mcp", None)
    with pytest.raises(MissingExtraError, match=r"interlingua\[mcp\]"):
        McpServers([], ToolRegistry()).start()


def test_a_started_server_does_not_get_our_secrets_and_its_words_stay_out_of_logs(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    caplog.set_level(logging.DEBUG)
    monkeypatch.setenv("SOME_API_KEY", "canary-of-ours")
    code = (
        "import os, sys; sys.stderr.write(repr(dict(os.environ)));"
        "print('{\"canary-of-theirs\": 1}', flush=True)"
    )
    log = tmp_path / "log"
    env = {"TOKEN": "canary-for-them"}
    server = McpServer(
        name="test", command=sys.executable, args=("-c", code), env=env, log=str(log)
    )
    with McpServers([server], ToolRegistry()) as servers:
        until(lambda: servers.status()[0].problem)
    assert "canary-for-them" in log.read_text()
    assert "canary-of-ours" not in log.read_text()
    seen = f"{server!r} {servers.status()} {caplog.text} {[vars(r) for r in caplog.records]}"
    assert "canary" not in seen.replace(code, "")


def a_link(*tools: Any) -> Link:
    link = Link(McpServer(name="srv", command="x"), lambda link: None)
    link.tools, link.state = list(tools), "up"
    return link


def their_tool(name: str, schema: Any = None, **more: Any) -> Any:
    types = pytest.importorskip("mcp_types", reason="needs the extra mcp")
    return types.Tool(name=name, input_schema=schema or {"type": "object"}, **more)


async def nobody(link: Link, name: str, input: Any) -> str:
    return f"{link.server.name} {name} {input}"


def test_tools_that_would_have_one_name_get_two() -> None:
    registry = ToolRegistry()
    offer = Offer(a_link(their_tool("a-b"), their_tool("a.b"), their_tool("a_b")), nobody)
    assert offer.register(registry)
    tools = offer.status().tools
    assert sorted(tools.values()) == ["a-b", "a.b", "a_b"]
    assert list(tools)[:2] == ["a_b", "srv__a_b"]
    assert registry.names() == list(tools)
    assert not offer.register(registry)
    results = Dispatcher(registry, confirm=lambda question: True).run_sync(
        [il.ToolUseBlock(name, name, {}) for name in tools]
    )
    items = [block.text for r in results for block in r.content if isinstance(block, il.TextBlock)]
    assert items == [f"srv {theirs} {{}}" for theirs in tools.values()]


def test_tools_that_cannot_be_registered_are_listed_with_the_reason() -> None:
    registry = ToolRegistry()
    adapted = their_tool("loose", in_object({"not": {"type": "string"}}))
    offer = Offer(a_link(their_tool("bad", {"type": "array"}), adapted), nobody)
    offer.register(registry)
    status = offer.status()
    assert registry.names() == ["loose"]
    assert list(status.refused) == ["bad"]
    assert "outermost" in status.refused["bad"]
    assert status.adapted["loose"][0].startswith("$.properties.x.not")


def test_a_server_s_tools_follow_what_it_offers_and_keep_their_names() -> None:
    registry = ToolRegistry()
    link = a_link(their_tool("one"), their_tool("two"))
    offer = Offer(link, nobody)
    offer.register(registry)
    link.tools = [their_tool("two", description="New."), their_tool("three")]
    assert offer.register(registry)
    assert registry.names() == ["two", "three"]
    changed = registry.get("two")
    assert changed is not None
    assert changed.description == "New."
    offer.withdraw(registry)
    assert registry.names() == []


@pytest.mark.requirement("S002-46")
def test_a_server_s_claim_to_only_read_is_believed_or_not() -> None:
    types = pytest.importorskip("mcp_types", reason="needs the extra mcp")
    hint = their_tool("t", annotations=types.ToolAnnotations(read_only_hint=True))
    items = [
        definition_of(hint, "t", local=True, trust_hints=trust)[0].side_effects
        for trust in (True, False)
    ]
    assert items == ["read", "execute"]
    assert definition_of(their_tool("t"), "t", local=False, trust_hints=True)[0].side_effects == (
        "network"
    )


def test_naming_tools_takes_time_in_proportion() -> None:
    """A server may offer tens of thousands."""

    def took(count: int) -> float:
        offer, registry = Offer(a_link(), nobody), ToolRegistry()
        began = time.process_time()
        names = {offer._name(f"tool-{number}", registry, set()) for number in range(count)}
        assert len(names) == count
        return time.process_time() - began

    took(100)
    short, long = min(took(500) for _ in range(3)), took(4000)
    assert long < 8 * short * 3 + 0.05, (short, long)
