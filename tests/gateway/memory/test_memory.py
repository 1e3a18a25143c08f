"""What the client's dialect cannot carry comes back to who made it, and to nobody else."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlingua.adapt.remembered import Conversation, Conversations
from interlingua.client.targets import Target, Targets
from interlingua.dialects.cohere.front import v1_wire
from interlingua.dialects.registry import dialect as dialect_of
from interlingua.gateway.memory.memory import LONGEST, Memory
from interlingua.gateway.memory.signatures import calls_in, digest, merged, turn_of
from interlingua.gateway.shared.principal import KeyPrincipal
from interlingua.gateway.shared.state import Arrival, NoMemory
from interlingua.gateway.shared.state import Memory as AnyMemory
from interlingua.model.blocks import (
    SUMMARY,
    Block,
    CompactionBlock,
    RedactedThinkingBlock,
    TextBlock,
    ThinkingBlock,
    ToolUseBlock,
    UnknownBlock,
)
from interlingua.model.exchange import Request, Response
from interlingua.model.message import Message, Role
from interlingua.model.metadata import MessageMetadata
from interlingua.store.base import AsyncStore
from interlingua.store.errors import StoreError
from interlingua.store.open import open_async_store, open_store
from tests.gateway.loops import ANSWERS, MODELS, Client, ScriptedProvider, ask, gateway_of
from tests.laws.acceptable import problems
from tests.store.places import ask as sql

FRONTS = (
    *("openai-chat", "openai-responses", "anthropic", "gemini", "gemini-interactions"),
    "ollama",
)
PAIRS = [
    (front, issuer)
    for issuer in MODELS
    for front in FRONTS
    if front != issuer and (front, issuer) != ("gemini-interactions", "gemini")
]
"""Google itself is asked in the API of interactions by who uses that."""


def facts(message: Message) -> list[tuple[Any, ...]]:
    """What a provider can verify of a turn: all but ids."""
    fields = ("text", "signature", "data", "input")
    return [
        (type(block).__name__, *[getattr(block, name, None) for name in fields])
        for block in message.content
    ]


def turns_in(issuer: str, wire: Any) -> list[list[tuple[Any, ...]]]:
    request = dialect_of(issuer).read_request(wire, "m", False)
    return [facts(message) for message in request.messages if message.role is Role.ASSISTANT]


def given_by(issuer: str) -> list[list[tuple[Any, ...]]]:
    return [facts(dialect_of(issuer).read_response(wire).message) for wire in ANSWERS[issuer]]


async def talk(
    provider: ScriptedProvider, client: Client, memory: Callable[[], AnyMemory], stream: bool
) -> None:
    """Four turns: two calls, one call, an answer, another one; each with the memory it is given."""
    provider.stream = stream
    for _ in range(4):
        answer = await ask(gateway_of(provider, memory()), client, stream)  # type: ignore[arg-type]  # or none
        if not client.hear(answer):
            client.say("Thank you.")


def loop(front: str, issuer: str, address: str, stream: bool, restarts: bool) -> list[Any]:
    """What the provider was asked in a tool loop."""
    provider = ScriptedProvider(issuer)

    async def work() -> None:
        async with await open_async_store(address) as store:
            one = Memory(store)
            client = Client(front, MODELS[issuer], "How is the weather in Paris and Rome?")
            await talk(provider, client, lambda: Memory(store) if restarts else one, stream)

    asyncio.run(work())
    return provider.asked


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize(("front", "issuer"), PAIRS)
def test_every_turn_comes_back_to_its_issuer_as_it_was(
    front: str, issuer: str, stream: bool, tmp_path: Path
) -> None:
    asked = loop(front, issuer, str(tmp_path / "s.db"), stream, restarts=True)
    expected = given_by(issuer)
    assert len(asked) == 4
    for number, wire in enumerate(asked):
        assert turns_in(issuer, wire) == expected[:number]
        assert problems(issuer, "request", wire) == []


@pytest.mark.parametrize(("front", "issuer"), PAIRS)
def test_without_memory_it_would_be_lost(front: str, issuer: str) -> None:
    provider = ScriptedProvider(issuer)
    client = Client(front, MODELS[issuer], "How is the weather in Paris and Rome?")
    asyncio.run(talk(provider, client, NoMemory, stream=False))
    assert turns_in(issuer, provider.asked[1]) != given_by(issuer)[:1]


SEARCHED = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": "claude-sonnet-4-6",
    "content": [
        {"type": "thinking", "thinking": "I search.", "signature": "c2ln"},
        {
            "type": "server_tool_use",
            "id": "srvtoolu_1",
            "name": "web_search",
            "input": {"query": "weather"},
        },
        {
            "type": "web_search_tool_result",
            "tool_use_id": "srvtoolu_1",
            "content": [
                {
                    "type": "web_search_result",
                    "url": "https://example.org",
                    "title": "Weather",
                    "encrypted_content": "c2VhbGVk",
                    "page_age": None,
                }
            ],
        },
        {"type": "thinking", "thinking": "And ask.", "signature": "c2lnMg=="},
        {"type": "text", "text": "I found something."},
        {"type": "tool_use", "id": "toolu_1", "name": "weather", "input": {"city": "Paris"}},
    ],
    "stop_reason": "tool_use",
    "stop_sequence": None,
    "usage": {"input_tokens": 8, "output_tokens": 42},
}


@pytest.mark.parametrize("front", [front for front in FRONTS if front != "anthropic"])
def test_what_the_providers_own_tools_did_comes_back_too(front: str, tmp_path: Path) -> None:
    provider = ScriptedProvider("anthropic", [SEARCHED, ANSWERS["anthropic"][2]])

    async def work() -> None:
        async with await open_async_store(tmp_path / "s.db") as store:
            client = Client(front, MODELS["anthropic"], "How is the weather?")
            for _ in range(2):
                client.hear(await ask(gateway_of(provider, Memory(store)), client, False))

    asyncio.run(work())
    wire = provider.asked[1]
    assert wire["messages"][1]["content"] == SEARCHED["content"]
    assert problems("anthropic", "request", wire) == []


def test_one_process_remembers_without_asking_the_store_again(tmp_path: Path) -> None:
    asked = loop("openai-chat", "anthropic", str(tmp_path / "s.db"), True, restarts=False)
    assert turns_in("anthropic", asked[3]) == given_by("anthropic")[:3]


@pytest.mark.parametrize("issuer", MODELS)
def test_another_machine_puts_back_what_one_has_kept(issuer: str, address: str) -> None:
    """Each turn goes through another store object, as on machines that share a database."""
    provider = ScriptedProvider(issuer)
    client = Client("openai-chat", MODELS[issuer], "How is the weather?")

    async def turn() -> None:
        async with await open_async_store(address) as store:
            answer = await ask(gateway_of(provider, Memory(store)), client, False)
            if not client.hear(answer):
                client.say("Thank you.")

    for _ in range(4):
        asyncio.run(turn())
    assert turns_in(issuer, provider.asked[3]) == given_by(issuer)[:3]


def test_sealed_reasoning_is_asked_for_where_it_is_not_given_unasked(tmp_path: Path) -> None:
    asked = loop("anthropic", "openai-responses", str(tmp_path / "s.db"), False, restarts=True)
    assert all(wire["include"] == ["reasoning.encrypted_content"] for wire in asked)
    assert all(wire["store"] is False for wire in asked)


# What is kept, and for whom


def asked(
    front: str = "openai-chat", model: str = "anthropic:claude-sonnet-4-6", tenant: str = "gk_1"
) -> tuple[Arrival, Target]:
    who = KeyPrincipal(key_id=tenant, account_id=tenant)
    return Arrival("req_1", front, who), Targets(environ={}).find(model)


async def keep(memory: Memory, answer: Response, *said: Message, **where: str) -> None:
    """What is kept of an answer to these messages."""
    arrival, target = asked(**where)
    recall = await memory.put_back(Request(said), arrival, target)
    await memory.keep(answer, arrival, recall)


async def put_back(memory: Memory, request: Request, **where: str) -> Request:
    return (await memory.put_back(request, *asked(**where))).request


THOUGHT = ThinkingBlock("secret plan", "c2ln")
CALL = ToolUseBlock("toolu_1", "weather", {"city": "Paris", "days": 2})
ANSWER = Response(Message.assistant([THOUGHT, TextBlock("I look."), CALL]))
HISTORY = Request(
    (
        Message.user("How is it?"),
        Message.assistant([TextBlock("I look."), CALL]),
        Message.tool_result("toolu_1", "sunny"),
    )
)


async def kept(store: AsyncStore, memory: Memory | None = None, **where: str) -> None:
    await keep(memory or Memory(store), ANSWER, Message.user("How is it?"), **where)


async def comes_back(store: AsyncStore, request: Request = HISTORY, **where: str) -> bool:
    """For a process that has never seen the turn."""
    result = await put_back(Memory(store), request, **where)
    blocks = [block for message in result.messages for block in message.content]
    return THOUGHT in blocks


def run(address: str, work: Callable[[AsyncStore], Any]) -> None:
    async def do() -> None:
        async with await open_async_store(address) as store:
            await work(store)

    asyncio.run(do())


def grown(conversations: Conversations, *more: Message) -> Conversation:
    """The next request of a conversation, as it is read."""
    codec = dialect_of("openai-chat")
    body = codec.write_request(HISTORY.replace(messages=(*HISTORY.messages, *more))).json()
    found = conversations.read(body, codec)
    assert found is not None
    return found


def test_turns_of_a_conversation_are_looked_for_once(address: str) -> None:
    looked: list[list[str]] = []

    async def work(store: AsyncStore) -> None:
        await kept(store)
        memory, conversations = Memory(store), Conversations(2**24, least=0)
        remembered = store.remembered

        async def counted(place: Any, calls: Any, turns: Any) -> Any:
            looked.append([*calls, *turns])
            return await remembered(place, calls, turns)

        store.remembered = counted  # type: ignore[method-assign]
        items = [Message.assistant("Sunny."), Message.user("And now?")]
        recalled = []
        for count in (0, 2):
            conversation = grown(conversations, *items[:count])
            recall = await memory.put_back(conversation.request, *asked(), conversation)
            assert recall.history is conversation.recalled.history
            assert recall.history.messages is recall.request.messages
            recalled.append(recall.request.messages)
        assert [len(keys) for keys in looked] == [1, 1]
        assert THOUGHT in recalled[0][1].content
        assert recalled[1][1] is recalled[0][1]
        assert recalled[1][:3] == recalled[0]
        conversation.recalled.until = 0.0
        again = grown(conversations, *items)
        await memory.put_back(again.request, *asked(), again)
        assert len(looked[2]) == 2

    run(address, work)


def test_a_store_that_was_away_is_asked_again(address: str) -> None:
    async def work(store: AsyncStore) -> None:
        await kept(store)
        memory, conversations = Memory(store), Conversations(2**24, least=0)
        remembered = store.remembered

        async def away(*_: Any) -> Any:
            raise StoreError("here", "away")

        store.remembered = away  # type: ignore[method-assign]
        conversation = grown(conversations)
        recall = await memory.put_back(conversation.request, *asked(), conversation)
        assert recall.request.messages is conversation.messages
        store.remembered = remembered  # type: ignore[method-assign]
        conversation = grown(conversations, Message.user("And?"))
        recall = await memory.put_back(conversation.request, *asked(), conversation)
        assert THOUGHT in recall.request.messages[1].content

    run(address, work)


@pytest.mark.requirement("S002-37")
def test_nobody_else_gets_it(address: str) -> None:
    async def work(store: AsyncStore) -> None:
        await kept(store)
        assert await comes_back(store)
        assert not await comes_back(store, tenant="gk_2")
        assert not await comes_back(store, model="anthropic:claude-opus-5-5")
        assert not await comes_back(store, model="gemini:gemini-3-pro-preview")
        assert not await comes_back(store, model="openai:gpt-5")

    run(address, work)


def test_a_call_of_the_same_id_that_is_another_gets_nothing(address: str) -> None:
    other = Message.assistant([ToolUseBlock("toolu_1", "delete_everything", {})])

    async def work(store: AsyncStore) -> None:
        await kept(store)
        request = HISTORY.replace(messages=(HISTORY.messages[0], other))
        assert not await comes_back(store, request)

    run(address, work)


def test_what_expired_does_not_come_back_and_goes(address: str) -> None:
    async def work(store: AsyncStore) -> None:
        memory = Memory(store, hours=0)
        await kept(store, memory)
        assert not await comes_back(store)
        assert await put_back(memory, HISTORY) == HISTORY
        await memory.tidy()

    run(address, work)
    with open_store(address) as store:
        assert sql(store, "SELECT count(*) FROM remembered") == [(0,)]


def test_each_tenant_has_so_much_room_and_all_of_them_together(address: str) -> None:
    async def work(store: AsyncStore) -> None:
        big = ThinkingBlock("x" * 1000, "c2ln")
        memory = Memory(store, most=3500, most_of_all=6000)
        for tenant in ("gk_1", "gk_2", "gk_3"):
            for number in range(6):
                call = ToolUseBlock(f"toolu_{number}", "weather", {})
                answer = Response(Message.assistant([big, call]))
                await keep(memory, answer, tenant=tenant)
        await memory.tidy()

    run(address, work)
    with open_store(address) as store:
        rows = sql(store, "SELECT tenant, sum(size) FROM remembered GROUP BY tenant")
        sizes = {tenant: int(size) for tenant, size in rows}
    assert sum(sizes.values()) <= 6000
    assert all(size <= 3500 for size in sizes.values())
    assert sizes["gk_3"] > 2000  # the newest stay
    assert "gk_1" not in sizes


def test_one_turn_may_not_be_endless(address: str) -> None:
    async def work(store: AsyncStore) -> None:
        endless = Response(Message.assistant([ThinkingBlock("x" * LONGEST, "c2ln"), CALL]))
        await keep(Memory(store), endless)
        assert not await comes_back(store)

    run(address, work)


def test_visible_words_and_arguments_are_not_stored(address: str) -> None:
    async def work(store: AsyncStore) -> None:
        answer = Message.assistant(
            [THOUGHT, TextBlock("canary-words"), ToolUseBlock("toolu_1", "f", {"a": "canary-args"})]
        )
        await keep(Memory(store), Response(answer))

    run(address, work)
    with open_store(address) as store:
        rows = str(sql(store, "SELECT * FROM remembered"))
    assert "secret plan" in rows
    assert "canary" not in rows
    assert "toolu_1" not in rows.replace('"id":"toolu_1"', "")


def test_a_plain_answer_writes_nothing(address: str) -> None:
    async def work(store: AsyncStore) -> None:
        plain = Response(Message.assistant([TextBlock("Hello."), CALL]))
        await keep(Memory(store), plain)
        await keep(Memory(store), ANSWER, front="anthropic", model="bedrock:claude")

    run(address, work)
    with open_store(address) as store:
        assert sql(store, "SELECT count(*) FROM remembered") == [(0,)]


def test_the_same_words_after_other_questions_are_other_turns(address: str) -> None:
    """Turns without calls are known by their words and by what was asked before them."""
    first, second = ThinkingBlock("first", "MQ=="), ThinkingBlock("second", "Mg==")

    async def work(store: AsyncStore) -> None:
        memory = Memory(store)
        items: list[Message] = []
        for question, thought in (("One?", first), ("Two?", second)):
            items.append(Message.user(question))
            await keep(memory, Response(Message.assistant([thought, TextBlock("OK")])), *items)
            items.append(Message.assistant("OK"))
        result = await put_back(Memory(store), Request((*items, Message.user("!"))))
        assert result.messages[1].content == (first, TextBlock("OK"))
        assert result.messages[3].content == (second, TextBlock("OK"))

    run(address, work)


def test_a_store_that_is_away_stops_no_request(tmp_path: Path) -> None:
    async def work() -> None:
        store = await open_async_store(tmp_path / "s.db")
        memory = Memory(store)
        await store.close()
        await keep(memory, ANSWER)
        assert await put_back(Memory(store), HISTORY) == HISTORY

    asyncio.run(work())


def test_ids_that_the_client_cannot_have_are_known_as_it_sees_them(address: str) -> None:
    """An id of 200 characters is fitted to the client's dialect; by that it is found."""
    long = "call|" + "x" * 195
    answer = Response(Message.assistant([THOUGHT, ToolUseBlock(long, "weather", {})]))

    async def work(store: AsyncStore) -> None:
        for front in ("openai-chat", "openai-responses"):
            await keep(Memory(store), answer, front=front)
            seen = dialect_of(front).traits.ids.fit(long)
            assert seen != long or front == "openai-responses"
            turn = Message.assistant([ToolUseBlock(seen, "weather", {})])
            assert await comes_back(store, Request((Message.user("?"), turn)), front=front)

    run(address, work)


