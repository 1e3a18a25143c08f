"""`interlingua chat`: talk to a model, once or for as long as you like."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click
import msgspec

from interlingua import config
from interlingua.agents.chat.chat import AsyncChat
from interlingua.agents.chat.setup import DialectByModel, Setup
from interlingua.cli.options import gateway_file, store_option
from interlingua.cli.stores import find_session, opened
from interlingua.errors import InterlinguaError, ReadError, found
from interlingua.model.exchange import Options
from interlingua.model.message import Message, Role
from interlingua.sessions.core import ROUTE_NAME
from interlingua.sessions.holding import is_under_way
from interlingua.sessions.session import AsyncSession, AsyncTurn
from interlingua.store.base import AsyncStore
from interlingua.store.open import open_async_store
from interlingua.store.rows import SessionRow

if TYPE_CHECKING:
    from interlingua.agents.chat.chat import ChatEvent
    from interlingua.cli.chat_loop import Question
    from interlingua.client.client import AsyncClient
    from interlingua.client.structured import Shape
    from interlingua.gateway.settings import Settings
    from interlingua.tools.confirm import Confirm
    from interlingua.tools.dispatch import Dispatcher
    from interlingua.tools.mcp import McpServers
    from interlingua.tools.registry import ToolRegistry


MOST_PIPED = 20 * 1024 * 1024
STOPPED = 130


@click.command("chat", help="Chat with a model; with a question, answer it and exit.")
@click.argument("words", nargs=-1, metavar="[QUESTION]")
@click.option("--model", "-m", metavar="MODEL", help="An alias or <provider>:<name>.")
@click.option("--dialect", metavar="DIALECT", help="Use another dialect of the model's provider.")
@click.option("--system", "-s", metavar="TEXT", help="Instructions for the model.")
@click.option(
    "--attach", "-a", "files", multiple=True, metavar="PATH", help="Attach a file; repeatable."
)
@click.option(
    "--schema",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="A JSON Schema that the answer has to match.",
)
@click.option("--max-tokens", type=click.IntRange(1), help="Maximum number of tokens in an answer.")
@click.option(
    "--temperature",
    type=click.FloatRange(0),
    help="Sampling temperature; 0 for the most likely words.",
)
@click.option(
    "--tools", is_flag=True, help="Give the model the files of this folder and your MCP servers."
)
@click.option("--continue", "-c", "last", is_flag=True, help="Continue the last session.")
@click.option(
    "--resume", "-r", metavar="ID", help="Continue a session: its id, the start of it, or its name."
)
@click.option("--no-store", is_flag=True, help="Do not store the conversation.")
@store_option
@click.option("--json", "as_json", is_flag=True, help="Print the answer as a canonical message.")
@click.option(
    "--dry-run", is_flag=True, help="Print the request without sending or storing anything."
)
@click.option("--hide-thinking", is_flag=True, help="Do not show the model's thinking.")
def command(
    words: tuple[str, ...],
    files: tuple[str, ...],
    last: bool,
    resume: str | None,
    no_store: bool,
    as_json: bool,
    dry_run: bool,
    hide_thinking: bool,
    **options: Any,
) -> None:
    from interlingua.cli.chat_loop import Question

    if last and resume is not None:
        raise click.UsageError("--continue and --resume cannot be used together")
    _require_dialect(options["dialect"])
    question = Question(" ".join(words), files, _piped())
    in_terminal = sys.stdin.isatty() and sys.stdout.isatty()
    needs_question = as_json or dry_run or options["schema"] is not None or not in_terminal
    if question.is_empty and needs_question:
        raise click.UsageError("no question: pass one as an argument, or pipe one in")
    chat_options = ChatOptions(resume="last" if last else resume, keep=not no_store, **options)
    sys.exit(_run(question, chat_options, as_json, dry_run, not hide_thinking))


def _run(
    question: Question,
    chat_options: ChatOptions,
    as_json: bool,
    dry_run: bool,
    thinking: bool,
) -> int:
    import asyncio

    try:
        if question.is_empty:
            from interlingua.cli.chat_loop import talk_on

            return asyncio.run(talk_on(chat_options, thinking))
        from interlingua.cli.chat_loop import ask_once, show_request

        if dry_run:
            return asyncio.run(show_request(question, chat_options, as_json))
        return asyncio.run(ask_once(question, chat_options, as_json, thinking))
    except KeyboardInterrupt:
        return STOPPED
    except BrokenPipeError:
        # The reader of the output has gone; the rest of its buffer is discarded.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1


def _piped() -> str:
    """Input from a pipe or a file; nothing from a terminal."""
    if sys.stdin is None or sys.stdin.closed or sys.stdin.isatty():
        return ""
    data = sys.stdin.buffer.read(MOST_PIPED + 1)
    if len(data) > MOST_PIPED:
        raise click.UsageError(f"standard input is larger than {MOST_PIPED} bytes")
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise click.UsageError(
            "standard input is not UTF-8 text; send it as a file with --attach"
        ) from None


def _require_dialect(name: str | None) -> None:
    from interlingua.dialects.registry import dialects

    if name is not None and name not in dialects():
        problem = f"unknown dialect {name!r}: {', '.join(dialects())}"
        raise click.BadParameter(problem, param_hint="--dialect")


MOST_SCHEMA = 1 << 20
LONGEST_NAME = 60
LOOKED_AT = 50
"""The last messages of a session that are searched for an answer."""
LOOK = 0.25
"""Seconds between two looks whether another program's turn has ended."""
SHORT = 10
"""Letters of an id that are shown: the part with its millisecond."""


