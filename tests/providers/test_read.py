"""A user's file adds providers and changes ours; what is wrong in it is said with its place."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlingua.providers import (
    ProvidersFileError,
    compatible,
    credentials,
    endpoint,
    provider,
    providers,
)
from interlingua.providers.read import read_providers


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "providers.toml"


def test_an_address_is_all_that_a_compatible_server_needs(file: Path) -> None:
    file.write_text('[providers.acme]\nbase_url = "http://127.0.0.1:8000/v1"\n')
    acme = provider("acme", file)
    assert endpoint("acme:m", provider=acme).url == "http://127.0.0.1:8000/v1/chat/completions"
    assert credentials(acme, {}).style == "none"
    assert credentials(acme, {"ACME_API_KEY": "k"}).source == "ACME_API_KEY"
    same = compatible("acme", "http://127.0.0.1:8000/v1")
    assert endpoint("acme:m", provider=same) == endpoint("acme:m", provider=acme)


def test_a_server_may_speak_another_dialect(file: Path) -> None:
    file.write_text(
        '[providers.mine]\nbase_url = "https://mine.test"\ndialect = "anthropic"\n'
        'auth = [{ style = "x-api-key", env = ["MINE"] }]\nheaders = { anthropic-version = "1" }\n'
    )
    found = endpoint("mine:m", provider=provider("mine", file))
    assert found.url == "https://mine.test/v1/messages"
    assert found.dialect == "anthropic"
    assert found.headers["anthropic-version"] == "1"


def test_some_fields_of_a_provider_can_be_changed_and_the_rest_stays(file: Path) -> None:
    file.write_text("[providers.openai]\ntimeouts = { total = 9 }\nkey = 'own-key'\n")
    changed, ours = provider("openai", file), provider("openai")
    assert changed.timeouts.total == 9
    assert changed.timeouts.connect == ours.timeouts.connect
    assert changed.dialects == ours.dialects
    found = credentials(changed, {"OPENAI_API_KEY": "other"})
    assert found.secret is not None
    assert found.secret.reveal() == "own-key"
    assert found.source == str(file)
    assert "own-key" not in repr(changed)
    proxied = endpoint("openai:m", provider=changed, environ={"OPENAI_BASE_URL": "https://p.test"})
    assert proxied.url == "https://p.test/chat/completions"
    assert provider("openai") == ours, "the package's own is as it was"


def test_an_address_in_the_file_is_not_overridden_by_the_environment(file: Path) -> None:
    file.write_text('[providers.openai]\nbase_url = "https://own.test/v1"\n')
    found = endpoint(
        "openai:m",
        provider=provider("openai", file),
        environ={"OPENAI_BASE_URL": "https://other.test"},
    )
    assert found.url.startswith("https://own.test/v1/")


@pytest.mark.parametrize("location", ["global", "us", "europe-west1"])
def test_an_address_in_the_file_is_not_overridden_by_the_region(file: Path, location: str) -> None:
    file.write_text('[providers.vertex]\nbase_url = "https://own.test/v1"\n')
    environ = {"GOOGLE_CLOUD_PROJECT": "p", "GOOGLE_CLOUD_LOCATION": location}
    found = endpoint("vertex:m", provider=provider("vertex", file), environ=environ)
    assert found.url.startswith(f"https://own.test/v1/projects/p/locations/{location}/")


def test_without_a_file_there_is_what_the_package_has(file: Path) -> None:
    assert providers(file) == providers()


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        ("a = [", None, "not TOML"),
        ("\n[providers.acme\n", 2, "not TOML"),
        ("[providers.acme]\nkey = 'k'", 1, "base URL is required"),
        ("[providers.acme]\nbase_url = 5", 2, "providers.acme.base_url: Expected `str"),
        ("[providers.acme]\n\nbase_url = 'mailto:x'", 3, "http or https"),
        ("[providers.openai]\nbase_ulr = 'https://x'", 2, "unknown field `base_ulr`"),
        ("[providers.openai]\nauth = [{ style = 'magic' }]", 2, "Invalid enum value 'magic'"),
        ("[providers.openai]\nauth = []", 2, "at least one way"),
        ("[providers.openai]\ndialect = 'klingon'", 2, "'klingon' has no paths"),
        ("[providers.openai.dialects.klingon]\nrequest = '/k'", 1, "no dialect 'klingon'"),
        ("[providers.openai.dialects.openai-chat]\nrequest = 'k'", 2, "a path begins with /"),
        ("[providers.openai.dialects.openai-chat]\nrequest = '/{me}'", 2, "{me} is not in"),
        ("[providers.openai.headers]\n'a b' = 'c'", 2, "not a header"),
        ("[providers.openai.switches]\nhost = 'nobody'", 2, "no host 'nobody'"),
        ("[providers.openai.switches]\nreplay = 'often'", 2, "Invalid enum value 'often'"),
        ("[providers.openai.switches]\nids = { alphabet = '(a+)+' }", 2, "a character class"),
        ("[providers.openai.switches]\nids = { alphabet = '[z-a]' }", 2, "cannot be used"),
        ("[providers.openai.switches]\nids = { alphabet = '[_-]' }", 2, "two letters or digits"),
        ("[providers.openai.switches.ids]\nalphabet = '[a-z]'\nlongest = 0", 1, "lengths from 1"),
        ("[providers.openai]\nkey = 7", 2, "expected a key"),
        ("[providers.openai]\nsource = 'x'", 2, "unknown field"),
        ("[providers.'A B']\nkey = 'x'", 1, "a key is of"),
        ("[provider.openai]\nkey = 'x'", 1, "[providers.<key>]"),
        ("providers = 3", 1, "expected tables"),
    ],
)
def test_problems_are_reported_with_line_and_field(
    file: Path, text: str, line: int | None, says: str
) -> None:
    file.write_text(text)
    with pytest.raises(ProvidersFileError) as wrong:
        providers(file)
    assert says in str(wrong.value)
    assert str(file) in str(wrong.value)
    if line is not None:
        assert wrong.value.line == line


def test_a_file_that_is_no_text_is_refused_with_its_line(file: Path) -> None:
    file.write_bytes(b"# fine\n# \xff\n")
    with pytest.raises(ProvidersFileError, match=r"line 2.*not UTF-8"):
        providers(file)
    file.unlink()
    file.mkdir()
    with pytest.raises(ProvidersFileError, match="cannot be read"):
        providers(file)


@given(data=st.text(alphabet='[]providers.ab=\n"{}1,', max_size=60).map(str.encode) | st.binary())
def test_any_file_is_read_or_refused_in_one_way(data: bytes) -> None:
    try:
        made, _ = read_providers(data, "f", {})
    except ProvidersFileError:
        return
    assert all(each.base_url for each in made.values())
