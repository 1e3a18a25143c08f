"""Thirty ways in which a translation can be wrong and look right: `python -m tests.laws.thirty`.

Each case has a wire of its own and asks the judge what it sees. Run with another version of the
package on the path, the command says which of them that version has:

    PYTHONPATH=<its src> python -m tests.laws.thirty
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import msgspec

import interlingua as il
from interlingua.streams.frames import Frame
from tests.laws import acceptable, rules, streams
from tests.laws.judge import translation

Check = Callable[[], list[str]]


class Case(NamedTuple):
    name: str
    check: Check
    may_refuse: bool = False
    """Whether a refusal with an error of ours would do as well."""


CASES: list[Case] = []


def case(name: str, may_refuse: bool = False) -> Callable[[Check], Check]:
    def add(check: Check) -> Check:
        CASES.append(Case(name, check, may_refuse))
        return check

    return add


def seen(each: Case) -> list[str]:
    """What the judge has to say about a case; an exception that is not ours is a problem too."""
    try:
        return each.check()
    except il.InterlinguaError as error:
        return [] if each.may_refuse else [f"refused: {error}"]
    except Exception as error:  # this is what is looked for
        return [f"crashed: {type(error).__name__}: {error}"]


def taken(source: str, target: str, wire: Any, model: str | None = None) -> list[str]:
    """Translated, and held against what the target's service takes."""
    written = il.convert(wire, source, target, "request", model).wire
    return [*acceptable.problems(target, "request", written), *rules.problems(target, written)]


def sse(*data: Any, named: bool = False) -> list[Frame]:
    return [
        Frame(each["type"] if named else None, each if isinstance(each, str) else _json(each))
        for each in data
    ]


def _json(data: Any) -> str:
    return msgspec.json.encode(data).decode()


def chunk(delta: Any, finish: str | None = None, **more: Any) -> Any:
    head = {"id": "chatcmpl-7", "object": "chat.completion.chunk", "created": 7, "model": "m-7"}
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return {**head, "choices": [choice], **more}


def chat(*messages: Any, **more: Any) -> Any:
    return {"model": "m-7", "messages": list(messages), **more}


def user(text: str = "Is the ferry running?") -> Any:
    return {"role": "user", "content": text}


def google(*contents: Any, **more: Any) -> Any:
    asked = {"role": "user", "parts": [{"text": "Is the ferry running?"}]}
    return {"contents": list(contents) or [asked], **more}


CALL = {
    "id": "call_ferry",
    "type": "function",
    "function": {"name": "timetable", "arguments": '{"pier":3}'},
}
ANSWER = {"role": "tool", "tool_call_id": "call_ferry", "content": "At noon."}
TARGETS = ("anthropic", "bedrock", "gemini", "ollama", "openai-chat", "openai-responses")


def everywhere(source: str, kind: str, wire: Any, model: str | None = None) -> list[str]:
    return [
        f"to {target}: {each}"
        for target in TARGETS
        if target != source
        for each in translation.abroad(source, target, kind, wire, model)
    ]


# -- what a model made goes back to it ------------------------------------------------------------


@case("a model's own reasoning goes back to it")
def own_reasoning() -> list[str]:
    thought = {"role": "assistant", "content": None, "reasoning_content": "Pier 3, I think."}
    wire = chat(user(), {**thought, "tool_calls": [CALL]}, ANSWER, model="deepseek-reasoner")
    return translation.own("openai-chat", "request", wire)


@case("what a provider keeps is still gone on from")
def own_continues() -> list[str]:
    output = {"type": "function_call_output", "call_id": "call_ferry", "output": "At noon."}
    wire = {"model": "m-7", "input": [output], "previous_response_id": "resp_7"}
    return translation.own("openai-responses", "request", wire)


# -- what is asked for ----------------------------------------------------------------------------


@case("a limit that nobody set is told")
def default_limit() -> list[str]:
    return translation.abroad("openai-chat", "anthropic", "request", chat(user()))


@case("thinking that is wanted, and no more, is said or told")
def adaptive() -> list[str]:
    wire = chat(user(), max_tokens=900, thinking={"type": "adaptive"})
    return everywhere("anthropic", "request", wire)


@case("thinking switched on by a host's own word is said or told")
def switched_on() -> list[str]:
    switch = {"thinking": {"type": "enabled"}}
    asked = {"role": "user", "content": [{"text": "Is the ferry running?"}]}
    bedrock = {"messages": [asked], "inferenceConfig": {"maxTokens": 900}}
    bedrock["additionalModelRequestFields"] = {"thinking": {"type": "adaptive"}}
    return [
        *everywhere("openai-chat", "request", chat(user(), max_tokens=900, **switch)),
        *everywhere("bedrock", "request", bedrock, "m-7"),
    ]


