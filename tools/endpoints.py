"""The endpoints that the providers' SDKs call, read from their code.

    python -m tools.endpoints             print those that the almanac lacks
    python -m tools.endpoints --update    write the almanac's list, asking a gateway what it serves

`profiles/data/wire/endpoints.tsv` has a line for each: the package, the method, the path, what the
gateway does with it (`served`, or `not served`: it answers 501) and the release it was seen in."""

from __future__ import annotations

import argparse
import asyncio
import gzip
import json
import re
import tempfile
from collections.abc import Iterator
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

from httpx import ASGITransport, AsyncClient

from interlingua.gateway.service import Service
from interlingua.gateway.settings import Settings
from tools.wire_gaps import DATA

LIST = DATA / "endpoints.tsv"
_STAINLESS = re.compile(
    r"self\._(get|post|put|patch|delete|get_api_list)\(\s*(?:path_template\(\s*)?f?\"(/[^\"]+)\""
)
_SPEAKEASY = re.compile(r"method=\"([A-Z]+)\",\s*path=\"(/[^\"]+)\"")
_FERN = re.compile(
    r"\.(?:request|stream)\(\s*f?\"([^\"]+)\",\s*(?:base_url=[^,]+,\s*)?method=\"([A-Z]+)\""
)
_OLLAMA = re.compile(r"'(GET|POST|DELETE|HEAD)',\s*f?'(/api/[^']+)'")
_GEMINI = re.compile(
    r"path = '([^']+)'(?:(?!path = ').)*?request(?:_streamed)?\(\s*'(get|post|patch|delete)'",
    re.DOTALL,
)


class Endpoint(NamedTuple):
    """A method and a path of a package."""

    package: str
    method: str
    path: str

    @property
    def sample(self) -> str:
        """The path with names in place of its parameters, as the SDK sends it."""
        return re.sub(r"\{[^}]*\}", "x", self.path)


def found() -> list[Endpoint]:
    """Every endpoint of the installed SDKs."""
    return sorted({each for package in _READERS for each in _READERS[package](package)})


def _sources(module: str) -> Iterator[str]:
    spec = find_spec(module)
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        for path in Path(folder).rglob("*.py"):
            if "tests" not in path.parts:
                yield path.read_text("utf-8")


def _stainless(package: str) -> Iterator[Endpoint]:
    start = "/v1" if package == "openai" else ""
    for text in _sources(package):
        for method, path in _STAINLESS.findall(text):
            name = "GET" if method == "get_api_list" else method.upper()
            yield Endpoint(package, name, start + path.partition("?")[0])


def _speakeasy(package: str) -> Iterator[Endpoint]:
    start = "/v1" if package == "openrouter" else ""
    for text in _sources(package):
        for method, path in _SPEAKEASY.findall(text):
            if path.startswith("/v") or start:
                yield Endpoint(package, method, start + path.partition("#")[0])


def _fern(package: str) -> Iterator[Endpoint]:
    for text in _sources(package):
        for path, method in _FERN.findall(text):
            yield Endpoint(package, method, f"/{re.sub(r'{[^}]*}', '{id}', path)}")


def _ollama(package: str) -> Iterator[Endpoint]:
    for text in _sources(package):
        for method, path in _OLLAMA.findall(text):
            yield Endpoint(package, method, path)


_GEMINI_NAMES = {
    "{model}:": ["models/{model}:"],
    "{models_url}": ["models"],
    "{operationName}": ["operations/{operation}"],
    "{parent}/documents": ["fileSearchStores/{store}/documents"],
    "{file_search_store_name}:": ["fileSearchStores/{store}:"],
    "upload/{api_version}/files": ["../upload/v1beta/files"],
    "upload/{api_version}/{file_search_store_name}": [
        "../upload/v1beta/fileSearchStores/{store}",
    ],
    "{name}": ["files/{file}", "cachedContents/{cache}", "models/{model}", "tunedModels/{model}"],
}
"""Paths that are made of a resource's whole name."""


def _gemini(package: str) -> Iterator[Endpoint]:
    for text in _sources("google.genai"):
        for path, method in _GEMINI.findall(text):
            if path.startswith(("projects", "publishers", "reasoningEngines", "{resourceName}")):
                continue  # of Vertex
            path = path.partition("?")[0]
            start = next((each for each in _GEMINI_NAMES if path.startswith(each)), path)
            for name in _GEMINI_NAMES.get(start, [start]):
                whole = f"/v1beta/{name}{path.removeprefix(start)}".replace("/v1beta/../", "/")
                yield Endpoint(package, method.upper(), whole)
        for method, path in (*_STAINLESS.findall(text), *_SPEAKEASY.findall(text)):
            yield Endpoint(package, method.upper(), path.replace("{api_version}", "v1beta"))


def _botocore(package: str) -> Iterator[Endpoint]:
    spec = find_spec("botocore")
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        for path in Path(folder).glob("data/bedrock-runtime/*/service-2.json*"):
            raw = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
            for operation in json.loads(raw)["operations"].values():
                http = operation["http"]
                yield Endpoint(package, http["method"], http["requestUri"])


_READERS: dict[str, Any] = {
    "anthropic": _stainless,
    "botocore": _botocore,
    "cohere": _fern,
    "google-genai": _gemini,
    "groq": _stainless,
    "mistralai": _speakeasy,
    "ollama": _ollama,
    "openai": _stainless,
    "openrouter": _speakeasy,
}


def listed() -> dict[Endpoint, tuple[str, str]]:
    """The endpoints of the almanac, each with what the gateway does and since when it is known."""
    lines = [line.split("\t") for line in LIST.read_text("utf-8").splitlines()[1:]]
    return {Endpoint(*line[:3]): (line[3], line[4]) for line in lines}


_HEADERS = {
    "anthropic": {"anthropic-version": "2023-06-01"},
    "cohere": {"x-fern-sdk-name": "cohere"},
    "google-genai": {"x-goog-api-key": "any"},
    "mistralai": {"user-agent": "mistral-client-python/3"},
    "openrouter": {"user-agent": "speakeasy-sdk/python openrouter"},
}
"""By which a gateway knows the packages."""


async def asked(endpoints: list[Endpoint], folder: Path) -> dict[Endpoint, str]:
    """What a gateway does with each: it is asked with an empty body."""
    answers: dict[Endpoint, str] = {}
    settings = Settings(store=str(folder / "gateway.db"), providers_file=folder / "providers.toml")
    service = await Service.open(settings)
    transport = ASGITransport(app=service.app)
    async with AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
        for each in endpoints:
            headers = _HEADERS.get(each.package, {})
            reply = await client.request(each.method, each.sample, json={}, headers=headers)
            nothing = re.search("no such endpoint|not allowed", reply.text)
            unknown = reply.status_code in (404, 405) and nothing
            is_served = "not served" if "does not serve" in reply.text else "served"
            answers[each] = "unknown" if unknown else is_served
    await service.close()
    return answers


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.endpoints")
    parser.add_argument("--update", action="store_true", help="write the almanac's list")
    every, before = found(), listed() if LIST.exists() else {}
    if not parser.parse_args().update:
        new = [each for each in every if each not in before]
        print("\n".join(" ".join(each) for each in new) or "every endpoint is in the almanac")
        return 1 if new else 0
    with tempfile.TemporaryDirectory() as folder:
        answers = asyncio.run(asked(every, Path(folder)))
    lines = ["package\tmethod\tpath\tgateway\tsince"]
    for each in every:
        since = before[each][1] if each in before else version(each.package)
        lines.append("\t".join((*each, answers[each], since)))
    LIST.write_text("\n".join(lines) + "\n", "utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
