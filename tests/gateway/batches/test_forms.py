"""Batches at Mistral and Gemini, in the wire of their SDKs."""

from __future__ import annotations

import asyncio
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from google import genai
from mistralai.client import models as mistral

from interlingua.gateway.batches import native
from interlingua.gateway.batches.forms import FORMS, MistralForm
from interlingua.gateway.settings import BatchSettings
from interlingua.providers.read import providers
from tests.gateway.batches.running import begun, ended, lines_of, openai_client, rows_of
from tests.gateway.endpoints.vendors import Reply, Seen, Vendors
from tests.gateway.serving import served, settings_in

TEXTS = ["one", "two", "fail", "four"]
MISTRAL, GEMINI = "mistral:mistral-small-latest", "gemini:gemini-2.5-flash"


class ScriptedBatches:
    """The batch APIs of both, as far as a gateway asks for them. The answer to a batch that was
    begun is lost `lost` times."""

    def __init__(self, lost: int = 0) -> None:
        self.lost = lost
        self.file = b""
        self.batches: dict[str, Any] = {}
        self.requests: Any = []
        self.looks = 0
        self.single = 0
        self.cancelled = False

    def __call__(self, seen: Seen) -> Reply | None:
        path, _, query = seen.path.partition("?")
        if path.startswith("/mistral/v1"):
            return self._mistral(seen, path.removeprefix("/mistral/v1"), query)
        if path.startswith("/gemini/v1beta"):
            return self._gemini(seen, path.removeprefix("/gemini/v1beta"), query)
        return None

    def _made(self, id: str, shown: Any) -> Reply:
        self.batches[id] = shown
        self.lost -= 1
        return Reply(shown) if self.lost < 0 else Reply({"error": {"message": "lost"}}, 500)

    def _mistral(self, seen: Seen, path: str, query: str) -> Reply | None:
        if path == "/files":
            assert b'name="purpose"\r\n\r\nbatch\r\n' in seen.body
            self.file = re.split(rb"\r\n\r\n", seen.body, maxsplit=2)[2].rpartition(b"\r\n--")[0]
            return Reply({"id": "file-in", "object": "file"})
        if path == "/batch/jobs" and seen.method == "POST":
            job = mistral.CreateBatchJobRequest.model_validate(seen.wire)
            assert (job.endpoint, job.model) == ("/v1/chat/completions", "mistral-small-latest")
            for line in self.file.splitlines():
                request = mistral.BatchRequest.model_validate_json(line)
                assert "model" not in request.body
            return self._made("job", self._job("QUEUED", job.metadata))
        if path == "/batch/jobs":
            assert query == "page_size=100"
            return Reply({"object": "list", "data": list(self.batches.values()), "total": 1})
        if path == "/batch/jobs/job/cancel":
            self.cancelled = True
            return Reply(self.batches["job"])
        if path == "/batch/jobs/job":
            self.looks += 1
            status = "QUEUED" if self.looks < 2 else "SUCCESS"
            return Reply(self._job("CANCELLED" if self.cancelled else status, None))
        if path.startswith("/files/"):
            return Reply(self._lines(path.split("/")[2]))
        self.single += 1
        return None

    def _job(self, status: str, metadata: Any) -> Any:
        job = {"id": "job", "object": "batch", "input_files": ["file-in"], "status": status}
        job |= {"metadata": metadata, "endpoint": "/v1/chat/completions", "created_at": 1}
        job |= {"total_requests": 4, "completed_requests": 0, "succeeded_requests": 0}
        job |= {"failed_requests": 0, "errors": [], "model": "mistral-small-latest"}
        if status == "SUCCESS":
            job |= {"output_file": "output", "error_file": "error"}
        mistral.BatchJob.model_validate(job)
        return job

    def _lines(self, name: str) -> bytes:
        lines = []
        for line in [json.loads(each) for each in self.file.splitlines()]:
            text = line["body"]["messages"][-1]["content"]
            message = {"role": "assistant", "content": f"said {text}"}
            body: Any = {"id": "c", "object": "chat.completion", "created": 1, "model": "m"}
            choices = [{"index": 0, "message": message, "finish_reason": "stop"}]
            usage = {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5}
            response: Any = {"status_code": 200, "body": {**body, "choices": choices}}
            response["body"]["usage"] = usage
            if text == "fail":
                response = {"status_code": 400, "body": {"message": "not this", "code": 3000}}
            if (response["status_code"] == 200) == (name == "output"):
                wire = {"id": "x", "custom_id": line["custom_id"], "response": response}
                lines.append(json.dumps({**wire, "error": None}).encode() + b"\n")
        return b"".join(lines)

    def _gemini(self, seen: Seen, path: str, query: str) -> Reply | None:
        if path == "/models/gemini-2.5-flash:batchGenerateContent":
            batch = seen.wire["batch"]
            self.requests = batch["inputConfig"]["requests"]["requests"]
            for each in self.requests:
                genai.types.Content.model_validate(each["request"]["contents"][0])
            return self._made("b1", self._operation("PENDING", batch["displayName"]))
        if path == "/batches":
            return Reply({"operations": list(self.batches.values())})
        if path == "/batches/b1:cancel":
            self.cancelled = True
            return Reply({})
        if path == "/batches/b1":
            self.looks += 1
            state = "RUNNING" if self.looks < 2 else "SUCCEEDED"
            return Reply(self._operation("CANCELLED" if self.cancelled else state, "x"))
        self.single += 1
        return None

    def _operation(self, state: str, name: str) -> Any:
        metadata: Any = {"state": f"BATCH_STATE_{state}", "displayName": name}
        if state == "SUCCEEDED":
            inlined = [self._inlined(each) for each in self.requests][::-1]
            metadata["output"] = {"inlinedResponses": {"inlinedResponses": inlined}}
        operation = {"name": "batches/b1", "metadata": metadata}
        read = genai.batches._BatchJob_from_mldev(operation)  # type: ignore[attr-defined]
        shown = genai.types.BatchJob.model_validate(read)
        assert shown.name == "batches/b1"
        assert shown.done is (state in ("SUCCEEDED", "CANCELLED"))
        return operation

    def _inlined(self, each: Any) -> Any:
        text = each["request"]["contents"][-1]["parts"][0]["text"]
        if text == "fail":
            error = {"code": 3, "message": "not this"}
            return {"error": error, "metadata": each["metadata"]}
        content = {"role": "model", "parts": [{"text": f"said {text}"}]}
        response = {"candidates": [{"content": content, "finishReason": "STOP"}]}
        counts = {"promptTokenCount": 3, "candidatesTokenCount": 2, "totalTokenCount": 5}
        return {"response": {**response, "usageMetadata": counts}, "metadata": each["metadata"]}