@case("a thinking budget is one that the service takes")
def budget() -> list[str]:
    found = []
    for tokens, most in ((300, 9000), (5000, 4000)):
        config = {"thinkingConfig": {"thinkingBudget": tokens}, "maxOutputTokens": most}
        for target in ("anthropic", "bedrock"):
            found += taken("gemini", target, google(generationConfig=config), "m-7")
    return found


@case("metadata is no billing label")
def labels() -> list[str]:
    wire = chat(user(), metadata={"Trip No": "Pier 3"})
    return translation.abroad("openai-chat", "gemini", "request", wire)


@case("parallel calls are not spoken of without tools")
def parallel() -> list[str]:
    wire = {"model": "m-7", "input": "Is the ferry running?", "parallel_tool_calls": False}
    return taken("openai-responses", "openai-chat", wire)


# -- tools ----------------------------------------------------------------------------------------


@case("the grammar of a tool crosses between those who have it")
def grammar() -> list[str]:
    rule = {"syntax": "lark", "definition": "start: /PIER [0-9]+/"}
    there = {"name": "pier", "format": {"type": "grammar", "grammar": rule}}
    here = {"type": "custom", "name": "pier", "format": {"type": "grammar", **rule}}
    first = chat(user(), tools=[{"type": "custom", "custom": there}])
    second = {"model": "m-7", "input": "Is the ferry running?", "tools": [here]}
    return [
        *translation.abroad("openai-chat", "openai-responses", "request", first),
        *translation.abroad("openai-responses", "openai-chat", "request", second),
    ]


def _declared(schema: Any, name: str = "timetable") -> Any:
    return {"tools": [{"functionDeclarations": [{"name": name, "parameters": schema}]}]}


@case("a schema is adapted however its keys are spelled")
def snake_schema() -> list[str]:
    choice = {"any_of": [{"type": "INTEGER"}, {"type": "STRING"}]}
    schema = {"type": "OBJECT", "properties": {"pier": choice}}
    config = {"maxOutputTokens": 900}
    wire = google(**_declared(schema), generationConfig=config)
    return everywhere("gemini", "request", wire, "m-7")


@case("what may be null may still be null")
def nullable_enum() -> list[str]:
    side = {"type": "STRING", "nullable": True, "enum": ["north", "south"]}
    schema = {"type": "OBJECT", "properties": {"side": side}}
    config = {"maxOutputTokens": 900}
    wire = google(**_declared(schema), generationConfig=config)
    return everywhere("gemini", "request", wire, "m-7")


@case("a tool has a name that the service takes")
def tool_name() -> list[str]:
    function = {"name": "3rd-pier", "parameters": {"type": "object", "properties": {}}}
    wire = chat(user(), tools=[{"type": "function", "function": function}])
    return taken("openai-chat", "gemini", wire)


@case("a tool that came later was not there before")
def later_tools() -> list[str]:
    tool = {"type": "function", "name": "timetable", "parameters": {}, "strict": False}
    added = {"type": "additional_tools", "role": "developer", "tools": [tool]}
    first = {"model": "m-7", "input": [user("Hello"), added, user()]}
    reference = {"type": "tool_addition", "tool": {"type": "tool_reference", "name": "timetable"}}
    later = {"role": "system", "content": [reference]}
    defined = {"name": "timetable", "input_schema": {"type": "object"}, "defer_loading": True}
    second = chat(user("Hello"), later, user(), max_tokens=900, tools=[defined])
    return [
        *translation.abroad("openai-responses", "openai-chat", "request", first),
        *translation.abroad("anthropic", "openai-chat", "request", second),
        *translation.abroad("anthropic", "gemini", "request", second),
    ]


# -- history --------------------------------------------------------------------------------------


@case("history may begin with a call")
def call_first() -> list[str]:
    wire = chat({"role": "assistant", "content": None, "tool_calls": [CALL]}, ANSWER)
    return taken("openai-chat", "gemini", wire)


@case("an empty text is not sent where it is refused")
def empty_part() -> list[str]:
    empty = {"role": "assistant", "content": [{"type": "text", "text": ""}]}
    wire = chat(user(), empty, user("And now?"))
    problems = taken("openai-chat", "gemini", wire)
    return problems + translation.abroad("openai-chat", "gemini", "request", wire)