@pytest.mark.parametrize("model", ["anthropic:claude-sonnet-4-6", "gemini:gemini-3-pro-preview"])
@pytest.mark.parametrize("with_history", [True, False])
def test_calls_of_a_wire_without_ids_are_known_by_what_they_ask_for(
    with_history: bool, model: str, tmp_path: Path
) -> None:
    """The first chat API of Cohere: a result repeats its call, and the history may not have it."""
    where = {"front": "cohere", "model": model}
    call = CALL.replace(signature="c2ln") if model.startswith("gemini") else CALL
    answer = Response(Message.assistant([THOUGHT, TextBlock("I look."), call]))
    seen = v1_wire(answer)
    asks = {"name": "weather", "parameters": {"days": 2, "city": "Paris"}}
    first: dict[str, Any] = {"model": "m", "message": "How is it?"}
    results = [{"call": asks, "outputs": [{"output": "sunny"}]}]
    again = {**first, "tool_results": results}
    if with_history:
        turn = {"role": "CHATBOT", "message": seen["text"], "tool_calls": seen["tool_calls"]}
        user = {"role": "USER", "message": "How is it?"}
        again = {"model": "m", "message": "", "chat_history": [user, turn]}
        again["tool_results"] = results
    read = dialect_of("cohere").read_request

    async def work(store: AsyncStore) -> None:
        await keep(Memory(store), answer, *read(first).messages, **where)
        request = read(again)
        assert await comes_back(store, request, **where)
        result = await put_back(Memory(store), request, **where)
        (found,) = [each for message in result.messages for each in calls_in(message)]
        assert found.signature == call.signature
        assert not await comes_back(store, request, **where, tenant="gk_2")
        asks["parameters"] = {"city": "Rome"}
        other = read({**first, "tool_results": results})
        assert not await comes_back(store, other, **where)
        elsewhere = read({**first, "message": "And now?", "tool_results": results})
        assert not await comes_back(store, elsewhere, **where)

    run(str(tmp_path / "s.db"), work)


