"""Made-up session files of the size that people have: turns with a call and its result."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any
from uuid import UUID

START = "2026-03-01T12:00:00.000Z"
FOLDER = "/home/user/bakery"
PROSE = "The dough rests while the oven heats; look at it again after an hour. "
OUTPUT = "src/bakery/oven.py:118:    heat = min(heat, LIMIT)  # \u201cnever above\u201d\n"
SIGNATURE = "c2lnbmVk" * 40


def claude_code(turns: int, seed: int = 0) -> Iterator[bytes]:
    """Lines of one session: four for the model and two of the client in each turn."""
    session = str(UUID(int=seed + 1))
    parent: str | None = None
    for at in range(turns * 5):
        turn, step = divmod(at, 5)
        uuid = str(UUID(int=(seed << 64) + at + 1))
        kind, content, more = _claude_step(turn, step, seed)
        line = {
            "parentUuid": parent,
            "isSidechain": False,
            "type": kind,
            **content,
            "uuid": uuid,
            "timestamp": START,
            **more,
            "userType": "external",
            "entrypoint": "cli",
            "cwd": FOLDER,
            "sessionId": session,
            "version": "2.1.325",
            "gitBranch": "main",
        }
        parent = uuid
        yield _line(line)
    yield _line({"type": "ai-title", "aiTitle": f"Bread {seed}", "sessionId": session})


def _claude_step(turn: int, step: int, seed: int) -> tuple[str, dict[str, Any], dict[str, Any]]:
    call = f"toolu_{seed}_{turn}"
    if step == 0:
        body: dict[str, Any] = {"role": "user", "content": f"Turn {turn}. {PROSE * 3}"}
        return "user", {"message": body}, {"promptId": "p", "permissionMode": "default"}
    if step == 3:
        result = {"type": "tool_result", "tool_use_id": call, "content": OUTPUT * 40}
        shown = {"stdout": OUTPUT * 40, "stderr": "", "interrupted": False, "isImage": False}
        return (
            "user",
            {"message": {"role": "user", "content": [result]}},
            {"toolUseResult": shown, "sourceToolAssistantUUID": "s"},
        )
    block: dict[str, Any] = {"type": "text", "text": PROSE * 6}
    if step == 1:
        block = {"type": "thinking", "thinking": PROSE * 4, "signature": SIGNATURE}
    if step == 2:
        fields = {"command": "grep -rn LIMIT src", "description": "Look for limits"}
        block = {"type": "tool_use", "id": call, "name": "Bash", "input": fields}
    usage = {
        "input_tokens": 12,
        "cache_creation_input_tokens": 310,
        "cache_read_input_tokens": 40_000 + turn,
        "output_tokens": 180,
        "service_tier": "standard",
        "cache_creation": {"ephemeral_1h_input_tokens": 310, "ephemeral_5m_input_tokens": 0},
    }
    body = {
        "model": "claude-sonnet-4-6",
        "id": f"msg_{seed}_{turn}_{step // 4}",
        "type": "message",
        "role": "assistant",
        "content": [block],
        "stop_reason": "end_turn" if step == 4 else "tool_use",
        "stop_sequence": None,
        "usage": usage,
    }
    return "assistant", {"message": body, "requestId": f"req_{turn}"}, {}


def codex(turns: int, seed: int = 0) -> Iterator[bytes]:
    """A rollout: items, what the screen shows of them, and records of usage."""
    thread = str(UUID(int=seed + 1))
    meta = {"session_id": thread, "id": thread, "timestamp": START, "cwd": FOLDER}
    meta |= {"originator": "codex_cli_rs", "cli_version": "0.166.0", "source": "cli"}
    payloads: list[tuple[str, dict[str, Any]]] = [
        ("session_meta", {**meta, "base_instructions": {"text": PROSE * 100}}),
        ("turn_context", {"cwd": FOLDER, "model": "gpt-5.5", "effort": "medium"}),
    ]
    for turn in range(turns):
        payloads += _codex_turn(turn, thread)
    for ordinal, (kind, payload) in enumerate(payloads):
        yield _line({"timestamp": START, "ordinal": ordinal, "type": kind, "payload": payload})


def _codex_turn(turn: int, thread: str) -> Iterator[tuple[str, dict[str, Any]]]:
    passed = {"turn_id": f"turn_{turn}", "content_item_kinds": ["user.text"]}
    note = {"internal_chat_message_metadata_passthrough": passed}
    text = f"Turn {turn}. {PROSE * 3}"
    prompt = {"type": "message", "role": "user", "id": f"msg_u{turn}"}
    prompt["content"] = [{"type": "input_text", "text": text}]  # type: ignore[assignment]
    yield "response_item", {**prompt, **note}
    yield "event_msg", {"type": "item_completed", "item": {"type": "UserMessage", "text": text}}
    summary = [{"type": "summary_text", "text": PROSE * 2}]
    thought = {"type": "reasoning", "id": f"rs_{turn}", "summary": summary}
    yield "response_item", {**thought, "encrypted_content": SIGNATURE * 2, **note}
    call = {"type": "function_call", "id": f"fc_{turn}", "name": "exec_command"}
    call |= {"arguments": json.dumps({"cmd": "grep -rn LIMIT src"}), "call_id": f"call_{turn}"}
    yield "response_item", {**call, **note}
    yield "token_usage_record", _codex_usage(turn, thread, "a")
    output = {"type": "function_call_output", "call_id": f"call_{turn}", "output": OUTPUT * 40}
    yield "response_item", {**output, **note}
    shown = {"type": "CommandExecution", "aggregated_output": OUTPUT * 40, "exit_code": 0}
    yield "event_msg", {"type": "item_completed", "thread_id": thread, "item": shown}
    answer = {"type": "message", "role": "assistant", "id": f"msg_a{turn}"}
    answer["content"] = [{"type": "output_text", "text": PROSE * 6}]  # type: ignore[assignment]
    yield "response_item", {**answer, **note}
    yield "token_usage_record", _codex_usage(turn, thread, "b")
    yield "event_msg", {"type": "token_count", "info": {"last_token_usage": {"input_tokens": 9}}}


def _codex_usage(turn: int, thread: str, step: str) -> dict[str, Any]:
    used = {"input_tokens": 40_000 + turn, "cached_input_tokens": 39_000, "output_tokens": 180}
    used |= {"reasoning_output_tokens": 60, "total_tokens": 40_180 + turn}
    record = {"thread_id": thread, "response_id": f"resp_{turn}{step}", "usage": used}
    return {**record, "turn_token_usage": used, "thread_token_usage": used}


def pi(turns: int, seed: int = 0) -> Iterator[bytes]:
    """A session: a prompt, an answer with a call, its result and another answer in each turn."""
    header = {"type": "session", "version": 3, "id": str(UUID(int=seed + 1))}
    yield _line({**header, "timestamp": START, "cwd": FOLDER})
    parent: str | None = None
    for at in range(turns * 4):
        turn, step = divmod(at, 4)
        name = f"{at:08x}"
        line = {"type": "message", "id": name, "parentId": parent, "timestamp": START}
        yield _line({**line, "message": _pi_step(turn, step)})
        parent = name


def _pi_step(turn: int, step: int) -> dict[str, Any]:
    if step == 0:
        content = [{"type": "text", "text": f"Turn {turn}. {PROSE * 3}"}]
        return {"role": "user", "content": content, "timestamp": 1772366400000}
    if step == 2:
        fields = {"role": "toolResult", "toolCallId": f"toolu_{turn}", "toolName": "bash"}
        fields["content"] = [{"type": "text", "text": OUTPUT * 40}]  # type: ignore[assignment]
        return {**fields, "details": {"exitCode": 0}, "isError": False, "timestamp": 1772366400000}
    blocks: list[dict[str, Any]] = [{"type": "text", "text": PROSE * 6}]
    if step == 1:
        thought = {"type": "thinking", "thinking": PROSE * 4, "thinkingSignature": SIGNATURE}
        call = {"type": "toolCall", "id": f"toolu_{turn}", "name": "bash"}
        blocks = [thought, {**call, "arguments": {"command": "grep -rn LIMIT src"}}]
    cost = {"input": 0.000036, "output": 0.0027, "cacheRead": 0.012, "cacheWrite": 0}
    usage = {"input": 12, "output": 180, "cacheRead": 40_000 + turn, "cacheWrite": 0}
    usage |= {"totalTokens": 40_192 + turn, "cost": {**cost, "total": 0.014736}}
    fields = {"role": "assistant", "content": blocks, "api": "anthropic-messages"}
    fields |= {"provider": "anthropic", "model": "claude-sonnet-4-6", "usage": usage}
    return {**fields, "stopReason": "toolUse" if step == 1 else "stop", "timestamp": 1772366400000}


def gemini_cli(turns: int, seed: int = 0) -> Iterator[bytes]:
    """A log: an answer with a call is written twice, the second time with its result."""
    about = {"sessionId": str(UUID(int=seed + 1)), "projectHash": "0" * 64, "startTime": START}
    yield _line({**about, "lastUpdated": START, "kind": "main"})
    for turn in range(turns):
        text = [{"text": f"Turn {turn}. {PROSE * 3}"}]
        yield _line({"id": f"u{turn}", "timestamp": START, "type": "user", "content": text})
        answer = _gemini_answer(f"a{turn}", "")
        yield _line(answer)
        response = {"id": f"bash__c{turn}", "name": "bash", "response": {"output": OUTPUT * 40}}
        call = {"id": f"bash__c{turn}", "name": "bash", "args": {"command": "grep -rn LIMIT src"}}
        call |= {"result": [{"functionResponse": response}], "status": "success"}
        yield _line({**answer, "toolCalls": [{**call, "resultDisplay": OUTPUT * 40}]})
        yield _line(_gemini_answer(f"b{turn}", PROSE * 6))


def _gemini_answer(name: str, text: str) -> dict[str, Any]:
    thoughts = [{"subject": "Look", "description": PROSE * 4, "timestamp": START}]
    tokens = {"input": 40_000, "output": 180, "cached": 39_000, "thoughts": 60, "tool": 0}
    answer = {"id": name, "timestamp": START, "type": "gemini", "content": text}
    return {**answer, "thoughts": thoughts, "tokens": tokens, "model": "gemini-2.5-pro"}


def _line(value: dict[str, Any]) -> bytes:
    """As the tools spell it: no spaces, no escapes that are not needed."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


AGENTS: dict[str, Callable[[int, int], Iterator[bytes]]] = {
    "claude-code": claude_code,
    "codex": codex,
    "pi": pi,
    "gemini-cli": gemini_cli,
}
