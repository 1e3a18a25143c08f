"""`python -m tests.gateway.faults.continued`: streams that break off at every byte of them, through
the gateway, on routes that go on (`on_break = "continue"`); `--recorded` for recorded traffic.

The next attempt is a scripted model that goes on as it is asked to (`same`), another one of the
route after the first has failed (`other`), one that breaks off once more (`twice`), or one that
writes something else (`lies`) or begins anew (`restarts`).

The laws: a client that hears that its answer is whole has exactly the text and the calls of the
answer that never broke off, and the thinking of the first attempt that sent any; any other has an
error, and no more than a beginning of that text. Of a model that takes the beginning of its answer,
everything is believed but that it begins anew."""

from __future__ import annotations

import argparse
import asyncio
import json
import random
from collections import Counter
from collections.abc import Iterator
from itertools import count
from typing import Any, NamedTuple

import msgspec

import interlingua as il
from interlingua.client.retry import Budget, RetryPolicy
from interlingua.client.targets import Targets
from interlingua.client.transport import HttpRequest, Limits, TransportError
from interlingua.dialects.framing import decoder, encoder
from interlingua.gateway.gateway import Gateway
from interlingua.gateway.idempotency.replies import is_whole_stream
from interlingua.gateway.relay.app import App
from interlingua.gateway.relay.continued import instruction
from interlingua.gateway.relay.joined import call_instruction
from interlingua.gateway.settings import RouteSettings, Settings
from interlingua.model.events import MessageComplete, Stop, TextDelta, ToolUseInputDelta
from tests.gateway.faults.cuts import BACKS, FRONTS, Cut, Noted, body_of, has_error
from tests.gateway.loops import post
from tests.laws import cuts as laws

HOWS = ("same", "other", "twice", "lies", "restarts")
ALL_FRONTS = {
    **FRONTS,
    "bedrock": "/model/back-gemini/converse-stream",
    "cohere": "/v2/chat",
    "gemini-interactions": "/v1beta/interactions",
}
ALL_BACKS = {
    **BACKS,
    "bedrock": "bedrock:us.anthropic.claude-sonnet-4-6",
    "cohere": "cohere:command-a-03-2025",
    "gemini-interactions": "gemini:gemini-3-pro-preview",
}
PREFILL = "anthropic:claude-sonnet-4-5"
"""It takes the beginning of its answer."""
OTHERS = {"anthropic": "openai:gpt-5-mini"}
"""Which model goes on for a dialect; for the rest it is Anthropic's."""
HEAD, _, END = instruction().partition("{}")
CALL = call_instruction().partition("{")[0]
"""How the instruction begins that asks for the rest of a call."""
LIE = "Something else altogether, which is not what was asked for."
TEXT = "It rains in Vienna, and it rains in Graz; 世界 🙂 takes an umbrella.\n\n- one\n- two "
ANSWER = (
    il.ThinkingBlock("Let me see. Two cities."),
    il.TextBlock(TEXT),
    il.ToolUseBlock("call_1", "weather", {"city": "Vienna", "days": [1, 2]}),
    il.ToolUseBlock("call_2", "weather", {"city": "Graz"}),
)


class Case(NamedTuple):
    front: str
    back: str
    at: int
    how: str
    ending: str


class Heard(NamedTuple):
    """What a client has of an answer."""

    text: str
    thinking: str
    calls: list[tuple[str, Any]]
    stop: Any


def asking(front: str, back: str) -> dict[str, Any]:
    """A request for a stream, in the words of a front."""
    if front == "bedrock":
        return {"messages": [{"role": "user", "content": [{"text": "hi"}]}]}
    if front == "gemini-interactions":
        return {"model": f"back-{back}", "stream": True, "input": "hi"}
    return body_of(front, back)


def written(dialect: str, response: il.Response) -> bytes:
    writer, encode = il.dialect(dialect).stream_writer(), encoder(dialect)
    frames = []
    for event in il.unfold(response):
        pieces = [event]
        if isinstance(event, TextDelta | ToolUseInputDelta):
            pieces = [
                event.replace(text=event.text[n : n + 9]) for n in range(0, len(event.text), 9)
            ]
        frames += [frame for piece in pieces for frame in writer.feed(piece)]
    return b"".join([encode(frame) for frame in (*frames, *writer.close())])


