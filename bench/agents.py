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
        "output_tokens_details": {"thinking_tokens": 60},
        "server_tool_use": {"web_search_requests": 0, "web_fetch_requests": 0},
        "service_tier": "standard",
        "cache_creation": {"ephemeral_1h_input_tokens": 310, "ephemeral_5m_input_tokens": 0},
        "inference_geo": "",
        "iterations": [],
        "speed": "standard",
        "fallback_credit": None,
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
        "stop_details": None,
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
    content = [{"type": "input_text", "text": text}]
    prompt = {"type": "message", "role": "user", "id": f"msg_u{turn}", "content": content}
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
    written = [{"type": "output_text", "text": PROSE * 6}]
    answer = {"type": "message", "role": "assistant", "id": f"msg_a{turn}", "content": written}
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
        output = [{"type": "text", "text": OUTPUT * 40}]
        fields: dict[str, Any] = {"role": "toolResult", "toolCallId": f"toolu_{turn}"}
        fields |= {"toolName": "bash", "content": output}
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


def copilot(turns: int, seed: int = 0) -> Iterator[bytes]:
    """Events in a chain: a prompt, an answer with a call, its result, and another answer."""
    session = str(UUID(int=seed + 1))
    about = {"sessionId": session, "version": 1, "producer": "copilot-agent"}
    about |= {"copilotVersion": "1.0.102", "startTime": START, "context": {"cwd": FOLDER}}
    events: list[tuple[str, dict[str, Any]]] = [("session.start", about)]
    for turn in range(turns):
        events += _copilot_turn(turn)
    above: str | None = None
    for at, (kind, data) in enumerate(events):
        name = str(UUID(int=(seed << 64) + at + 1))
        yield _line({"type": kind, "data": data, "id": name, "timestamp": START, "parentId": above})
        above = name


def _copilot_turn(turn: int) -> Iterator[tuple[str, dict[str, Any]]]:
    interaction, text = {"interactionId": f"i{turn}"}, f"Turn {turn}. {PROSE * 3}"
    sent = f"<current_datetime>{START}</current_datetime>\n\n{text}"
    prompt = {"content": text, "transformedContent": sent, "messageId": f"m{turn}"}
    yield "user.message", {**prompt, "delivery": "idle", **interaction, "turnId": "0"}
    if turn == 0:
        yield "system.message", {"role": "system", "content": PROSE * 100, **interaction}
    arguments = {"command": "grep -rn LIMIT src", "description": "Look for limits"}
    call = {"toolCallId": f"toolu_{turn}", "name": "bash", "arguments": arguments}
    asked = {**call, "type": "function", "intentionSummary": "Look", "toolTitle": "Running command"}
    thought = {"type": "thinking", "thinking": PROSE * 4, "signature": SIGNATURE}
    reasoned = {"reasoningOpaque": SIGNATURE, "reasoningText": PROSE * 4}
    blocks = {"provider": "anthropic-messages", "blocks": [thought]}
    for step in (0, 1):
        name, at = f"msg_{turn}_{step}", {"turnId": str(step), **interaction}
        yield "assistant.turn_start", at
        yield "session.usage_record", {"usage": _copilot_usage(turn, name, step == 0)}
        answer = {"messageId": f"a{turn}{step}", "model": "claude-sonnet-4-6", **at, "rte": False}
        answer |= {"content": PROSE * 6 if step else "", "toolRequests": [] if step else [asked]}
        answer |= {"apiCallId": name} if step else {**reasoned, "apiCallId": name}
        yield "assistant.message", answer if step else {**answer, "reasoningBlocks": blocks}
        if step == 0:
            yield "tool.execution_start", {"toolName": "bash", **call, **at}
            result = {"content": OUTPUT * 40, "detailedContent": OUTPUT * 40}
            metrics = {"commandTimeout": 30000.0, "result_token_count": 800}
            done = {"toolCallId": call["toolCallId"], **at, "success": True, "result": result}
            done |= {"shellExecution": {"exitCode": 0}, "toolTelemetry": {"metrics": metrics}}
            yield "tool.execution_complete", done
        yield "assistant.turn_end", {"turnId": str(step)}


