"""A real server with the real model, for the tests of this folder; weights are fetched once."""

from __future__ import annotations

import http.client
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import interlingua as il
from interlingua import local
from interlingua.client.targets import Targets
from interlingua.local.front import PATHS
from interlingua.local.model import VARIABLE
from interlingua.providers import provider
from tests.adapt.writing import written_for

PATH_OF = {dialect: path for path, dialect in PATHS.items()}
DIALECTS = list(PATH_OF)


class Answer(NamedTuple):
    status: int
    body: bytes
    dialect: str

    def response(self) -> il.Response:
        """As our readers see it, whether it was streamed or not."""
        dialect = il.dialect(self.dialect)
        if self.body.startswith(b"{"):
            return dialect.read_response(self.body)
        decoder, reader = il.sse.Decoder(), dialect.stream_reader()
        frames = [*decoder.feed(self.body), *decoder.close()]
        events = [event for frame in frames for event in reader.feed(frame)]
        return il.fold([*events, *reader.close()])


Ask = Callable[..., Answer]


@pytest.fixture(scope="session")
def weights(request: pytest.FixtureRequest) -> Path:
    """The weights, kept between runs beside pytest's other notes."""
    pytest.importorskip("xllamacpp", reason="needs the extra local")
    assert request.config.cache is not None
    try:
        return local.weights_path(request.config.cache.mkdir("local"))
    except local.WeightsError as missing:
        pytest.skip(f"the weights cannot be had here: {missing}")


FOLDER = pytest.StashKey[Path]()


@pytest.fixture(scope="session")
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the server has its note, and is found by all modules that ask for one."""
    stash = request.config.stash
    if FOLDER not in stash:
        stash[FOLDER] = tmp_path_factory.mktemp("local")
    return stash[FOLDER]


@pytest.fixture(scope="session")
def server(weights: Path, folder: Path) -> Iterator[local.LocalServer]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(VARIABLE, str(weights))
        with local.start(folder) as lease:
            yield lease


def send(server: local.LocalServer, path: str, body: Any, key: str | None = None) -> Answer:
    address = server.base_url.removeprefix("http://")
    connection = http.client.HTTPConnection(address, timeout=120)
    headers = {"authorization": f"Bearer {key or server.key.reveal()}"}
    try:
        connection.request("POST", path, json.dumps(body), headers)
        answer = connection.getresponse()
        return Answer(answer.status, answer.read(), PATHS.get(path, "anthropic"))
    finally:
        connection.close()


@pytest.fixture
def ask(server: local.LocalServer) -> Ask:
    """Says a canonical request in a dialect, and hands over what came back."""

    def asked(
        dialect: str,
        *messages: il.Message,
        tools: tuple[il.ToolDefinition, ...] = (),
        **options: Any,
    ) -> Answer:
        chosen = il.Options(**{"temperature": 0.0, "max_output_tokens": 40, **options})
        value = il.Request(messages, local.NAME, tools=tools, options=chosen)
        target = Targets([provider("local")], profiles=False).find(f"local:{local.NAME}", dialect)
        # Our writer leaves it out, since Anthropic's own API now refuses it.
        body = {**written_for(value, target, chosen.stream).wire, "temperature": chosen.temperature}
        return send(server, PATH_OF[dialect], body)

    return asked