def tools_of(whole: il.Response) -> tuple[il.ToolDefinition, ...]:
    """Tools that take what the answer calls them with."""
    calls = [block for block in whole.message.content if isinstance(block, il.ToolUseBlock)]
    names = dict.fromkeys([call.name for call in calls if call.executor == "client"])
    schema = {"type": "object", "properties": {}}
    return tuple([il.ToolDefinition(name, "A tool.", schema) for name in names])


def response_of(*blocks: il.Block) -> il.Response:
    reason = il.StopReason.END_TURN
    if any(isinstance(block, il.ToolUseBlock) for block in blocks):
        reason = il.StopReason.TOOL_USE
    metadata = il.MessageMetadata(
        response_id="r1", response_model="m", usage=il.Usage(21, 13), stop_reason=reason
    )
    return il.Response(il.Message.assistant(blocks, metadata))


def rest_of_call(asked: str, whole: il.Response) -> il.Response:
    """What a good model answers that is asked for the rest of a call: that, and further calls."""
    _, arguments, _, anchor, _ = asked.split("\n\n")
    content = whole.message.content
    for index, block in enumerate(content):
        if isinstance(block, il.ToolUseBlock):
            for text in spellings(block):
                if text.startswith(arguments):
                    rest = il.TextBlock(anchor + text[len(arguments) :])
                    thought = il.ThinkingBlock("Where was I?")
                    blocks = (thought, rest, *content[index + 1 :])
                    return il.Response(whole.message.replace(content=blocks))
    return response_of(il.TextBlock("I cannot go on with that."))


def spellings(block: il.ToolUseBlock) -> list[str]:
    """The arguments of a call as providers write them."""
    plain = [json.dumps(block.input), json.dumps(block.input, ensure_ascii=False)]
    plain.append(msgspec.json.encode(block.input).decode())
    return plain if block.raw_arguments is None else [block.raw_arguments, *plain]


def rest_of(request: il.Request, whole: il.Response) -> il.Response:
    """What a good model answers: the whole, or the rest of it."""
    last, messages = request.messages[-1], request.messages
    if last.role is il.Role.USER and last.text.startswith(CALL):
        return rest_of_call(last.text, whole)
    anchor = ""
    if last.role is il.Role.USER and last.text.startswith(HEAD[:40]):
        anchor = last.text[len(HEAD) : -len(END)]
        messages = messages[:-1]
    elif last.role is not il.Role.ASSISTANT:
        return whole
    sent = "".join([b.text for b in messages[-1].content if isinstance(b, il.TextBlock)])
    blocks: list[il.Block] = [il.ThinkingBlock("Where was I?")] if anchor else []
    for block in whole.message.content:
        if isinstance(block, il.TextBlock):
            part, sent_now = block.text, min(len(sent), len(block.text))
            if part[:sent_now] != sent[:sent_now]:
                raise ValueError(f"the model sees {sent[:300]!r}, the answer has {part[:300]!r}")
            sent, part = sent[sent_now:], part[sent_now:]
            if not sent and (part or anchor):
                blocks.append(block.replace(text=anchor + part, raw=None))
                anchor = ""
        elif not sent and not isinstance(block, il.ThinkingBlock):
            blocks.append(block)
    message = whole.message.replace(content=tuple(blocks))
    return il.Response(message)