def short(id: str) -> str:
    """The beginning of a session's id, by which `--resume` finds it."""
    return id[:SHORT]


class ChatOptions(NamedTuple):
    """The options of the command line."""

    model: str | None = None
    dialect: str | None = None
    system: str | None = None
    schema: Path | None = None
    max_tokens: int | None = None
    temperature: float | None = None
    tools: bool = False
    resume: str | None = None
    """The session to go on with: an id, the beginning of one, or `last`."""
    address: str | None = None
    keep: bool = True
    """False: nothing is written to the store."""


class Talk:
    """A conversation and all it needs. `session` changes when the chat moves to a fork."""

    def __init__(
        self,
        chat_options: ChatOptions,
        setup: Setup,
        store: AsyncStore,
        where: str,
        client: AsyncClient,
        shape: Shape | None,
    ) -> None:
        self.chat_options = chat_options
        self.setup = setup
        self.store = store
        self.where = where
        """The store's name for people."""
        self.client = client
        self.shape = shape
        self.options = Options(
            response_format=shape.format if shape is not None else None,
            max_output_tokens=chat_options.max_tokens,
            temperature=chat_options.temperature,
        )
        self.dialects = DialectByModel(setup.providers)
        self.tools: ToolRegistry | None = None
        self.servers: McpServers | None = None
        self.dispatcher: Dispatcher | None = None
        self.session: AsyncSession
        self.title: str | None = None
        """The session's name."""
        self.chat: AsyncChat
        self.is_new = True
        """Whether the session has no messages yet."""
        self._made: str | None = None

    @property
    def model(self) -> str:
        """The model for the next turn, unless a rule chooses another one."""
        return self.session.model or self.setup.default_model(self.session.row.workspace_path)

    def named(self, model: str) -> str:
        """A model by its shortest name."""
        aliases = self.setup.router.config().names.aliases
        names = [alias for alias, id in aliases.items() if id == model]
        return min(names, key=len) if names else model.partition(":")[2]

    def answered_by(self, turn: AsyncTurn) -> str:
        """The model that wrote the last answer of a turn; a fallback of its route may have."""
        last = turn.answers[-1].metadata.model if turn.answers else None
        return self.named(last or turn.model)

    async def begin(self, row: SessionRow | None) -> None:
        """Begin a new session or open one, with the requested model."""
        chat_options = self.chat_options
        if row is not None:
            await self.move(row.id)
            self.is_new = False
            if chat_options.system is not None:
                await self.session.compose({"base": chat_options.system})
        else:
            session = await AsyncSession.create(
                self.store,
                os.getcwd(),
                model=chat_options.model or self.setup.workspace_default(os.getcwd()),
                system=chat_options.system,
                tools=self.tools,
                options=self.options,
                router=self.setup.router,
                prices=self.setup.prices,
                dialects=self.dialects,
                profiles=self.setup.model_lookup,
            )
            self._use(session)
            self._made = session.id
            if chat_options.model is not None:
                await self.swap(chat_options.model)  # an explicit request comes before any rule
        if chat_options.dialect is not None:
            self.dialects[self._named(chat_options.model or self.model)] = chat_options.dialect

    async def move(self, id: str) -> None:
        """Go on in another session of the store."""
        session = await AsyncSession.open(
            self.store,
            id,
            tools=self.tools,
            options=self.options,
            router=self.setup.router,
            prices=self.setup.prices,
            dialects=self.dialects,
            profiles=self.setup.model_lookup,
        )
        self._use(session)

    def _use(self, session: AsyncSession) -> None:
        self.session = session
        self.title = session.row.name
        self.chat = AsyncChat(session, self.client, self.dispatcher)

    async def swap(self, name: str | None) -> None:
        """Change the model of the next turn; a name may be that of a route."""
        await self.session.swap(name)
        policy = {**(self.session.row.routing_policy or {}), ROUTE_NAME: name}
        changed = await self.store.update_session(self.session.id, routing_policy=policy)
        self.session._core.row = changed

    def say(self, message: Message | None) -> AsyncGenerator[ChatEvent, None]:
        """One turn, or with None the last one again. If its model was named by a route, the route's
        pool and fallbacks are used."""
        routed: Any = self.client
        is_routed = hasattr(routed, "meter") and self.model not in self.dialects
        if is_routed and (message is not None or routed.meter.route_name is None):
            routed.name_route(self.session, message)
        return self.chat.resume() if message is None else self.chat.say(message)

    def _named(self, model: str) -> str:
        return self.setup.router.config().names.require(model)

    async def name(self, question: str) -> None:
        """Call a session that has no name yet after its first question."""
        if self.title is None and self.is_new:
            words = " ".join(question.split())
            cut = words if len(words) <= LONGEST_NAME else f"{words[: LONGEST_NAME - 1]}…"
            if cut:
                await self.rename(cut)
            self.is_new = False

    async def rename(self, name: str) -> None:
        self.title = (await self.store.update_session(self.session.id, name=name)).name

    async def is_busy(self) -> bool:
        """Whether another program, such as a gateway, has a turn of the session under way."""
        turn = (await self.store.session(self.session.id)).turn
        return turn is not None and is_under_way(turn)

    async def wait(self, say: Callable[[str], None]) -> None:
        """Waits for the end of a turn that another program is running, and prints that."""
        if not await self.is_busy():
            return
        say("Another program is running a turn of this session; waiting (Ctrl-C stops).")
        while await self.is_busy():
            await asyncio.sleep(LOOK)
        await self.session.reload()

    async def is_answered(self) -> bool:
        """Whether the session was there before, or a model has answered something in it."""
        if self.session.id != self._made:
            return True
        messages = await self.session.tail(LOOKED_AT)
        return any(each.role is Role.ASSISTANT and each.content for each in messages)

    async def forget_if_empty(self) -> None:
        """Deletes a session that was made here and in which no model answered."""
        if not await self.is_answered():
            await self.store.delete_session(self.session.id)

    async def use_tools(self, stack: AsyncExitStack, confirm: Confirm | None) -> None:
        """The files of this folder, and the servers of the user's file."""
        from interlingua.agents.chat.files import register_files
        from interlingua.tools.dispatch import Dispatcher
        from interlingua.tools.registry import ToolRegistry

        self.tools = ToolRegistry()
        register_files(self.tools)
        path = servers_path()
        if path.exists():
            from interlingua.tools.mcp import McpServers, read_servers

            self.servers = McpServers(read_servers(path), self.tools)
            await asyncio.to_thread(self.servers.start)
            stack.push_async_callback(asyncio.to_thread, self.servers.close)
        self.dispatcher = Dispatcher(self.tools, workspace=os.getcwd(), confirm=confirm)