@case("blanks are not sent where they are refused")
def blanks() -> list[str]:
    wire = chat(user("\n \t"))
    return taken("openai-chat", "anthropic", wire)


@case("what stands for the history before it is not thrown away as a thought")
def compaction() -> list[str]:
    summary = {"type": "compaction", "content": "So far: the user waits at pier 3."}
    readable = chat({"role": "assistant", "content": [summary]}, user(), max_tokens=900)
    sealed = {"type": "compaction", "id": "cmp_7", "encrypted_content": "c2VhbGVk"}
    closed = {"model": "m-7", "input": [sealed, user()], "max_output_tokens": 900}
    return [
        *everywhere("anthropic", "request", readable),
        *everywhere("openai-responses", "request", closed),
    ]


@case("arguments that are no JSON are not lost in passing")
def lost_arguments() -> list[str]:
    call = {**CALL, "function": {"name": "timetable", "arguments": "pier three, please"}}
    calling = {"role": "assistant", "content": None, "tool_calls": [call]}
    wire = chat(user(), calling, ANSWER, max_tokens=900)
    return everywhere("openai-chat", "request", wire)


# -- answers --------------------------------------------------------------------------------------


@case("an answer with calls ends with calls")
def ends_with_calls() -> list[str]:
    call = {"function": {"name": "timetable", "arguments": {"pier": 3}}}
    message = {"role": "assistant", "content": "", "tool_calls": [call]}
    wire = {"model": "m-7", "created_at": "2026-02-03T04:05:06Z", "message": message}
    wire |= {"done": True, "done_reason": "stop", "prompt_eval_count": 9, "eval_count": 4}
    frames = sse(wire)
    return [
        *everywhere("ollama", "response", wire),
        *translation.streamed("ollama", "openai-chat", frames),
        *translation.streamed("ollama", "openrouter", frames),
    ]


@case("content that is an object is read")
def object_content() -> list[str]:
    message = {"role": "assistant", "content": {"pier": 3}}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    head = {"id": "chatcmpl-7", "object": "chat.completion", "created": 7, "model": "m-7"}
    return translation.reading("openai-chat", "response", {**head, "choices": [choice]})


@case("an image goes to no client that takes none")
def image_for_ollama() -> list[str]:
    part = {"inlineData": {"mimeType": "image/png", "data": "iVBORw0KGgo="}}
    candidate = {"index": 0, "finishReason": "STOP", "content": {"role": "model", "parts": [part]}}
    wire = {"candidates": [candidate], "modelVersion": "m-7"}
    written = il.convert(wire, "gemini", "ollama", "response").wire
    return rules.ollama_answer(written)


# -- streams --------------------------------------------------------------------------------------


def _across(source: str, frames: Sequence[Frame], *targets: str) -> list[str]:
    found = translation.folding(source, frames)
    for target in targets or TARGETS:
        if target != source:
            found += translation.streamed(source, target, frames)
    return found


@case("a Chat stream that told why it stopped is whole")
def no_done() -> list[str]:
    frames = sse(chunk({"role": "assistant", "content": "At noon."}), chunk({}, "stop"))
    return _across("openai-chat", frames)


@case("usage under a host's own name is counted")
def host_usage() -> list[str]:
    counted = {"prompt_tokens": 31, "completion_tokens": 5, "total_tokens": 36}
    last = chunk({}, "stop", x_groq={"id": "req_7", "usage": counted})
    frames = sse(chunk({"role": "assistant", "content": "At noon."}), last, "[DONE]")
    return _across("openai-chat", frames)


HEAD: Any = {"id": "resp_7", "object": "response", "created_at": 7, "model": "m-7"}
HEAD |= {"parallel_tool_calls": True, "tool_choice": "auto", "tools": []}


def _responses(*steps: Any, output: Any = ()) -> list[Frame]:
    first = {"type": "response.created", "response": {**HEAD, "status": "in_progress"}}
    first["response"]["output"] = []
    last = {"type": "response.completed", "response": {**HEAD, "status": "completed"}}
    last["response"]["output"] = list(output)
    return sse(first, *steps, last, named=True)


