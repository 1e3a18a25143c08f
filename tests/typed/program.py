# pyright: strict
"""A user's program that names everything the package exports; type checkers read it, nothing runs
it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, assert_never, assert_type

import interlingua as il

BODY: dict[str, Any] = {"model": "gpt-5", "messages": [{"role": "user", "content": "hi"}]}


@dataclass
class City:
    name: str
    people: int


@il.tool
def weather(city: str) -> str:
    """The weather in a city."""
    return f"Rain in {city}."


def converting() -> bytes:
    print(il.__version__, il.dialects(), il.dialect("anthropic").title)
    written: il.Written = il.convert(BODY, to="anthropic", model="claude-sonnet-4-6")
    report: il.Report = written.report
    for loss in report:
        assert_type(loss, il.Loss)
    converter = il.Converter("openai-chat", "anthropic")
    print(converter, il.detect(BODY).dialect, il.plan(BODY, "anthropic"))
    try:
        report.require_lossless()
    except il.LossError as error:
        print(error.report)
    return written.json()


def streaming(chunks: list[bytes], dicts: list[dict[str, Any]]) -> Iterator[bytes]:
    stream = il.stream_convert(chunks, to="anthropic")
    yield from stream
    assert_type(stream.report, il.Report)
    yield b"".join(il.stream_convert(dicts, "openai", "claude"))
    whole = il.StreamConverter("openai-chat", "anthropic")
    yield whole.feed(b"") + whole.close()
    print([decoder.Decoder for decoder in (il.sse, il.ndjson, il.aws)], il.jsonarray)
    print(il.Frame(None, "{}"))


class SdkMessage:
    """A message of an SDK, as pydantic makes them."""

    def model_dump(self, *, mode: str = "python") -> dict[str, Any]:
        return {"role": "user", "content": f"hi in {mode}"}


def sdk_objects(message: SdkMessage) -> int:
    print(il.validate(message), il.plan([message], "anthropic"), il.view("flat").write([message]))
    return il.estimate_input_tokens([message])


def content(block: il.Block) -> str:
    match block:
        case il.TextBlock() | il.ThinkingBlock() | il.RefusalBlock() | il.ToolResultBlock():
            return block.text
        case il.ToolUseBlock(name=name):
            return name
        case il.ImageBlock(source=source) | il.AudioBlock(source=source):
            return source.kind
        case il.VideoBlock(source=source) | il.DocumentBlock(source=source):
            return source.kind
        case il.RedactedThinkingBlock() | il.CompactionBlock() | il.UnknownBlock():
            return block.type
        case _:
            assert_never(block)


def messages() -> tuple[il.Message, ...]:
    image = il.ImageBlock(il.Source("url", "https://example.com/a.png"), cache=il.Cache())
    call = il.ToolUseBlock("call_1", "weather", {"city": "Ulm"})
    result = il.ToolResultBlock("call_1", (il.TextBlock("Rain."),))
    history = (
        il.Message.system("Be brief."),
        il.Message.user(["Look.", image]),
        il.Message.assistant(call, il.MessageMetadata(usage=il.Usage(1, 2))),
        il.Message.of_result(result),
    )
    for message in history:
        if isinstance(message, il.UserMessage | il.AssistantMessage | il.ToolMessage):
            print(message.text, message.tool_call_id, content(message.content[0]))
    assert il.loads(il.dumps(history[0]), il.Message) == history[0]
    violations: list[il.Violation] = il.validate(history)
    print(violations, il.estimate_input_tokens(history), il.Role.USER, il.Citation, il.Changes)
    return history


def values(history: tuple[il.Message, ...]) -> il.Request:
    options = il.Options(
        compaction=il.Compaction(threshold=100_000),
        task_budget=il.TaskBudget(total=500_000),
        temperature=0,
        tool_choice=il.ToolChoice("auto"),
        reasoning=il.Reasoning("high"),
        response_format=il.ResponseFormat("json"),
    )
    definition = il.ToolDefinition(
        "getWeather", "The weather.", {"type": "object"}, il.SideEffects.READ
    )
    request = il.Request(history, "gpt-5", (definition,), options)
    fitted: il.Fitted = il.fit(request, il.profile_of("openai:gpt-5", "openai-chat"))
    retold: il.Retold = il.retell(request, il.dialect("anthropic"))
    for adapted in (fitted, retold):
        print(adapted.value, adapted.report)
    print(il.Adapted, il.Profile, il.recover('{"a": 1'), il.schema_of("{}"), il.Grammar)
    print(il.view("flat").write(history), il.Continues, il.AdapterOptions, il.Diagnostic)
    print(il.StopReason.END_TURN, il.MessageStatus.COMPLETE, il.RoutingMode, il.RoutingRecord)
    print(il.RoutingDecisionRecord, il.ErrorKind.OTHER, il.ImageSource, il.ContentBlock)
    return request


def words() -> il.Request:
    """What the program accepts in place of its own values."""
    message = il.Message("user", ["Look.", {"type": "text", "text": "Here."}])
    picture = il.ImageBlock("https://example.com/a.png")
    result = il.ToolResultBlock("call_1", "Rain.")
    print(picture.source.kind, result.text, il.Frame(data="{}").data)
    print(il.MessageMetadata(status="error", stop_reason="end_turn").status.value)
    print(il.RoutingRecord("manual", "a:b", "because"), il.ProviderError("rate_limit", "x"))
    print(il.InputTransformation("removed", "prefix_mismatch", path="messages.1"))
    options = il.Options(max_tokens=9, tool_choice="required", stop="END", reasoning="high")
    tool = il.ToolDefinition("f", "Does.", parameters={"type": "object"}, side_effects="read")
    print(il.Request("hi", tools=[weather], options={"temperature": 0}), il.ToolChoice("required"))
    return il.Request([message, {"role": "user", "content": "hi"}], "gpt-5", [tool], options)


def answers(client: il.Client, history: tuple[il.Message, ...]) -> Decimal | None:
    answer = client.generate("sonnet", history, temperature=0, max_tokens=100)
    assert_type(answer, il.Answer)
    assert_type(answer.cost, Decimal | None)
    print(il.refusal_category(answer.response))
    parsed: il.Parsed[City] = client.parse("sonnet", "A city, please.", City)
    assert_type(parsed.value.people, int)
    assert_type(client.parse("sonnet", "Cities.", list[City]).value, list[City])
    run: il.Run = client.run("sonnet", "Weather in Ulm?", [weather], max_rounds=2)
    print(run.text, run.usage, run.cost, il.transcripts.formats(), il.views, il.bulk, il.arrow)
    with client.stream("sonnet", "Tell me a story.") as stream:
        for event in stream:
            if event.type == "text_delta":
                print(event.text)
    response: il.Response = stream.response()
    events: list[il.StreamEvent] = il.unfold(response)
    print(il.fold(events), il.fold_all(events), il.with_partial_input, il.Middleware)
    return answer.cost


def failures(client: il.Client) -> None:
    try:
        client.generate("gpt-5", "hi")
    except il.RateLimitError as error:
        print(error.retry_after)
    except (il.AuthError, il.ContextOverflowError, il.InvalidRequestError) as error:
        print(error.status)
    except (il.CallTimeoutError, il.NetworkError, il.ServerError, il.CallCancelledError):
        print("again")
    except (il.TooLargeError, il.ProviderFailure, il.CallError) as error:
        print(error.partial, il.ProviderError(il.ErrorKind.OTHER, "x"))
    except (il.AmbiguousAliasError, il.UnknownAliasError) as error:
        print(error)
    except (il.AmbiguousModelError, il.UnknownModelError, il.NoModelError) as error:
        print(error)
    except (il.OutputError, il.ReadError, il.WriteError, il.DetectError, il.DepthError):
        raise
    except (il.SchemaError, il.ToolInputError, il.MissingExtraError, il.UnknownCostError):
        raise
    except (il.MissingSettingError, il.UnknownProviderError, il.ProviderSetupError) as error:
        print(error)
    except (il.McpError, il.WorkspaceError, il.AttachmentError, il.DelegateError) as error:
        print(error)
    except (il.TaskError, il.TranscriptError, il.ProfileError, il.LocalModelError) as error:
        print(error)
    except (il.SwapError, il.SessionError, il.TurnError) as error:
        print(error)
    except il.RoutingError as error:
        print(error)
    except (il.ConflictError, il.NotFoundError, il.StoreError) as error:
        print(error)
    except il.InterlinguaError as error:
        print(error)


def money(usage: il.Usage) -> Decimal | None:
    priced = il.priced(usage, "gpt-5")
    breakdown: il.CostBreakdown | None = priced.cost_breakdown
    table = il.PriceTable.load("prices.toml")
    cost: il.Cost = table.cost("gpt-5", input_tokens=1, output_tokens=1)
    known: il.Capabilities = il.capabilities("gpt-5")
    print(breakdown, cost.total, known.supports_tools, il.AdapterCapabilities)
    return priced.cost_usd


def sessions(store: il.Store, client: il.Client) -> None:
    registry = il.ToolRegistry([weather])
    session = il.Session.create(store, model="sonnet", tools=registry)
    chat = il.Chat(session, client)
    for event in chat.say("hi", temperature=0):
        if event.type == "tool_result":
            print(event.text)
    assert_type(chat.ask("And now?"), il.Answer)
    assert_type(chat.parse("A city.", City).value, City)
    plan: il.SwapPlan = session.plan("gpt-5")
    print(plan.text, il.Adapter, il.IdMap, il.RequestContext, il.new_assistant_message)
    dispatcher = il.Dispatcher(registry, workspace=il.Workspace("."))
    agent = il.Agent.create(store, model="sonnet", tools=[weather])
    agent.run(client, dispatcher)
    print(il.Delegation, il.CallContext, il.ToolRun, il.Bus(), il.Dialect)
    print(
        il.Router,
        il.Registry,
        il.ModelEntry,
        il.McpServer(name="files", command="x"),
        il.McpServers,
    )


def deciding(client: il.Client) -> il.Decided:
    done = client.decide("sonnet", "My parcel is late!", {"angry": "The customer is angry."})
    answer: il.DecisionAnswer = done["angry"]
    print(answer.value, il.Question, il.QuestionOption, il.decide)
    diagnosis = il.CacheDiagnosis("miss", "tools_changed")
    print(diagnosis.outcome, done.report)
    return done


async def later(store: il.AsyncStore) -> None:
    async with il.AsyncChat("sonnet", tools=[weather]) as alone:
        assert_type((await alone.ask("hi")).cost, Decimal | None)
    async with il.open_async_store("chat.db") as other, il.AsyncClient() as client:
        session = await il.AsyncSession.create(other, model="sonnet")
        chat = il.AsyncChat(session, client)
        assert_type((await chat.parse("A city.", City)).value, City)
        assert_type((await client.parse("sonnet", "A city.", City)).value, City)
        async for event in chat.say("hi"):
            print(event.type)
        agent = await il.AsyncAgent.create(store, model="sonnet")
        await agent.run(client)


def main() -> None:
    with il.Client() as client, il.open_store("chat.db") as store:
        history = messages()
        print(converting(), values(history), answers(client, history), money(il.Usage(1, 1)))
        failures(client)
        deciding(client)
        sessions(store, client)
    asyncio.run(later(asyncio.run(open_store())))


async def open_store() -> il.AsyncStore:
    return await il.open_async_store("chat.db")