# Putting a turn together again

texts = st.builds(TextBlock, st.text(st.sampled_from("abc \n"), min_size=1).filter(str.strip))
signed = st.builds(
    TextBlock,
    st.text(st.sampled_from("abc"), min_size=1),
    signature=st.sampled_from(["MQ==", "Mg=="]),
)
thoughts = st.one_of(
    st.builds(ThinkingBlock, st.text(st.sampled_from("xyz")), st.sampled_from(["Mw==", "NA=="])),
    st.builds(RedactedThinkingBlock, st.sampled_from(["NQ==", "Ng=="])),
    st.just(TextBlock("", signature="Nw==")),
)


@st.composite
def answers(draw: st.DrawFn) -> Message:
    blocks: list[Block] = draw(st.lists(st.one_of(texts, signed, thoughts), max_size=6))
    for number in range(draw(st.integers(0, 3))):
        call = ToolUseBlock(
            f"id_{number}",
            draw(st.sampled_from(["f", "g"])),
            {"n": draw(st.integers(0, 3))},
            signature=draw(st.sampled_from([None, "OA=="])),
        )
        blocks.insert(draw(st.integers(0, len(blocks))), call)
    return Message.assistant(blocks)


def as_client_has_it(message: Message, joined: bool) -> Message:
    """All signatures and thinking gone, and perhaps all text in one piece before the calls."""
    plain: list[Any] = [
        block.replace(signature=None)
        for block in message.content
        if isinstance(block, TextBlock | ToolUseBlock) and block != TextBlock("", "Nw==")
    ]
    if joined:
        text = "".join(block.text for block in plain if isinstance(block, TextBlock))
        calls = [block for block in plain if isinstance(block, ToolUseBlock)]
        plain = [*([TextBlock(text)] if text else []), *calls]
    return Message.assistant(plain, MessageMetadata(protocol="openai-chat"))