@case("a text is told once, however its parts are counted")
def told_twice() -> list[str]:
    part = {"type": "output_text", "text": "At noon.", "annotations": []}
    item = {"type": "message", "id": "msg_7", "role": "assistant", "status": "completed"}
    at = {"output_index": 0, "content_index": 2, "item_id": "msg_7"}
    whole = {**item, "content": [part]}
    added = {**item, "status": "in_progress", "content": []}
    frames = _responses(
        {"type": "response.output_item.added", "output_index": 0, "item": added},
        {"type": "response.content_part.added", **at, "part": {**part, "text": ""}},
        {"type": "response.output_text.delta", **at, "delta": "At "},
        {"type": "response.output_text.delta", **at, "delta": "noon."},
        {"type": "response.output_text.done", **at, "text": "At noon."},
        {"type": "response.content_part.done", **at, "part": part},
        {"type": "response.output_item.done", "output_index": 0, "item": whole},
        output=[whole],
    )
    return _across("openai-responses", frames)


@case("a signature that a gateway passes on is not lost in a stream")
def passed_on() -> list[str]:
    def detail(**more: Any) -> list[Any]:
        return [{"type": "reasoning.text", "format": "anthropic-claude-v1", "index": 0, **more}]

    thought = {
        "role": "assistant",
        "reasoning": "Pier 3.",
        "reasoning_details": detail(text="Pier 3."),
    }
    signed = {"reasoning": "", "reasoning_details": detail(text="", signature="cGllciAz")}
    frames = sse(chunk(thought), chunk(signed), chunk({"content": "At noon."}), chunk({}, "stop"))
    return _across("openai-chat", [*frames, *sse("[DONE]")], "anthropic", "bedrock")


@case("JSON that is too deep is refused as such", may_refuse=True)
def too_deep() -> list[str]:
    deep = '{"pier":' * 5000 + "3" + "}" * 5000
    found = []
    for name in ("openai-responses", "openai-chat", "anthropic", "gemini"):
        try:
            found += translation.streamed(name, "ollama", [Frame(None, deep)])
        except il.InterlinguaError:
            continue
    return found


@case("frames out of order break nothing", may_refuse=True)
def out_of_order() -> list[str]:
    at = {"output_index": 0, "content_index": 0, "item_id": "msg_7"}
    call = {"type": "function_call", "id": "fc_7", "call_id": "call_7", "name": "timetable"}
    steps = sse(
        {"type": "response.output_text.delta", **at, "delta": "At noon."},
        {
            "type": "response.output_item.done",
            "output_index": 0,
            "item": {**call, "arguments": "{}"},
        },
        named=True,
    )
    il.fold(streams.read(il.dialect("openai-responses"), steps))
    return []


@case("half a character is refused with its place", may_refuse=True)
def lone_surrogate() -> list[str]:
    call = {"functionCall": {"name": "timetable", "args": {}}}
    answer = {"functionResponse": {"name": "timetable", "response": {"pier": "\udfff"}}}
    contents = {"role": "model", "parts": [call]}, {"role": "user", "parts": [answer]}
    il.dialect("gemini").read_request(google(*contents), "m-7")
    return []


@case("what comes behind the end goes home too")
def behind_the_end() -> list[str]:
    message = {"id": "gen-7", "type": "message", "role": "assistant", "model": "m-7"}
    message |= {"content": [], "stop_reason": None, "stop_sequence": None}
    message["usage"] = {"input_tokens": 9, "output_tokens": 1}
    ended = {"stop_reason": "end_turn", "stop_sequence": None}
    frames = sse(
        {"type": "message_start", "message": message},
        {"type": "message_delta", "delta": ended, "usage": {"output_tokens": 1}},
        {"type": "message_stop"},
        named=True,
    )
    return streams.home(il.dialect("anthropic"), [*frames, Frame("data", "[DONE]")])


@case("a call whose id changes on the way is one call")
def one_call() -> list[str]:
    item = {"type": "tool_search_call", "id": "tsc_7", "execution": "client"}
    item |= {"arguments": {"goal": "find a ferry"}, "status": "completed"}
    first = {**item, "call_id": "call_7", "status": "in_progress"}
    last = {**item, "call_id": "call_8"}
    frames = _responses(
        {"type": "response.output_item.added", "output_index": 0, "item": first},
        {"type": "response.output_item.done", "output_index": 0, "item": last},
        output=[last],
    )
    return _across("openai-responses", frames, "openai-chat", "anthropic")


def main() -> int:
    missed = 0
    for number, each in enumerate(CASES, 1):
        problems = seen(each)
        missed += bool(problems)
        print(f"{number:>2} {'wrong' if problems else 'right'}  {each.name}")
        if problems:
            print(f"          {problems[0][:160]}")
    print(f"{len(CASES)} cases, {missed} wrong")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