class Provider:
    """Breaks off where it is told, and goes on as it is told."""

    def __init__(self) -> None:
        self.first = Cut(b"", "break")
        self.whole = response_of()
        self.how = "same"
        self.asked = 0
        self.prefilled = False
        self.completed = False
        self.spoken: set[str] = set()
        """The dialects of the attempts that went on."""

    async def send(self, request: HttpRequest, limits: Limits) -> Any:
        self.asked += 1
        if self.asked == 1:
            return self.first
        name = dialect_at(request.url)
        self.spoken.add(name)
        read = il.dialect(name).read_request(request.body)
        self.completed |= read.messages[-1].text.startswith(CALL)
        self.prefilled |= read.messages[-1].role is il.Role.ASSISTANT
        answer = rest_of(read, self.whole)
        if self.how == "restarts":
            answer = self.whole
        if self.how == "lies":
            return Cut(written(name, response_of(il.TextBlock(LIE))), "end")
        if self.how == "other" and self.asked == 2:
            raise TransportError("connect", "connection refused", sent=False)
        data = written(name, answer)
        if self.how == "twice" and self.asked == 2:
            return Cut(data[: len(data) // 2], "break")
        return Cut(data, "end")


def dialect_at(url: str) -> str:
    paths = {"/chat/completions": "openai-chat", "/responses": "openai-responses"}
    paths |= {"/messages": "anthropic", "GenerateContent": "gemini", "/api/chat": "ollama"}
    paths |= {"/converse-stream": "bedrock", "/v2/chat": "cohere"}
    paths |= {"/interactions": "gemini-interactions"}
    return next(name for path, name in paths.items() if path in url)


class Sweep:
    """One gateway, and its provider."""

    def __init__(self, provider: Provider | None = None) -> None:
        self.provider, self.noted = provider or Provider(), Noted()
        self.expected: dict[tuple[str, str, bytes], Heard] = {}
        providers = {model.partition(":")[0] for model in ALL_BACKS.values()}
        keys = dict.fromkeys(sorted(providers), "k")
        routes = {
            f"back-{name}": RouteSettings(
                PREFILL if name == "anthropic" else model,
                (OTHERS.get(name, PREFILL),),
                dialect=name,
                on_break="continue",
            )
            for name, model in ALL_BACKS.items()
        }
        self.app = App(
            Gateway(
                Settings(routes=routes, retry=RetryPolicy(0), raises=True),
                targets=Targets(
                    keys=keys, base_urls=dict.fromkeys(keys, "http://127.0.0.1:9"), environ={}
                ),
                transport=self.provider,
                trace=self.noted,
                budget=Budget(share=1e9),
            )
        )

    async def answer(self, front: str, back: str) -> tuple[int, bytes]:
        self.provider.asked, self.provider.prefilled, self.provider.completed = 0, False, False
        self.provider.spoken = set()
        path = ALL_FRONTS[front].replace("back-gemini", f"back-{back}")
        body = asking(front, back)
        if tools := tools_of(self.provider.whole):
            offered = il.Request((il.Message.user("hi"),), tools=tools, model="m")
            wire = il.dialect(front).write_request(offered).wire
            body |= {name: wire[name] for name in ("tools", "toolConfig") if name in wire}
        return await post(self.app, path, body)

    async def way(self, front: str, back: str, data: bytes) -> Heard:
        """The answer that never broke off."""
        if (front, back, data) not in self.expected:
            self.provider.first = Cut(data, "end")
            _, reply = await self.answer(front, back)
            self.expected[front, back, data] = heard(front, reply)
        return self.expected[front, back, data]

    async def wrong(self, case: Case, data: bytes, whole: il.Response) -> tuple[str, str | None]:
        """What came of a case, and what is wrong with it."""
        provider, front = self.provider, case.front
        provider.whole, provider.how = whole, case.how
        ways = [await self.way(front, case.back, data)]
        provider.first = Cut(data[: case.at], case.ending)
        try:
            status, reply = await self.answer(front, case.back)
        except ValueError as error:  # the model does not know what it sees as its own
            # A summary is text where a dialect has no block for it, and the next model sees that.
            is_known = any(isinstance(each, il.CompactionBlock) for each in whole.message.content)
            return ("summarized", None) if is_known else ("", str(error))
        exchange = self.noted.last
        assert exchange is not None
        if status != 200:
            return "refused", None
        asked, completed = provider.asked, provider.completed and provider.asked == 2
        prefilled = provider.prefilled
        for name in sorted(provider.spoken):
            ways.append(await self.way(front, name, written(name, whole)))
        provider.prefilled = prefilled
        is_whole, got = is_whole_stream(front, reply), heard(front, reply)
        if is_whole != (exchange.outcome.error is None):
            return "", f"whole: {is_whole}, noted: {exchange.outcome.error}"
        if pieces(front, reply) != got.text:
            return "", f"the pieces are {pieces(front, reply)!r}, the text is {got.text!r}"
        if is_whole and asked == 1 and got != ways[0] and has_ended(case, data[: case.at]):
            return "ended early", None if is_beginning(got, ways) else f"{got} is not in {ways}"
        if is_whole:
            if got != ways[0] and not (asked > 1 and is_allowed(case, provider, got, ways)):
                return "", f"{got} is none of {ways}"
            return "completed" if completed else "whole" if asked == 1 else "continued", None
        if not has_error(front, reply):
            return "", "the client is told of no error"
        if not is_beginning(got, ways):
            return "", f"{got} is no beginning of any of {ways}"
        is_good = case.how not in ("lies", "restarts") and whole.message.content == ANSWER
        if is_good and not stopped(case.back, data[: case.at]):
            return "", f"it was given up after {asked} attempts: {reply[-300:]!r}"
        return "given up", None


def is_allowed(case: Case, provider: Provider, got: Heard, ways: list[Heard]) -> bool:
    """Whether a whole answer is what the `ways` have in which its front shows the answer that never
    broke off: as its own provider wrote it, and as those write it that went on with it. What one
    of them has no place for (a refusal, a picture, a word for why it stopped) differs, but each
    part has to be as one of them has it. Of thinking a client has whole blocks of the first attempt
    that sent any: nobody goes on with half a thought, and later thoughts are on how to go on."""
    if case.how == "lies" and LIE in got.text:
        # One that takes the beginning of its answer is believed; another only if nothing was sent
        # that can be seen.
        before = got.text.removesuffix(LIE)
        is_believed = provider.prefilled or not before.strip()
        return is_believed and not got.calls and ways[0].text.startswith(before)
    parts = [b.text for b in provider.whole.message.content if isinstance(b, il.ThinkingBlock)]
    has_stop = provider.whole.message.metadata.stop_reason is not None  # else they guess
    between = ("", "\n", "\n\n")  # of several thoughts, where a dialect has one text for all
    thoughts = {sep.join(parts[:size]) for sep in between for size in range(len(parts) + 1)}
    return (
        any(got.text == way.text for way in ways)
        and any(got.calls == way.calls for way in ways)
        and (not has_stop or any(got.stop == way.stop for way in ways))
        and got.thinking in {*thoughts, *[way.thinking for way in ways]}
    )


def has_ended(case: Case, data: bytes) -> bool:
    """Whether the provider itself has ended its answer: the last piece says why it stopped, and
    nothing shows that another was under way. Some hosts give a reason before they go on: where the
    connection ends just then in good order (for a text of Chat the reason suffices), no client
    could know."""
    keys = {"openai-chat": ("choices", "finish_reason"), "gemini": ("candidates", "finishReason")}
    if case.back not in keys:
        return False
    if case.ending == "break" and (case.back == "gemini" or b'"tool_calls"' in data):
        return False
    *whole, rest = data.replace(b"\r\n", b"\n").split(b"\n")
    frames = [line.removeprefix(b"data:").strip() for line in whole]
    read = [json.loads(frame) for frame in frames if frame.startswith(b"{")]
    answers, word = keys[case.back]
    last = next((each[answers] for each in reversed(read) if each.get(answers)), [])
    return not rest.strip() and bool(last) and all(each.get(word) for each in last)


def is_beginning(got: Heard, ways: list[Heard]) -> bool:
    """Whether a client that got an error has nothing but what the answer begins with."""
    return (
        any(way.text.startswith(got.text) for way in ways)
        and any(way.thinking.startswith(got.thinking) for way in ways)
        and any(way.calls[: len(got.calls)] == got.calls for way in ways)
    )


def pieces(front: str, told: bytes) -> str:
    """The text of a stream as a client shows it that knows nothing but its pieces."""
    data = [line.removeprefix(b"data:").strip() for line in told.split(b"\n")]
    if front == "bedrock":
        frames = decoder(front)
        data = [frame.data.encode() for frame in (*frames.feed(told), *frames.close())]
    return "".join([_text_in(json.loads(each), front) for each in data if each.startswith(b"{")])


def _text_in(frame: Any, front: str) -> str:
    match frame:
        case {"choices": [{"index": 0, "delta": {"content": str(piece)}}, *_]}:
            return piece
        case {"type": "response.output_text.delta", "delta": str(piece)}:
            return piece
        case {"type": "content_block_delta", "delta": {"type": "text_delta", "text": str(piece)}}:
            return piece
        case {"candidates": [{"content": {"parts": parts}, **rest}, *_]} if not rest.get("index"):
            return "".join([p.get("text", "") for p in parts if not p.get("thought")])
        case {"message": {"content": str(piece)}} if front == "ollama":
            return piece
        case {"contentBlockIndex": int(), "delta": {"text": str(piece)}}:
            return piece
        case {"type": "content-delta", "delta": {"message": {"content": {"text": str(piece)}}}}:
            return piece
        case {"type": "tool-plan-delta", "delta": {"message": {"tool_plan": str(piece)}}}:
            return piece
        case {"event_type": "step.delta", "delta": {"type": "text", "text": str(piece)}}:
            return piece
    return ""


def heard(front: str, told: bytes) -> Heard:
    frames, reader = decoder(front), il.dialect(front).stream_reader()
    events = [e for f in (*frames.feed(told), *frames.close()) for e in reader.feed(f)]
    message = il.fold([e for e in (*events, *reader.close()) if not e.choice]).message
    thinking = [b.text for b in message.content if isinstance(b, il.ThinkingBlock)]
    calls = [(b.name, b.input) for b in message.content if isinstance(b, il.ToolUseBlock)]
    stop = message.metadata.stop_reason
    if stop is il.StopReason.STOP_SEQUENCE:
        stop = il.StopReason.END_TURN  # others have one word for both
    return Heard(message.text, "".join(thinking), calls, stop)


def stopped(back: str, data: bytes) -> bool:
    """Whether the provider has said why it stopped."""
    frames, reader = decoder(back), il.dialect(back).stream_reader()
    try:
        read = [*frames.feed(data), *frames.close()]
        return any(isinstance(event, Stop) for frame in read for event in reader.feed(frame))
    except il.ReadError:
        return False


def cases(back: str, size: int, every: int = 1) -> Iterator[Case]:
    for at in range(0, size + 1, every):
        for number, front in enumerate(ALL_FRONTS):
            how = HOWS[(at // every + number) % len(HOWS)]
            yield Case(front, back, at, how, ("end", "break")[(at // every + number // 2) % 2])


async def generated(size: int, seed: int) -> tuple[Counter[str], list[str]]:
    """So many cuts of streams that our writers make; all of them where that is fewer."""
    here, whole = Sweep(), response_of(*ANSWER)
    streams = {name: written(name, whole) for name in ALL_BACKS}
    chosen = [case for name, data in streams.items() for case in cases(name, len(data))]
    if size < len(chosen):
        chosen = random.Random(seed).sample(chosen, size)
    counts: Counter[str] = Counter()
    wrong: list[str] = []
    for case in chosen:
        result, problem = await here.wrong(case, streams[case.back], whole)
        counts[result] += 1
        if problem is not None:
            wrong.append(f"{case}: {problem}")
    return counts, wrong


def streams(dialects: list[str]) -> Iterator[tuple[str, str, list[bytes], il.Response]]:
    """Recorded streams of one answer, in frames."""
    for name, record, frames in laws.recorded(dialects):
        reader = il.dialect(name).stream_reader()
        try:
            events = [event for frame in frames for event in reader.feed(frame)]
            events += reader.close()
        except il.ReadError:
            continue
        if sum(isinstance(event, MessageComplete) for event in events) == 1:
            yield name, record, [encoder(name)(frame) for frame in frames], il.fold(events)


def places(pieces: list[bytes], every: int | None) -> Iterator[int]:
    """Every so many bytes; or in each frame its edges and its middle, between which a cut makes no
    difference: what there is of a frame is not used."""
    if every is not None:
        yield from range(0, sum(map(len, pieces)), every)
        return
    at = 0
    for piece in pieces:
        yield from sorted({at, at + 1, at + len(piece) // 2, at + len(piece) - 1})
        at += len(piece)


async def recorded(
    dialects: list[str], every: int | None, share: int, first: int, seed: int
) -> tuple[Counter[str], list[str]]:
    """One in so many cuts of all recorded streams, from the `first` of them on."""
    here = Sweep()
    counts: Counter[str] = Counter()
    wrong: list[str] = []
    chance, number = random.Random(seed), count()
    for name, record, parts, whole in streams(dialects):
        data = b"".join(parts)
        counts["streams"] += 1
        here.expected.clear()
        for at in places(parts, every):
            if next(number) % share != first:
                continue
            front = chance.choice(list(ALL_FRONTS))
            case = Case(front, name, at, chance.choice(HOWS), chance.choice(("end", "break")))
            result, problem = await here.wrong(case, data, whole)
            counts[result] += 1
            if problem is not None:
                wrong.append(f"{record} {case}: {problem}")
                print(wrong[-1][:1500], flush=True)
    return counts, wrong


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--count", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--recorded", action="store_true")
    parser.add_argument("--dialect", action="append", help="only recorded streams of this one")
    parser.add_argument("--every", type=int, help="bytes between the cuts of recorded ones")
    parser.add_argument("--share", type=int, default=1, help="only one in so many of these cuts")
    parser.add_argument("--first", type=int, default=0, help="with --share: which of them first")
    options = parser.parse_args()
    work = generated(options.count, options.seed)
    if options.recorded:
        work.close()
        work = recorded(
            options.dialect or list(ALL_BACKS),
            options.every,
            options.share,
            options.first,
            options.seed,
        )
    counts, wrong = asyncio.run(work)
    print(f"{dict(counts)}, {len(wrong)} wrong")
    for line in wrong[:20]:
        print(line[:1500])
    raise SystemExit(bool(wrong))


if __name__ == "__main__":
    main()
