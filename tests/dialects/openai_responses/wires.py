"""Small wires of our own, and the ways that the tests take them."""

from __future__ import annotations

from typing import Any

from interlingua.dialects.openai_responses import DIALECT
from interlingua.model import codec
from interlingua.model.base import same
from interlingua.model.exchange import Request, Response
from interlingua.model.message import Message

Wire = dict[str, Any]

TOOL: Wire = {
    "type": "function",
    "name": "add",
    "description": "Adds.",
    "parameters": {"type": "object", "properties": {"a": {"type": "integer"}}},
    "strict": None,
}
CALL: Wire = {"type": "function_call", "call_id": "call_1", "name": "add", "arguments": '{"a":1}'}
RESULT: Wire = {"type": "function_call_output", "call_id": "call_1", "output": "2"}
SECRET: Wire = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "b64=="}
USAGE: Wire = {
    "input_tokens": 30,
    "input_tokens_details": {"cached_tokens": 20, "cache_write_tokens": 4},
    "output_tokens": 12,
    "output_tokens_details": {"reasoning_tokens": 5},
    "total_tokens": 42,
}


def user(content: Any = "Hi") -> Wire:
    return {"role": "user", "content": content}


def text(words: str) -> Wire:
    return {"type": "input_text", "text": words}


def said(words: str, **more: Any) -> Wire:
    return {"type": "output_text", "text": words, "annotations": [], **more}


def answer(*parts: Wire, **more: Any) -> Wire:
    """A message in the model's own form."""
    head = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed"}
    return {**head, **more, "content": list(parts)}


def body(*items: Wire, **more: Any) -> Wire:
    return {"model": "gpt-5", "input": list(items), **more}


def whole(*items: Wire, **more: Any) -> Wire:
    """A response."""
    return {
        "id": "resp_1",
        "object": "response",
        "created_at": 1700000000,
        "model": "gpt-5",
        "status": "completed",
        "output": list(items),
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        **more,
    }


def read(wire: Wire) -> Request:
    """A request, which went home unchanged and without a loss."""
    request = DIALECT.read_request(wire)
    stored = codec.loads(codec.dumps(request), Request, strict=True)
    for value in (request, stored):
        written = DIALECT.write_request(value)
        assert same(written.wire, wire), written.wire
        assert not written.report.entries, written.report
    return request


def read_whole(wire: Wire) -> Response:
    """A response, which went home unchanged and without a loss."""
    response = DIALECT.read_response(wire)
    stored = codec.loads(codec.dumps(response), Response, strict=True)
    for value in (response, stored):
        written = DIALECT.write_response(value)
        assert same(written.wire, wire), written.wire
        assert not written.report.entries, written.report
    return response


def write(*messages: Message, **more: Any) -> tuple[Wire, list[tuple[str, str]]]:
    """The wire of messages that came from elsewhere, and its losses as (kind, path)."""
    written = DIALECT.write_request(Request(tuple(messages), **more))
    return written.wire, [(loss.kind, loss.path) for loss in written.report.entries]


def write_whole(message: Message, **more: Any) -> tuple[Wire, list[tuple[str, str]]]:
    written = DIALECT.write_response(Response(message, **more))
    return written.wire, [(loss.kind, loss.path) for loss in written.report.entries]


