"""Made-up bodies of Cohere's v1 chat."""

from __future__ import annotations

from typing import Any

Json = dict[str, Any]

TOOL: Json = {
    "name": "weather",
    "description": "Tells it.",
    "parameter_definitions": {
        "city": {"description": "Which one.", "type": "str", "required": True},
        "days": {"type": "int", "required": False},
        "units": {"type": "List[str]", "required": False},
    },
}
CALL: Json = {"name": "weather", "parameters": {"city": "Oslo"}}
RESULT: Json = {"call": CALL, "outputs": [{"temperature": -4, "sky": "clear"}]}
DOCUMENT: Json = {"id": "d0", "title": "Oslo", "text": "Oslo is cold.", "page": "3"}
HISTORY: list[Json] = [
    {"role": "USER", "message": "Is it cold?"},
    {"role": "CHATBOT", "message": "I look.", "tool_calls": [CALL]},
    {"role": "TOOL", "tool_results": [RESULT]},
    {"role": "CHATBOT", "message": "It is."},
]


def body(message: str | None = "Hello", **more: Any) -> Json:
    return {"message": message, "model": "command-r", **more}


REQUESTS: dict[str, Json] = {
    "plain": {"message": "Hello", "stream": False},
    "history": body(chat_history=HISTORY, preamble="Be brief."),
    "everything": body(
        "And now?",
        chat_history=HISTORY,
        preamble="Be brief.",
        tools=[TOOL],
        documents=[DOCUMENT, {"snippet": "s"}, {"author": "a", "date": "b"}],
        max_tokens=9,
        temperature=0.3,
        p=0.9,
        k=5,
        seed=1,
        stop_sequences=["."],
        frequency_penalty=0.1,
        response_format={"type": "json_object", "schema": {"type": "object"}},
        stream=True,
        conversation_id="c-1",
        connectors=[{"id": "web-search", "options": {"site": "a.example"}}],
        citation_quality="accurate",
        prompt_truncation="AUTO",
        search_queries_only=False,
        safety_mode="NONE",
        force_single_step=True,
        max_input_tokens=100,
        raw_prompting=False,
        unheard_of={"a": 1},
    ),
    "results beside the history": body("", chat_history=HISTORY[:2], tool_results=[RESULT]),
    "results beside the message": body("Is it cold?", tools=[TOOL], tool_results=[RESULT, RESULT]),
    "results beside a later message": body(
        "And Rome?",
        chat_history=HISTORY,
        tool_results=[{"call": {"name": "weather", "parameters": {"city": "Rome"}}, "outputs": []}],
    ),
    "a history that ends with results": body("", chat_history=HISTORY[:3]),
    "a history that ends with the user": body("", chat_history=HISTORY[:1]),
    "results that nobody asked for": body(
        "So?", chat_history=[HISTORY[0], {"role": "TOOL", "tool_results": [RESULT, RESULT]}]
    ),
    "two turns of results": body(
        chat_history=[
            HISTORY[0],
            {"role": "CHATBOT", "tool_calls": [CALL, CALL]},
            {"role": "TOOL", "tool_results": [RESULT]},
            {"role": "TOOL", "tool_results": [RESULT], "id": "x"},
        ]
    ),
    "a call that is spelled otherwise": body(
        chat_history=HISTORY[:2], tool_results=[{"call": {"name": "weather"}, "outputs": None}]
    ),
    "outputs of all kinds": body(
        tool_results=[
            {
                "call": {**CALL, "generation_id": "g"},
                "outputs": [
                    {"output": "[tool error] no"},
                    {"text": "t", "title": "u"},
                    {"text": "t", "more": 1},
                    "a text",
                    7,
                ],
                "note": "n",
            }
        ]
    ),
    "a failure": body(tool_results=[{"call": CALL, "outputs": [{"output": "[tool error] no"}]}]),
    "a result without a call": body(tool_results=[{"outputs": [{"a": 1}]}]),
    "odd spellings": body(
        None,
        chat_history=[
            {"role": "User", "message": "a", "extra": 1},
            {"role": "Chatbot", "message": "", "tool_calls": []},
            {"role": "SYSTEM", "message": "c", "tool_calls": None},
            {"role": "TOOL", "tool_results": []},
        ],
        preamble="",
        tools=[],
        documents=[],
        tool_results=None,
    ),
    "no message": {"chat_history": [{"role": "USER", "message": "a"}]},
    "tools of all kinds": body(
        tools=[
            {"name": "now", "description": "d"},
            {"name": "a", "parameter_definitions": {}},
            {"name": "b", "parameter_definitions": None, "more": 1},
            {"name": "c", "parameter_definitions": {"x": {"type": "Optional[int]"}, "y": 5}},
            {"name": "d", "parameter_definitions": {"x": {"type": "object", "required": True}}},
            {"type": "odd"},
        ]
    ),
    "a document without a user": body(
        "", chat_history=[{"role": "CHATBOT", "message": "a"}], documents=[DOCUMENT]
    ),
}