@given(answers(), st.booleans())
def test_what_was_taken_from_a_turn_is_put_back_in_its_place(
    message: Message, joined: bool
) -> None:
    turn = turn_of(message, dialect_of("openai-chat"))
    hidden = [b for b in message.content if getattr(b, "signature", None) or hasattr(b, "data")]
    if turn is None:
        assert not hidden
        return
    back = merged(as_client_has_it(message, joined), turn, "anthropic")
    assert back is not None
    assert back.metadata.protocol == "anthropic"
    if not joined:
        assert back.content == message.content
        return
    # White space between two texts may have gone over to the other one; nothing else may differ.
    assert [type(block) for block in back.content] == [type(block) for block in message.content]
    for got, was in zip(back.content, message.content, strict=True):
        if type(was) is TextBlock:
            assert got.text.split() == was.text.split() or was.text.strip() in got.text  # type: ignore[union-attr]  # of the same type
            assert got.signature == was.signature  # type: ignore[union-attr]
        else:
            assert got == was
    assert back.text == message.text


@given(answers(), st.text(st.sampled_from("abq"), min_size=1))
def test_a_text_that_the_client_has_changed_stays_changed(message: Message, new: str) -> None:
    turn = turn_of(message, dialect_of("openai-chat"))
    seen = as_client_has_it(message, joined=True)
    calls = [block for block in seen.content if isinstance(block, ToolUseBlock)]
    edited = seen.replace(content=(TextBlock(new), *calls))
    if turn is None or digest(new) == turn.text_digest:
        return
    back = merged(edited, turn, "anthropic")
    assert back is not None
    assert back.text == new
    items = [b for b in back.content if type(b) is TextBlock and b.text]
    assert all(block.signature is None for block in items)