def run(home: Path, provider: ScriptedBatches, client_side: Any) -> None:
    async def work(vendors: Vendors) -> None:
        vendors.configure(home)
        settings = replace(settings_in(home), batches=BatchSettings(at_provider=True))
        async with served(home, settings) as gateway:
            await asyncio.to_thread(client_side, gateway.base)

    with Vendors(provider) as vendors:
        asyncio.run(work(vendors))


@pytest.mark.parametrize("model", [MISTRAL, GEMINI])
@pytest.mark.parametrize("lost", [0, 1])
def test_a_batch_is_run_once_by_the_provider(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, model: str, lost: int
) -> None:
    """Also if the answer of the provider was lost when it was handed over."""
    monkeypatch.setattr(native, "POLL", 0.05)
    provider = ScriptedBatches(lost)

    def client_side(url: str) -> None:
        with openai_client(url) as client:
            batch = ended(client, begun(client, lines_of(TEXTS, model)))
            assert batch.status == "completed", batch
            rows = rows_of(client, batch.output_file_id)
            fields = {
                id: row["response"]["body"]["choices"][0]["message"]["content"]
                for id, row in rows.items()
            }
            assert fields == {"id-0": "said one", "id-1": "said two", "id-3": "said four"}
            assert "not this" in json.dumps(rows_of(client, batch.error_file_id)["id-2"])

    run(tmp_path, provider, client_side)
    assert len(provider.batches) == 1
    assert provider.single == 0, "nothing is asked one by one"


def test_several_models_are_no_batch_of_theirs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(native, "POLL", 0.05)
    provider = ScriptedBatches()

    def client_side(url: str) -> None:
        data = lines_of(["one"], MISTRAL) + lines_of(["x", "two"], "mistral:mistral-large-latest")
        lines = data.splitlines(keepends=True)
        with openai_client(url) as client:
            ended(client, begun(client, lines[0] + lines[2]))

    run(tmp_path, provider, client_side)
    assert provider.batches == {}
    assert provider.single > 0, "the queue runs them"


def test_every_form_of_the_providers_is_known() -> None:
    named = {each.batches for each in providers().values()} - {None}
    assert named == set(FORMS)
    line = json.loads(MistralForm().line("a", "/v1/x", b'{"model":"m","n":1}', first=True))
    assert line == {"custom_id": "a", "body": {"n": 1}}