META: Json = {
    "api_version": {"version": "1"},
    "billed_units": {"input_tokens": 5, "output_tokens": 3},
    "tokens": {"input_tokens": 206, "output_tokens": 3},
    "warnings": ["deprecated"],
}
CITATION: Json = {"start": 0, "end": 4, "text": "Cold", "document_ids": ["d0", "d1"]}
FOUND: list[Json] = [
    {"id": "d0", "title": "Oslo", "snippet": "Oslo is cold.", "url": "https://o.example"},
    {"id": "d1", "text": "More."},
]
ANSWER: Json = {
    "response_id": "r",
    "generation_id": "g",
    "text": "Cold.",
    "chat_history": [{"role": "USER", "message": "So?"}, {"role": "CHATBOT", "message": "Cold."}],
    "finish_reason": "COMPLETE",
    "meta": META,
}
ANSWERS: dict[str, Json] = {
    "plain": ANSWER,
    "bare": {"text": "Cold."},
    "cited": {
        **ANSWER,
        "citations": [CITATION, {**CITATION, "type": "PLAN"}, {"start": 0, "end": 1, "text": "x"}],
        "documents": FOUND,
        "search_results": [{"connector": {"id": "w"}, "document_ids": ["d0"]}],
        "search_queries": [{"text": "cold", "generation_id": "q"}],
        "is_search_required": True,
    },
    "calls": {
        **ANSWER,
        "text": "I look.",
        "tool_calls": [CALL, {"name": "now", "parameters": {}}],
        "chat_history": [
            {"role": "USER", "message": "So?"},
            {"role": "CHATBOT", "message": "I look.", "tool_calls": [CALL]},
        ],
    },
    "older counts": {
        "text": "Cold.",
        "token_count": {
            "prompt_tokens": 13,
            "response_tokens": 4,
            "total_tokens": 17,
            "billed_tokens": 5,
        },
        "meta": {"api_version": {"version": "1"}},
        "finish_reason": "MAX_TOKENS",
    },
    "searches alone": {**ANSWER, "text": "", "search_queries": [{"text": "a"}], "tool_calls": []},
    "nulls": {
        "text": "a",
        "meta": None,
        "citations": None,
        "finish_reason": None,
        "documents": None,
    },
    **{
        word: {**ANSWER, "finish_reason": word}
        for word in ("ERROR_TOXIC", "ERROR_LIMIT", "USER_CANCEL", "TIMEOUT", "STOP_SEQUENCE", "NEW")
    },
}


def event(kind: str, **more: Any) -> Json:
    return {"is_finished": kind == "stream-end", "event_type": kind, **more}


START = event("stream-start", generation_id="g")
STREAMS: dict[str, list[Json]] = {
    "text": [
        START,
        event("text-generation", text="Co"),
        event("text-generation", text="ld."),
        event("stream-end", finish_reason="COMPLETE", response=ANSWER),
    ],
    "cited": [
        START,
        event("search-queries-generation", search_queries=[{"text": "cold"}]),
        event("search-results", search_results=[], documents=FOUND),
        event("text-generation", text="Cold."),
        event("citation-generation", citations=[CITATION]),
        event(
            "stream-end",
            finish_reason="COMPLETE",
            response={**ANSWER, "citations": [CITATION], "documents": FOUND},
        ),
    ],
    "calls in pieces": [
        START,
        event("tool-calls-chunk", tool_call_delta={"text": "I "}),
        event("tool-calls-chunk", tool_call_delta={"text": "look."}),
        event("tool-calls-chunk", tool_call_delta={"index": 0, "name": "weather"}),
        event("tool-calls-chunk", tool_call_delta={"index": 0, "parameters": '{"city": '}),
        event("tool-calls-chunk", tool_call_delta={"index": 0, "parameters": '"Oslo"}'}),
        event("tool-calls-generation", text="I look.", tool_calls=[CALL]),
        event(
            "stream-end",
            finish_reason="COMPLETE",
            response={**ANSWER, "text": "I look.", "tool_calls": [CALL]},
        ),
    ],
    "calls at once": [
        START,
        event("tool-calls-generation", tool_calls=[CALL, CALL]),
        event("debug", prompt="p"),
        event("stream-end", finish_reason="COMPLETE", response={**ANSWER, "text": ""}),
    ],
    "the end alone": [event("stream-end", finish_reason="MAX_TOKENS", response={"text": "Cold."})],
}