CALLS: list[Wire] = [
    CALL,
    {**CALL, "id": "fc_1", "status": "completed", "namespace": "math", "async": True},
    {"type": "custom_tool_call", "call_id": "c", "name": "sh", "input": "ls", "id": "ctc_1"},
    {
        "type": "web_search_call",
        "id": "ws_1",
        "status": "completed",
        "action": {"type": "search", "query": "rain", "sources": [{"type": "url", "url": "u"}]},
    },
    {
        "type": "file_search_call",
        "id": "fs_1",
        "status": "completed",
        "queries": ["rain"],
        "results": [{"file_id": "file_1", "filename": "a.txt", "score": 0.5, "text": "It rains."}],
    },
    {
        "type": "file_search_call",
        "id": "fs_1",
        "status": "completed",
        "queries": [],
        "results": None,
    },
    {
        "type": "code_interpreter_call",
        "id": "ci_1",
        "status": "completed",
        "container_id": "cntr_1",
        "code": "print(1)",
        "outputs": [
            {"type": "logs", "logs": "1"},
            {"type": "image", "url": "data:image/png;base64,AAAA"},
        ],
    },
    {
        "type": "image_generation_call",
        "id": "ig_1",
        "status": "completed",
        "result": "AAAA",
        "output_format": "webp",
        "revised_prompt": "a cat",
    },
    {"type": "image_generation_call", "id": "ig_1", "status": "failed", "result": None},
    {
        "type": "mcp_list_tools",
        "id": "mcpl_1",
        "server_label": "wiki",
        "tools": [{"name": "ask", "input_schema": {"type": "object"}}],
        "error": None,
    },
    {
        "type": "mcp_approval_request",
        "id": "mcpr_1",
        "server_label": "wiki",
        "name": "ask",
        "arguments": '{"q": "why"}',
    },
    {
        "type": "mcp_call",
        "id": "mcp_1",
        "server_label": "wiki",
        "name": "ask",
        "arguments": '{"q":"why"}',
        "output": "because",
        "error": None,
    },
    {
        "type": "mcp_call",
        "id": "mcp_2",
        "server_label": "wiki",
        "name": "ask",
        "arguments": "{}",
        "output": None,
        "error": {"type": "http_error", "code": 500, "message": "no"},
        "status": "failed",
    },
    {
        "type": "tool_search_call",
        "id": "tsc_1",
        "call_id": None,
        "execution": "server",
        "arguments": {"paths": ["add"]},
        "status": "completed",
    },
    {
        "type": "computer_call",
        "id": "cu_1",
        "call_id": "call_cu",
        "status": "completed",
        "pending_safety_checks": [],
        "action": {"type": "click", "button": "left", "x": 1, "y": 2},
    },
    {
        "type": "local_shell_call",
        "id": "lsh_1",
        "call_id": "call_lsh",
        "status": "completed",
        "action": {"type": "exec", "command": ["ls"], "env": {}},
    },
    {
        "type": "shell_call",
        "id": "sh_1",
        "call_id": "call_sh",
        "status": "completed",
        "action": {"commands": ["ls"], "timeout_ms": 100},
        "environment": {"type": "local"},
    },
    {
        "type": "apply_patch_call",
        "id": "apc_1",
        "call_id": "call_ap",
        "status": "completed",
        "operation": {"type": "create_file", "path": "a", "diff": "+a"},
    },
    {
        "type": "program",
        "id": "cm_1",
        "call_id": "call_p",
        "code": "await tools.add({a: 1})",
        "fingerprint": "opaque",
    },
]
"""Every kind of call, in one spelling or more."""

OUTPUTS: list[Wire] = [
    RESULT,
    {**RESULT, "id": "fco_1", "status": "completed", "name": "add"},
    {"type": "custom_tool_call_output", "call_id": "c", "output": "a\nb", "id": "ctco_1"},
    {
        "type": "computer_call_output",
        "call_id": "call_cu",
        "output": {"type": "computer_screenshot", "image_url": "data:image/png;base64,AAAA"},
        "acknowledged_safety_checks": [{"id": "sc_1"}],
    },
    {"type": "local_shell_call_output", "id": "call_lsh", "output": "a"},
    {
        "type": "shell_call_output",
        "call_id": "call_sh",
        "output": [
            {"stdout": "a", "stderr": "", "outcome": {"type": "exit", "exit_code": 0}},
            {"stdout": "", "stderr": "slow", "outcome": {"type": "timeout"}},
        ],
        "max_output_length": 100,
    },
    {
        "type": "apply_patch_call_output",
        "call_id": "call_ap",
        "status": "failed",
        "output": "no such file",
    },
    {
        "type": "mcp_approval_response",
        "approval_request_id": "mcpr_1",
        "approve": False,
        "reason": "not now",
    },
    {
        "type": "tool_search_output",
        "id": "tso_1",
        "call_id": None,
        "execution": "server",
        "status": "completed",
        "tools": [TOOL],
    },
    {
        "type": "program_output",
        "id": "cmo_1",
        "call_id": "call_p",
        "result": "2",
        "status": "completed",
    },
]
"""Every kind of result that is an item of its own."""

OTHERS: list[Wire] = [
    SECRET,
    {
        "type": "reasoning",
        "id": "rs_2",
        "summary": [
            {"type": "summary_text", "text": "First,"},
            {"type": "summary_text", "text": ""},
        ],
        "content": [{"type": "reasoning_text", "text": "then"}],
        "status": "completed",
    },
    {"type": "compaction", "id": "cmp_1", "encrypted_content": "b64=="},
    answer(said("Yes", logprobs=[]), {"type": "refusal", "refusal": "No"}, phase="commentary"),
    {"type": "additional_tools", "id": "at_1", "role": "developer", "tools": [TOOL]},
]
"""What else a model may have made."""

ASIDES: list[Wire] = [
    {"type": "item_reference", "id": "fc_9"},
    {"id": "rs_9"},
    {"type": "additional_tools", "role": "developer", "tools": [TOOL]},
    {"type": "configuration_update", "reasoning": {"effort": "low"}},
    {"type": "compaction_trigger"},
]
"""Items of a request that are no part of what was said."""
