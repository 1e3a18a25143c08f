"""Recording from servers that really generate: the `local` model, or a provider with a key."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace

import msgspec

import interlingua as il
from interlingua.dialects.kernel.wire import encode
from tests.cassettes import cases
from tests.cassettes.cases import Case
from tests.cassettes.cassette import Cassette
from tests.cassettes.record import auth_headers, record
from tests.replay.exchanges import Exchange
from tests.replay.routes import path_of

LOCAL_DIALECTS = ("openai-chat", "openai-responses", "anthropic")


def record_from(
    base_url: str,
    source: str,
    dialect: str,
    model: str | None = None,
    key: str = "",
    wanted: Iterable[Case] | None = None,
) -> list[Cassette]:
    """The cases of a dialect, but for the error, which nobody makes on demand."""
    headers = auth_headers(dialect, key) if key else []
    return [
        record(base_url, asked(dialect, case, model), source, case.name, headers, [key])
        for case in (wanted or cases.cases(dialect))
        if case.error is None
    ]


def asked(dialect: str, case: Case, model: str | None) -> list[Exchange]:
    """The requests of a case, to another model."""
    made = [cases.exchange(dialect, case, is_stream) for is_stream in (False, True)]
    return made if model is None else [_for_model(each, model) for each in made]


def _for_model(exchange: Exchange, model: str) -> Exchange:
    if exchange.dialect in ("gemini", "bedrock"):
        _, mark, query = exchange.path.partition("?")
        path = path_of(exchange.dialect, model, exchange.is_stream)
        return replace(exchange, path=path + mark + query)
    body = msgspec.json.decode(exchange.request or b"{}")
    return replace(exchange, request=encode({**body, "model": model}))


def _local_case(dialect: str) -> Case:
    """A short answer is enough, and so small a model says little that is worth more."""
    temperature = None if dialect == "anthropic" else 0.0
    options = il.Options(max_output_tokens=24, temperature=temperature)
    question = il.Message.user("Name three colours.")
    return Case("text", (cases.SYSTEM, question), (il.TextBlock("Red."),), options=options)


def record_local(dialects: Collection[str]) -> list[Cassette]:
    """From the bundled local model, which is started if it does not run."""
    from interlingua import local

    with local.start(show=local.Silent()) as server:
        key = server.key.reveal()
        return [
            tape
            for name in LOCAL_DIALECTS
            if name in dialects
            for tape in record_from(
                server.base_url, "local", name, local.NAME, key, [_local_case(name)]
            )
        ]
