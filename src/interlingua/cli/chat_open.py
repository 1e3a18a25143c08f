"""What a chat works with, opened and closed together: store, session, client and tools."""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from interlingua import config
from interlingua.chat.chat import Chat
from interlingua.chat.setup import DialectByModel, Setup
from interlingua.cli.stores import find_session, opened
from interlingua.errors import InterlinguaError, ReadError, found
from interlingua.model.exchange import Options
from interlingua.model.message import Role
from interlingua.sessions.aio import AsyncSession
from interlingua.sessions.holding import is_under_way
from interlingua.store.base import AsyncStore
from interlingua.store.open import open_async_store
from interlingua.store.rows import SessionRow

if TYPE_CHECKING:
    from interlingua.client.client import AsyncClient
    from interlingua.client.structured import Shape
    from interlingua.tools.confirm import Confirm
    from interlingua.tools.dispatch import Dispatcher
    from interlingua.tools.mcp import McpServers
    from interlingua.tools.registry import ToolRegistry

MOST_SCHEMA = 1 << 20
LONGEST_NAME = 60
LOOK = 0.25
"""Seconds between two looks whether another program's turn has ended."""
SHORT = 10
"""Letters of an id that people are shown: the part that tells its millisecond."""


def short(id: str) -> str:
    """The beginning of a session's id, by which `--resume` finds it."""
    return id[:SHORT]


class ChatOptions(NamedTuple):
    """What the command line asks for."""

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
        wanted: ChatOptions,
        setup: Setup,
        store: AsyncStore,
        where: str,
        client: AsyncClient,
        shape: Shape | None,
    ) -> None:
        self.wanted = wanted
        self.setup = setup
        self.store = store
        self.where = where
        """The store as people know it."""
        self.client = client
        self.shape = shape
        self.options = Options(
            response_format=shape.format if shape is not None else None,
            max_output_tokens=wanted.max_tokens,
            temperature=wanted.temperature,
        )
        self.spoken = DialectByModel(setup.providers)
        self.tools: ToolRegistry | None = None
        self.servers: McpServers | None = None
        self.dispatcher: Dispatcher | None = None
        self.session: AsyncSession
        self.title: str | None = None
        """The session's name."""
        self.chat: Chat
        self.is_new = True
        """Whether nobody has spoken in the session yet."""
        self._made: str | None = None

    @property
    def model(self) -> str:
        """The model that the next turn is meant for, unless a rule says otherwise."""
        return self.session.model or self.setup.default_model(self.session.row.workspace_path)

    def named(self, model: str) -> str:
        """A model by its shortest name."""
        aliases = self.setup.router.config().names.aliases
        names = [alias for alias, id in aliases.items() if id == model]
        return min(names, key=len) if names else model.partition(":")[2]

    async def begin(self, row: SessionRow | None) -> None:
        """A new session, or one that is there; with the model that was asked for."""
        wanted = self.wanted
        if row is not None:
            await self.move(row.id)
            self.is_new = False
            if wanted.system is not None:
                await self.session.compose({"base": wanted.system})
        else:
            session = await AsyncSession.create(
                self.store,
                os.getcwd(),
                model=wanted.model or self.setup.default_model(os.getcwd()),
                system=wanted.system,
                tools=self.tools,
                options=self.options,
                router=self.setup.router,
                prices=self.setup.prices,
                dialects=self.spoken,
                profiles=self.setup.model_lookup,
            )
            self._use(session)
            self._made = session.id
            if wanted.model is not None:
                await session.swap(wanted.model)  # what was asked for comes before any rule
        if wanted.dialect is not None:
            self.spoken[self._named(wanted.model or self.model)] = wanted.dialect

    async def move(self, id: str) -> None:
        """Go on in another session of the store."""
        session = await AsyncSession.open(
            self.store,
            id,
            tools=self.tools,
            options=self.options,
            router=self.setup.router,
            prices=self.setup.prices,
            dialects=self.spoken,
            profiles=self.setup.model_lookup,
        )
        self._use(session)

    def _use(self, session: AsyncSession) -> None:
        self.session = session
        self.title = session.row.name
        self.chat = Chat(session, self.client, self.dispatcher)

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
        """Whether another program, a gateway say, has a turn of the session under way."""
        turn = (await self.store.session(self.session.id)).turn
        return turn is not None and is_under_way(turn)

    async def wait(self, say: Callable[[str], None]) -> None:
        """Let a turn that another program has under way come to its end, and say so."""
        if not await self.is_busy():
            return
        say("Another program has a turn of this session under way; waiting for its end (Ctrl-C).")
        while await self.is_busy():
            await asyncio.sleep(LOOK)
        await self.session.reload()

    async def forget_if_empty(self) -> None:
        """A session that was made here, and in which nobody spoke, is not kept."""
        messages = await self.session.tail(2)
        is_empty = all(message.role is Role.SYSTEM for message in messages)
        if self.session.id == self._made and is_empty:
            await self.store.delete_session(self.session.id)

    async def use_tools(self, stack: AsyncExitStack, confirm: Confirm | None) -> None:
        """The files of this folder, and the servers of the user's file."""
        from interlingua.chat.files import register_files
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


@asynccontextmanager
async def opened_talk(wanted: ChatOptions, confirm: Confirm | None = None) -> AsyncIterator[Talk]:
    """Open everything; on leaving, what was opened is closed, and the rest is stored."""
    from interlingua.prices.own import own_table

    setup = Setup(prices=own_table())
    shape = read_shape(wanted.schema) if wanted.schema is not None else None
    async with AsyncExitStack() as stack:
        row = None
        if wanted.resume is not None:
            row = await asyncio.to_thread(_found, wanted)
        if wanted.keep:
            store = await stack.enter_async_context(await open_async_store(wanted.address))
            where = store.where
        else:
            store = await _passing_store(stack)
            where = "nothing is kept"
            if row is not None:
                await _copied(wanted, row, store)
        client = await stack.enter_async_context(setup.client())
        talk = Talk(wanted, setup, store, where, client, shape)
        if wanted.tools:
            await talk.use_tools(stack, confirm)
        await talk.begin(row)
        try:
            yield talk
        finally:
            await talk.forget_if_empty()


def _found(wanted: ChatOptions) -> SessionRow:
    assert wanted.resume is not None
    with opened(wanted.address) as store:
        return find_session(store, wanted.resume)


async def _passing_store(stack: AsyncExitStack) -> AsyncStore:
    """A store for this run alone: in memory where the system has files there, else in a folder
    that nobody else can read, which is removed at the end."""
    memory = "/dev/shm"
    place = memory if os.access(memory, os.W_OK) else None
    folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="interlingua-chat-", dir=place))
    return await stack.enter_async_context(await open_async_store(Path(folder, "passing.db")))


async def _copied(wanted: ChatOptions, row: SessionRow, target: AsyncStore) -> None:
    async with await open_async_store(wanted.address) as source:
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
