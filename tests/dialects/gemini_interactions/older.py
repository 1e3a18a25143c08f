"""Bodies and streams of the revision of Interactions that ended in 2026-06, made up."""

from __future__ import annotations

import json
from typing import Any

from interlingua.streams.frames import Frame
from tests.dialects.gemini_interactions.streaming import DONE
from tests.dialects.gemini_interactions.wires import (
    CALL,
    IMAGE,
    RESULT,
    SEARCH,
    TOOL,
    USAGE,
    Wire,
    text,
    thought,
)

CITED = text("Grüße!", annotations=[{"type": "url_citation", "url": "https://x", "end_index": 4}])
UNTYPED = text("Gruß", annotations=[{"start_index": 0, "end_index": 2, "source": "https://x"}])


def user(content: Any, **more: Any) -> Wire:
    return {"role": "user", "content": content, **more}


def model(*parts: Wire, **more: Any) -> Wire:
    return {"role": "model", "content": list(parts), **more}


def asked(*turns: Wire, **more: Any) -> Wire:
    return {"model": "gemini-2.5-flash-lite", "input": list(turns), **more}


def outputs(*parts: Wire, **more: Any) -> Wire:
    head = {"id": "v1_a", "object": "interaction", "role": "model", "model": "m"}
    return {**head, "status": "completed", "outputs": list(parts), **more}


TALK = [
    user("My name is Alice."),
    model(thought(signature="c2ln"), text("Hello Alice!")),
    user([text("Add, and look."), IMAGE]),
    model(thought(text("Hm."), signature="c2ln"), CALL),
    user([RESULT, text("And?")]),
    model(*SEARCH, CITED),
    user([text("Thanks.")]),
]
REQUESTS: dict[str, Wire] = {
    "a talk": asked(*TALK, tools=[TOOL], system_instruction="Be brief.", stream=True),
    "no role": asked({"content": "Hi"}),
    "nothing": asked(user("")),
    "no content": asked({"role": "user"}, model(), user("Hi")),
    "more keys": asked(user("Hi", name="A"), model(text("Yes."), id="t1"), user([text("Ok")])),
    "two of a model": asked(user("Hi"), model(text("A")), model(text("B"))),
    "an unknown role": asked(user("Hi"), {"role": "judge", "content": "Objection"}),
    "an unknown part": asked(user([{"type": "smell", "of": "roses"}]), model({"type": "taste"})),
    "among steps": asked(user("Hi"), {"type": "model_output", "content": [text("Yes.")]}),
    "results of a signed call": asked(
        user("Add"),
        model({**CALL, "signature": "c2ln"}, {**CALL, "id": "fc_2"}),
        user([{**RESULT, "signature": "c2ln"}, {**RESULT, "call_id": "fc_2", "result": {"a": 1}}]),
    ),
}
RESPONSES: dict[str, Wire] = {
    "a text": outputs(thought(signature="Q2lR"), text("Your name is Alice."), usage=USAGE),
    "all kinds": outputs(thought(text("Hm.")), *SEARCH, CITED, IMAGE, text("so"), text("so")),
    "a call": outputs({**CALL, "signature": "c2ln"}, status="requires_action"),
    "nothing": outputs(),
    "unknown": outputs({"type": "smell"}, text("a"), {"type": "function_result", "call_id": "x"}),
    "the first SDK": outputs(
        UNTYPED,
        usage={
            "total_input_tokens": 11,
            "total_output_tokens": 364,
            "total_reasoning_tokens": 1120,
            "total_tokens": 1495,
        },
    ),
    "no status": {"id": "v1_a", "outputs": [text("a")]},
}


def frame(kind: str, **more: Any) -> Frame:
    return Frame(kind, json.dumps({"event_type": kind, **more}))


def begun(**more: Any) -> Frame:
    collected = {
        "id": "v1_a",
        "status": "in_progress",
        "object": "interaction",
        "model": "m",
        **more,
    }
    return frame("interaction.start", interaction=collected)


def ended(status: str = "completed", **more: Any) -> Frame:
    collected = {"id": "v1_a", "status": status, "role": "model", "usage": USAGE, **more}
    return frame("interaction.complete", interaction=collected)


def content(index: int, kind: str, *deltas: Wire, **start: Any) -> list[Frame]:
    """A piece of content with its start and its end."""
    return [
        frame("content.start", index=index, content={"type": kind, **start}),
        *[frame("content.delta", index=index, delta=delta) for delta in deltas],
        frame("content.stop", index=index),
    ]


def texts(index: int, *pieces: str) -> list[Frame]:
    return content(index, "text", *[text(piece) for piece in pieces])


STREAMS: dict[str, list[Frame]] = {
    "a text": [begun(), *texts(0, "Hi ", "there!"), ended(), DONE],
    "all kinds": [
        begun(),
        frame("interaction.status_update", interaction_id="v1_a", status="in_progress"),
        *content(
            0,
            "thought",
            {"type": "thought_summary", "content": text("Hm. ")},
            {"type": "thought_summary", "content": text("So.")},
            {"type": "thought_signature", "signature": "c2ln"},
        ),
        *content(
            1,
            "text",
            text("Grüße!"),
            {"type": "text_annotation", "annotations": CITED["annotations"]},
        ),
        *content(2, "function_call", CALL),
        *content(3, SEARCH[0]["type"], SEARCH[0]),
        *content(4, SEARCH[1]["type"], SEARCH[1]),
        *content(5, "image", IMAGE),
        ended("requires_action"),
        DONE,
    ],
    "the first SDK": [begun(), *content(0, "text", text("Ach "), UNTYPED), ended(), DONE],
    "a start with a text": [begun(), *content(0, "text", text("b"), text="a"), ended()],
    "an agent without starts": [
        begun(),
        frame("content.delta", index=0, delta=text("Hello")),
        frame("content.delta", index=0, delta=text(" world")),
        frame("content.delta", index=1, delta=CALL),
        ended("requires_action", outputs=[text("Hello world"), CALL]),
        DONE,
    ],
    "a snapshot alone": [begun(), ended(outputs=[text("Hello")]), DONE],
}