def servers_path() -> Path:
    """The user's file of MCP servers."""
    return config.config_folder() / "mcp.json"


def own_setup() -> Setup:
    """The models available here; names are those of the gateway's settings."""
    from interlingua.costs.table import own_table

    file, prices = gateway_file(), own_table()
    if file is None:
        return Setup(prices=prices)
    from interlingua.gateway.config import DEFAULT_MODEL, load, targets_of
    from interlingua.gateway.settings import find_route

    settings = load(file)
    targets = targets_of(settings)

    def meant(name: str) -> str | None:
        route = find_route(settings.routes, name)
        return None if route is None else targets.find(route.model).model

    default = settings.default_model
    if default == DEFAULT_MODEL and meant(default) is None:
        default = None
    if default is not None:
        default = meant(default) or targets.find(default).model
    routed = partial(_routed, settings)
    return Setup(
        prices=prices,
        known=targets.providers,
        routes=meant,
        route_names=settings.routes,
        default=default,
        routed=routed,
    )


def _routed(settings: Settings, client: AsyncClient) -> AsyncClient:
    """A client that uses the routes of the gateway's settings. Without the extra `gateway`, a route
    is its first model."""
    if not settings.routes and not any(each.keys for each in settings.providers.values()):
        return client
    try:
        from interlingua.gateway.gateway import Gateway
        from interlingua.gateway.sessions.metered_client import MeteredClient
    except ModuleNotFoundError:
        return client
    from interlingua.gateway.shared.state import Principal

    asker = client.asker
    gateway = Gateway(settings, targets=asker.targets, transport=asker.transport)
    return MeteredClient(gateway, Principal())


