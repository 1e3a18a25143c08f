"""The file of a gateway: what it may say, and how it is told what is wrong."""

from __future__ import annotations

import tomllib
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlingua.client.targets import askable
from interlingua.gateway import config
from interlingua.gateway.config import (
    DEFAULT_MODEL,
    ConfigError,
    Problem,
    check,
    load,
    read,
    table,
    warnings,
)
from interlingua.gateway.server.worker import Overrides
from interlingua.gateway.settings import (
    AlertSettings,
    Limits,
    Listen,
    RouteSettings,
    Settings,
    Telemetry,
)
from interlingua.model.exchange import ErrorKind

FILE = Path("/somewhere/gateway.toml")
WHOLE = """
default_model = "fast"
store = "postgresql://db/x"
providers_file = "providers.toml"
fallback_on = ["rate_limit"]
[listen]
host = "0.0.0.0"
port = 0
workers = 4
hosts = ["gateway.example"]
origins = ["https://page.example"]
notice_seconds = 0
drain_seconds = 10.5
[limits]
body = 1000
header_seconds = 2
[retry]
max_retries = 0
[telemetry]
spans = true
log = "json"
[routes.fast]
model = "anthropic:claude-haiku-4-5"
fallbacks = ["local"]
[routes."team/deep"]
model = "openai:gpt-4.1"
dialect = "openai-responses"
"""


def test_everything_that_a_file_may_say_is_read() -> None:
    settings = read(WHOLE.encode(), FILE)
    assert settings.default_model == "fast"
    assert settings.store == "postgresql://db/x"
    assert settings.providers_file == Path("/somewhere/providers.toml"), "beside the file"
    assert settings.fallback_on == {ErrorKind.RATE_LIMIT}
    assert settings.listen == Listen(
        "0.0.0.0", 0, 4, ("gateway.example",), ("https://page.example",), 0, 10.5
    )
    assert settings.limits == Limits(body=1000, header_seconds=2.0)
    assert settings.retry.max_retries == 0
    assert (settings.telemetry.spans, settings.telemetry.log) == (True, "json")
    assert settings.routes == {
        "fast": RouteSettings("anthropic:claude-haiku-4-5", ("local",)),
        "team/deep": RouteSettings("openai:gpt-4.1", (), "openai-responses"),
    }


def test_without_a_file_everything_has_a_default(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("INTERLINGUA_HOME", str(tmp_path))
    assert load() == Settings(default_model=DEFAULT_MODEL)
    (tmp_path / "gateway.toml").write_text('default_model = "sonnet"')
    assert load().default_model == "sonnet"
    with pytest.raises(ConfigError, match="no such file"):
        load(tmp_path / "other.toml")


def test_all_that_is_wrong_is_told_with_its_place() -> None:
    text = """
odd = 1
fallback_on = ["nonsense"]
[listen]
port = 70000
workers = 0
drain_seconds = -1
host = 3
[limits]
body = "much"
keep_alive = 0
other = 1
[telemetry]
log = "xml"
[routes]
bad = 3
[routes.empty]
[routes."no spaces"]
model = "local"
dialect = "klingon"
"""
    with pytest.raises(ConfigError) as odd:
        read(text.encode(), FILE)
    places = {problem.place for problem in odd.value.problems}
    assert places == {
        *("odd", "fallback_on", "listen.port", "listen.workers", "listen.drain_seconds"),
        *("listen.host", "limits.body", "limits.keep_alive", "limits.other", "telemetry.log"),
        *("routes.bad", "routes.empty.model", "routes.no spaces", "routes.no spaces.dialect"),
    }
    assert all(line.startswith(str(FILE)) for line in str(odd.value).splitlines())


def test_a_file_that_is_no_toml_says_where() -> None:
    with pytest.raises(ConfigError, match="line 2"):
        read(b"a = 1\nb = ]", FILE)
    with pytest.raises(ConfigError, match="UTF-8"):
        read(b"\xff\xfe", FILE)
    with pytest.raises(ConfigError, match="larger"):
        read(b"#" * (1 << 21), FILE)


_LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8)
_NAMES = st.sampled_from(
    [
        *("default_model", "store", "providers_file", "fallback_on", "routes", "listen"),
        *("limits", "retry", "telemetry", "model", "fallbacks", "dialect", "x"),
        *[f.name for kind in (Listen, Limits, Telemetry) for f in fields(kind)],
    ]
)
_TABLES = st.recursive(
    _LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_NAMES, inner, max_size=4)
)


