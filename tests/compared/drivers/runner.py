"""What the programs share; standard library only, since each runs in another environment.

A program is called with two files: the jobs, as JSON, and the place for the results. A job has
`source`, `target`, `kind` (`request`, `response` or `stream`), `model` and `body`; of a stream, the
body is the text of its frames."""

from __future__ import annotations

import json
import logging
import os
import sys
import threading
import time
import warnings
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

# What SDKs and libraries look for in the environment; nothing leaves this machine.
for name in ("OPENAI", "ANTHROPIC", "GEMINI", "GOOGLE"):
    os.environ[f"{name}_API_KEY"] = "not-a-key"
os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"

Job = dict[str, Any]


class NotOfferedError(Exception):
    """The package has no such conversion."""


def main(convert: Callable[[Job], tuple[Any, str]], fast: Callable[[Job], Any] | None) -> None:
    """Does every job; `convert` gives the body and what was reported, `fast` is what is timed."""
    with open(sys.argv[1], encoding="utf-8") as file:
        jobs = json.load(file)
    results = [_timed(fast, job) if job.get("rounds") else _done(convert, job) for job in jobs]
    with open(sys.argv[2], "w", encoding="utf-8") as file:
        json.dump(results, file, default=str)


class _Words(logging.Handler):
    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.heard: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.heard.append(record.getMessage())


def _done(convert: Callable[[Job], tuple[Any, str]], job: Job) -> dict[str, Any]:
    words = _Words()
    logging.getLogger().addHandler(words)
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always", UserWarning)
        try:
            wire, result = convert(job)
        except NotOfferedError:
            return {"offered": False}
        except Exception as problem:
            return {"problem": f"{type(problem).__name__}: {problem}"[:300]}
        finally:
            logging.getLogger().removeHandler(words)
    heard = [str(each.message) for each in warned if issubclass(each.category, UserWarning)]
    return {"wire": plain(wire), "told": " ".join([result, *words.heard, *heard]).strip()}


def _timed(fast: Callable[[Job], Any] | None, job: Job) -> dict[str, Any]:
    """The best of some rounds, and that of a JSON parser which reads and writes the same."""
    if fast is None:
        return {"offered": False}
    try:
        fast(job)
        return {"seconds": _best(lambda: fast(job), job["rounds"])}
    except NotOfferedError:
        return {"offered": False}
    except Exception as problem:
        return {"problem": f"{type(problem).__name__}: {problem}"[:300]}


def _best(call: Callable[[], Any], rounds: int) -> float:
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return min(times)


def plain(value: Any) -> Any:
    """JSON of an SDK's or a library's object."""
    if isinstance(value, (list, tuple)):
        return [plain(each) for each in value]
    if hasattr(value, "model_dump"):
        return json.loads(value.model_dump_json(exclude_none=True, by_alias=True))
    if isinstance(value, dict):
        return {key: plain(each) for key, each in value.items()}
    return value


def frames_of(text: str) -> list[tuple[str | None, Any]]:
    """The events of a text of server-sent events."""
    found = []
    for block in text.replace("\r\n", "\n").split("\n\n"):
        fields = [line.partition(": ")[::2] for line in block.split("\n") if line]
        data = "\n".join(value for name, value in fields if name == "data")
        event = next((value for name, value in fields if name == "event"), None)
        if data and data != "[DONE]":
            found.append((event, json.loads(data)))
    return found


ANSWERS: dict[str, Any] = {
    "openai-chat": {
        "id": "c1",
        "object": "chat.completion",
        "created": 1,
        "model": "gpt-4.1",
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": "Hi"},
                "finish_reason": "stop",
            }
        ],
        "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
    },
    "openai-responses": {
        "id": "resp_1",
        "object": "response",
        "created_at": 1,
        "model": "gpt-4.1",
        "status": "completed",
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "output": [
            {
                "id": "msg_1",
                "type": "message",
                "role": "assistant",
                "status": "completed",
                "content": [{"type": "output_text", "text": "Hi", "annotations": []}],
            }
        ],
        "usage": {
            "input_tokens": 1,
            "output_tokens": 1,
            "total_tokens": 2,
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens_details": {"reasoning_tokens": 0},
        },
    },
    "anthropic": {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude-sonnet-4-5",
        "content": [{"type": "text", "text": "Hi"}],
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 1, "output_tokens": 1},
    },
    "gemini": {
        "candidates": [
            {"content": {"role": "model", "parts": [{"text": "Hi"}]}, "finishReason": "STOP"}
        ],
        "usageMetadata": {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2},
    },
}
"""What a provider says to a request of which only the body is wanted."""
QUESTIONS: dict[str, Any] = {
    "openai-chat": {"messages": [{"role": "user", "content": "Hello"}]},
    "openai-responses": {"input": "Hello"},
    "anthropic": {"max_tokens": 99, "messages": [{"role": "user", "content": "Hello"}]},
    "gemini": {"contents": [{"role": "user", "parts": [{"text": "Hello"}]}]},
}
"""What is asked where only the answer is wanted."""


class Upstream:
    """A provider on loopback: it remembers the last body, and answers as it was told to."""

    def __init__(self) -> None:
        self.asked: Any = None
        self.path = ""
        self.answer = b"{}"
        self.type = "application/json"
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("content-length") or 0))
                outer.asked, outer.path = json.loads(body or b"null"), self.path
                self.send_response(200)
                self.send_header("content-type", outer.type)
                self.send_header("content-length", str(len(outer.answer)))
                self.end_headers()
                self.wfile.write(outer.answer)

            def log_message(self, *_: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def prepare(self, job: Job) -> Job:
        """The body that the client asks with; the job's own, or any where the answer is wanted."""
        self.asked = None
        self.type = "text/event-stream" if job["kind"] == "stream" else "application/json"
        if job["kind"] == "request":
            self.answer = json.dumps(ANSWERS[job["target"]]).encode()
            return dict(job["body"])
        body = job["body"]
        self.answer = (body if isinstance(body, str) else json.dumps(body)).encode()
        return dict(QUESTIONS[job["target"]])