@asynccontextmanager
async def opened_talk(
    chat_options: ChatOptions, confirm: Confirm | None = None
) -> AsyncIterator[Talk]:
    """Opens everything; on leaving, all of it is closed, and the rest is stored."""
    setup = own_setup()
    shape = read_shape(chat_options.schema) if chat_options.schema is not None else None
    async with AsyncExitStack() as stack:
        row = None
        if chat_options.resume is not None:
            row = await asyncio.to_thread(_found, chat_options)
        if chat_options.keep:
            store = await stack.enter_async_context(await open_async_store(chat_options.address))
            where = store.where
        else:
            store = await stack.enter_async_context(open_async_store(":memory:"))
            where = "not stored"
            if row is not None:
                await _copied(chat_options, row, store)
        client = await stack.enter_async_context(setup.client())
        talk = Talk(chat_options, setup, store, where, client, shape)
        if chat_options.tools:
            await talk.use_tools(stack, confirm)
        await talk.begin(row)
        try:
            yield talk
        finally:
            await talk.forget_if_empty()


def _found(chat_options: ChatOptions) -> SessionRow:
    assert chat_options.resume is not None
    with opened(chat_options.address) as store:
        return find_session(store, chat_options.resume)


async def _copied(chat_options: ChatOptions, row: SessionRow, target: AsyncStore) -> None:
    async with await open_async_store(chat_options.address) as source:
        messages = await source.messages(row.id)
        calls = await source.tool_calls(row.id)
    await target.add_session(row)
    ids = {call.id: call.provider_id for call in calls if call.provider_id is not None}
    if messages:
        await target.append(row.id, messages, provider_ids=ids, check=False)


def read_shape(path: Path) -> Shape:
    """The JSON Schema in a file, as a shape to ask for."""
    from interlingua.client.structured import shape_of

    try:
        data = path.read_bytes()[: MOST_SCHEMA + 1]
    except OSError as error:
        raise InterlinguaError(f"schema {path}: {error.strerror or type(error).__name__}") from None
    if len(data) > MOST_SCHEMA:
        raise InterlinguaError(f"schema {path}: larger than {MOST_SCHEMA} bytes")
    try:
        schema = msgspec.json.decode(data)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise ReadError(f"schema {path}", "$", "JSON", str(error)) from None
    if not isinstance(schema, dict):
        raise ReadError(f"schema {path}", "$", "an object", found(schema))
    return shape_of(schema)