@given(st.dictionaries(_NAMES, _TABLES, max_size=5))
def test_no_table_does_anything_but_be_read_or_refused(plain: dict[str, Any]) -> None:
    import interlingua.gateway.config as config

    reader = config._Reader(FILE)
    reader._toml = lambda data: plain  # type: ignore[method-assign]  # what a parser would give
    settings = reader.read(b"")
    assert isinstance(settings, Settings)
    if not reader.problems:
        assert settings.listen.workers >= 1
        assert settings.limits.body > 0


@given(st.binary(max_size=200))
def test_no_bytes_do_anything_but_be_read_or_refused(data: bytes) -> None:
    problems: list[Problem] = []
    try:
        read(data, FILE)
    except ConfigError as odd:
        problems = odd.problems
    try:
        tomllib.loads(data.decode("utf-8-sig"))
    except ValueError:
        assert [problem.place for problem in problems] == ["file"]


def test_routes_that_lead_nowhere_are_found_without_asking_anybody(tmp_path: Path) -> None:
    settings = Settings(
        routes={
            "good": RouteSettings("local"),
            "nobody": RouteSettings("nobody:x"),
            "later": RouteSettings("local", ("gibberish",)),
            "deaf": RouteSettings("anthropic:claude-haiku-4-5", dialect="gemini"),
        },
        default_model="nothing at all",
        providers_file=tmp_path / "none.toml",
    )
    places = [problem.place for problem in check(settings)]
    assert sorted(places) == ["default_model", "routes.deaf", "routes.later", "routes.nobody"]
    rows = {row.name: row for row in table(settings)}
    assert rows["good"].model == "local:smollm2-135m-instruct"
    assert rows["good"].problem is None
    assert "nobody" in str(rows["nobody"].problem)


def test_a_providers_file_that_cannot_be_read_is_reported(tmp_path: Path) -> None:
    file = tmp_path / "providers.toml"
    file.write_text("[providers.x]\nnonsense = 1\n")
    (problem,) = check(Settings(providers_file=file))
    assert problem.place == "providers_file"