def _copilot_usage(turn: int, name: str, called: bool) -> dict[str, Any]:
    usage = {"model": "claude-sonnet-4-6", "inputTokens": 40_322 + turn, "outputTokens": 180}
    usage |= {"cacheReadTokens": 40_000 + turn, "cacheWriteTokens": 310, "cost": 0.0}
    usage |= {"duration": 112, "timeToFirstTokenMs": 109.680059, "initiator": "user"}
    usage |= {"modelProvider": "anthropic", "maxPromptTokens": 128000, "transport": "http"}
    usage |= {"requestBodyBytes": 48432, "apiCallId": name, "apiEndpoint": "/v1/messages"}
    usage |= {"toolCounts": {"bash": 1} if called else {}}
    return {**usage, "finishReason": "tool_calls" if called else "stop"}


def opencode(turns: int, seed: int = 0) -> Iterator[bytes]:
    """An export: a prompt, an answer whose call has its result in it, and another answer."""
    session = f"ses_{seed:026}"
    info = {"id": session, "directory": FOLDER, "title": f"Bread {seed}", "version": "1.18.33"}
    times = {"created": 1772366400000, "updated": 1772366400000}
    messages = [each for turn in range(turns) for each in _opencode_turn(turn, session)]
    yield json.dumps(
        {"info": {**info, "time": times}, "messages": messages}, ensure_ascii=False, indent=2
    ).encode()


def _opencode_turn(turn: int, session: str) -> Iterator[dict[str, Any]]:
    time = {"start": 1772366400000, "end": 1772366400000}
    prompt = {"role": "user", "time": {"created": 1772366400000}, "agent": "build"}
    text: dict[str, Any] = {"type": "text", "text": f"Turn {turn}. {PROSE * 3}"}
    yield _opencode_message(f"{turn:06}a", session, prompt, [text])
    tokens = {"total": 40_502, "input": 12, "output": 180, "reasoning": 0}
    used = {"tokens": {**tokens, "cache": {"write": 310, "read": 40_000 + turn}}, "cost": 0.01473}
    about: dict[str, Any] = {"modelID": "claude-sonnet-4-6", "providerID": "anthropic"}
    about |= {"parentID": "msg_", "role": "assistant", "mode": "build"}
    about |= {"path": {"cwd": FOLDER, "root": "/"}, **used}
    answer = {**about, "time": {"created": 1772366400000, "completed": 1772366400000}}
    sealed = {"time": time, "metadata": {"anthropic": {"signature": SIGNATURE}}}
    shown = {"output": OUTPUT * 40, "exit": 0, "truncated": False}
    state: dict[str, Any] = {"status": "completed", "input": {"command": "grep -rn LIMIT src"}}
    state |= {"output": OUTPUT * 40, "metadata": shown, "title": "grep", "time": time}
    call = {"type": "tool", "tool": "bash", "callID": f"toolu_{turn}", "state": state}
    thought = {"type": "reasoning", "text": PROSE * 4, **sealed}
    said = {"type": "text", "text": PROSE * 6, "time": time}
    for step, end, parts in (("b", "tool-calls", [thought, call]), ("c", "stop", [said])):
        parts = [{"type": "step-start"}, *parts, {"reason": end, "type": "step-finish", **used}]
        name = f"{turn:06}{step}"
        yield _opencode_message(name, session, {**answer, "finish": end}, parts)


def _opencode_message(
    name: str, session: str, info: dict[str, Any], parts: list[dict[str, Any]]
) -> dict[str, Any]:
    about = {"sessionID": session, "messageID": f"msg_{name}"}
    numbered = [{**part, "id": f"prt_{name}{at}", **about} for at, part in enumerate(parts)]
    return {"info": {**info, "id": f"msg_{name}", "sessionID": session}, "parts": numbered}


def _line(value: dict[str, Any]) -> bytes:
    """As the tools spell it: no spaces, no escapes that are not needed."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


AGENTS: dict[str, Callable[[int, int], Iterator[bytes]]] = {
    "claude-code": claude_code,
    "codex": codex,
    "pi": pi,
    "gemini-cli": gemini_cli,
    "copilot": copilot,
    "opencode": opencode,
}
