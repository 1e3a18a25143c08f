"""What the pages speak of: a store with three sessions and two requests of a gateway, sessions of
two agents, and some files. Written into the home folder and the current one."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import interlingua as il
from interlingua.costs import priced
from interlingua.store.requests import RequestRow
from tests.cli.homes import other, settled
from tests.transcripts.made import session

SONNET, GPT, OWN = "anthropic:claude-sonnet-4-6", "openai:gpt-5", "acme:large"
_AT = datetime(2026, 11, 14, 9, 30, tzinfo=UTC)
CALL = "tu_01M7H90PMM4RJGN3GET5ZGWZZW"
_RUST = "Bean rust: remove the leaves, do not compost."

_HELLO = {"model": "gpt-5", "messages": [{"role": "user", "content": "hello"}]}

FILES = {
    "request.json": json.dumps(
        {
            "model": "gpt-5",
            "seed": 7,
            "messages": [{"role": "user", "content": "What is the capital of Mongolia?"}],
        }
    ),
    "rules.toml": """schema_version = 1
default = "gemini:gemini-2.5-pro"
[aliases]
pro = "gemini:gemini-2.5-pro"
[[rules]]
name = "images"
use = "pro"
when = { has_images = true }
[[rules]]
name = "long"
use = "openai:gpt-5"
when = { estimated_input_tokens_gt = 150000 }
""",
    "wrong.toml": """schema_version = 1
[[rules]]
name = "images"
use = "gemini:gemini-2.5-pro"
when = { has_pictures = true }
[[rules]]
name = "long"
use = "gpt"
when = { estimated_input_tokens_gt = 150000 }
""",
    "traffic.jsonl": "\n".join(
        [
            json.dumps({**_HELLO, "tools": [{"type": "function", "function": {"name": "look"}}]}),
            '{"model": "gpt-5", "messages": [{"role":',
            json.dumps({**_HELLO, "temperature": 0.5}),
        ]
    ),
}


def main() -> None:
    for name, text in FILES.items():
        Path(name).write_text(text, encoding="utf-8")
    settled(session(), "claude-code", Path.home())
    settled(other(), "codex", Path.home())
    with il.open_store() as store:
        for id, name, model, messages in _sessions():
            row = store.create_session("/home/me/garden", id=id, name=name, active_model=model)
            store.append(row.id, messages)
        store.append_requests(_requests())


def _sessions() -> list[tuple[str, str, str, list[il.Message]]]:
    looked = [
        il.ThinkingBlock("Rust is likely."),
        il.TextBlock("Let me look."),
        il.ToolUseBlock(CALL, "search_handbook", {"query": "bean rust"}),
    ]
    found = "It is bean rust. Take the spotted leaves off, and keep them out of the compost."
    beans = [
        il.Message.user("Why do my beans have orange spots?"),
        _answer(SONNET, looked, 812, 96),
        il.Message.tool_result(CALL, _RUST),
        _answer(SONNET, [il.TextBlock(found)], 955, 41),
    ]
    script = [
        il.Message.user("Write a script that waters at six."),
        _answer(GPT, [il.TextBlock("0 6 * * * water --minutes 10")], 2100, 350),
    ]
    own = [
        il.Message.user("How warm is it in the greenhouse?"),
        _answer(OWN, [il.TextBlock("21 degrees.")], 12, 3),
    ]
    return [
        ("01M7H90PMK4RJGN3GET5ZGWZZW", "Beans by the wall", SONNET, _timed(beans)),
        ("01M7H90PMZ9BX8WY4T3TDWC0PS", "Irrigation script", GPT, _timed(script)),
        ("01M7H90PN1WGPHYX74DS874P06", "Own model", OWN, _timed(own)),
    ]


def _timed(messages: list[il.Message]) -> list[il.Message]:
    return [message.replace(created_at=_AT) for message in messages]


def _answer(model: str, content: list[il.Block], read: int, written: int) -> il.Message:
    usage = il.Usage(input_tokens=read, output_tokens=written)
    known = il.MessageMetadata(
        model=model,
        provider=model.partition(":")[0],
        usage=usage if model == OWN else priced(usage, model, at=_AT),
        stop_reason=il.StopReason.END_TURN,
    )
    return il.Message.assistant(content, known)


def _requests() -> list[RequestRow]:
    losses = [
        {
            "kind": "dropped",
            "path": f"$.options.{name}",
            "reason": f"{name} dropped: Anthropic has no equivalent",
            "severity": "warning",
        }
        for name in ("seed", "frequency_penalty")
    ]
    usage = il.Usage(input_tokens=100, output_tokens=20)
    answered = RequestRow(
        "req_01M7M173MWAGV0PWA2PMH1SGKV",
        _AT,
        "openai-chat",
        200,
        202,
        asked=SONNET,
        model=SONNET,
        dialect="anthropic",
        stop_reason="end_turn",
        attempts=1,
        usage=priced(usage, SONNET, at=_AT),
        losses=2,
        tries=({"model": SONNET, "outcome": "ok"},),
        report={"target": "anthropic", "losses": losses},
    )
    refused = RequestRow(
        "req_01M7M173V8R8EX9AYZZFST0XDZ",
        _AT + timedelta(minutes=1),
        "openai-chat",
        400,
        1,
        asked=SONNET,
        model=SONNET,
        dialect="anthropic",
        error="invalid_request",
        attempts=1,
    )
    return [answered, refused]


if __name__ == "__main__":
    main()