def test_alerts_without_their_secret_are_warned_of(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = Settings(alerts=AlertSettings("https://hooks.example", "env:SIGNS_ALERTS"))
    monkeypatch.delenv("SIGNS_ALERTS", raising=False)
    assert "SIGNS_ALERTS" in str(warnings(settings))
    monkeypatch.setenv("SIGNS_ALERTS", "a secret")
    assert warnings(settings) == warnings(Settings()) == []


def test_the_command_line_comes_before_the_file(tmp_path: Path) -> None:
    file = tmp_path / "gateway.toml"
    file.write_text("[listen]\nport = 1\nworkers = 3\n")
    settings = Overrides(str(file), port=0).settings()
    assert (settings.listen.port, settings.listen.workers) == (0, 3)
    assert Overrides(str(file), host="::1", workers=1).settings().listen.host == "::1"


def test_a_route_with_pools_and_a_provider_with_several_keys(tmp_path: Path) -> None:
    text = b"""
    [routes.pool]
    models = [{model = "openai:gpt-5", weight = 3, rpm = 10}, "azure:gpt-5"]
    fallbacks = ["local"]
    strategy = "latency"
    retries = 0
    deadline = 30
    [routes."gpt-*"]
    model = "openai:*"
    [providers.openai]
    keys = ["env:A", "env:B"]
    """
    settings = read(text, tmp_path / "gateway.toml")
    pool = settings.routes["pool"]
    assert [(each.model, each.weight, each.rpm) for each in pool.models] == [
        ("openai:gpt-5", 3, 10),
        ("azure:gpt-5", 1, None),
    ]
    assert (pool.model, pool.strategy, pool.retries) == ("openai:gpt-5", "latency", 0)
    assert settings.providers["openai"].keys == ("env:A", "env:B")
    assert check(settings) == []


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (b"[routes.a]\nmodel = 3", "routes.a.model: expected"),
        (b"[routes.a]", "expected exactly one of `model` and `models`"),
        (
            b'[routes.a]\nmodel = "local"\nmodels = ["local"]',
            "expected exactly one of `model` and `models`",
        ),
        (b"[routes.a]\nmodels = [{weight = 1}]", "routes.a.models[0]: "),
        (b'[routes.a]\nmodels = [{model = "local", key = "sk-1"}]', "expected env:NAME"),
        (b'[routes.a]\nmodels = [{model = "local", weight = 0}]', "expected more than 0"),
        (b'[routes.a]\nmodels = [{model = "local", wieght = 1}]', "unknown setting"),
        (b'[routes.a]\nmodel = "local"\nstrategy = "best"', "routes.a.strategy: "),
        (b'[providers.openai]\nkeys = ["sk-1"]', "providers.openai.keys[0]: expected env:NAME"),
        (b'[providers.openai]\nbase_url = "http://a"', "go in providers.toml"),
        (b"[providers]\nopenai = 3", "providers.openai: expected a table"),
    ],
)
def test_problems_of_a_pool_are_reported_with_their_place(
    tmp_path: Path, text: bytes, problem: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        read(text, tmp_path / "gateway.toml")
    assert any(problem in str(each) for each in caught.value.problems), caught.value.problems


def test_several_keys_of_a_provider_make_it_known_everywhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.setenv("KEY_TWO", "two")
    text = b'[providers.openai]\nkeys = ["env:KEY_ONE", "env:KEY_TWO"]\n'
    settings = config.read(text, tmp_path / "gateway.toml")
    targets = config.targets_of(settings)
    assert any(model.startswith("openai:") for model in askable(targets))
    rows = [row for row in config.table(settings) if row.name.startswith("openai:")]
    assert [row.problem for row in rows] == [None]


def test_the_table_shows_each_deployment_with_its_own_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("AZURE_OPENAI_API_KEY", "AZURE_OPENAI_ENDPOINT", "AZURE_KEY", "KEY_TWO"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("KEY_ONE", "one")
    text = b"""
    default_model = "gpt-5"
    [routes.pool]
    models = [{model = "openai:gpt-5", weight = 3}, {model = "azure:gpt-5", key = "env:AZURE_KEY"}]
    fallbacks = ["nobody:x"]
    [routes."gpt-*"]
    model = "openai:*"
    [providers.openai]
    keys = ["env:KEY_ONE", "env:KEY_TWO"]
    """
    settings = config.read(text, tmp_path / "gateway.toml")
    settings = replace(settings, providers_file=tmp_path / "none.toml")

    def rows() -> dict[str, list[tuple[str, str | None]]]:
        found, name = dict[str, list[tuple[str, str | None]]](), ""
        for row in table(settings):
            name = name if row.name.startswith("  ") else row.name
            found.setdefault(name, []).append((row.model, row.problem))
        return found

    pool = rows()["pool"]
    assert pool[:3] == [
        ("openai:gpt-5 (KEY_ONE, weight 1.5)", None),
        ("openai:gpt-5 (KEY_TWO, weight 1.5)", "no key: set KEY_TWO"),
        ("azure:gpt-5 (AZURE_KEY, weight 1)", "no key: set AZURE_KEY"),
    ]
    assert "nobody" in str(pool[3][1])
    assert rows()["(no model named)"][0][0] == "openai:gpt-5 (KEY_ONE)", "by the wildcard"
    monkeypatch.setenv("AZURE_KEY", "two")
    assert "AZURE_OPENAI_ENDPOINT" in str(rows()["pool"][2][1]), "no address"