def test_what_only_the_client_knows_stays_in_the_turn() -> None:
    """So that it is reported as lost, not lost in silence."""
    turn = turn_of(ANSWER.message, dialect_of("openai-chat"))
    assert turn is not None
    own = UnknownBlock({"openai-chat": {"type": "odd"}})
    seen = Message.assistant([ThinkingBlock("its own copy"), TextBlock("I look."), own, CALL])
    back = merged(seen, turn, "anthropic")
    assert back is not None
    assert back.content == (THOUGHT, TextBlock("I look."), CALL, own)


def test_the_rows_say_nothing_in_a_log(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("DEBUG")
    loop("openai-chat", "anthropic", str(tmp_path / "s.db"), False, restarts=True)
    result = json.dumps([str(vars(record)) for record in caplog.records])
    for secret in ("c2lnLW9uZQ", "c2VhbGVk", "I look both up"):
        assert secret not in result


def test_compacted_history_hides_nothing_else_of_a_turn() -> None:
    """What can be read of it is the client's text from then on, what is sealed comes back."""
    sealed, thought = CompactionBlock(data="gAAA"), ThinkingBlock("Hm.", "c2ln")
    content = (sealed, CompactionBlock("So far."), thought, TextBlock("Yes"))
    turn = turn_of(Message.assistant(content), dialect_of("openai-chat"))
    assert turn is not None
    result = SUMMARY.format("So far.")
    back = merged(Message.assistant(f"{result}Yes"), turn, "anthropic")
    assert back is not None
    assert back.content == (sealed, TextBlock(result), thought, TextBlock("Yes"))
