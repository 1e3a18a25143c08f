"""Signatures: the examples that AWS publishes, and agreement with AWS's own library."""

from __future__ import annotations

from datetime import UTC, datetime
from types import SimpleNamespace
from urllib.parse import quote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from interlingua.providers import sign
from interlingua.providers.credentials import signing_key
from tests.effort import examples

AT = datetime(2015, 8, 30, 12, 36, tzinfo=UTC)
EXAMPLE_SECRET = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"


def example(method: str, url: str, headers: dict[str, str] | None = None, body: bytes = b"") -> str:
    """The signature of a request of AWS's published test suite, whose service is `service`."""
    signed = sign(
        method,
        url,
        headers or {},
        body,
        access_key="AKIDEXAMPLE",
        secret_key=EXAMPLE_SECRET,
        region="us-east-1",
        service="service",
        at=AT,
    )
    return signed["authorization"]


def test_the_signing_key_is_that_of_the_documentation() -> None:
    key = signing_key(EXAMPLE_SECRET, "20150830", "us-east-1", "iam")
    assert key.hex() == "c4afb1cc5771d871763a393e44b703571b55cc28424d1a5e86da6ed3c154a4b9"


@pytest.mark.parametrize(
    ("method", "url", "signature"),
    [
        (
            "GET",
            "https://example.amazonaws.com/",
            "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31",
        ),
        (
            "POST",
            "https://example.amazonaws.com/",
            "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b",
        ),
        (
            "GET",
            "https://example.amazonaws.com/?Param2=value2&Param1=value1",
            "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500",
        ),
    ],
    ids=["get-vanilla", "post-vanilla", "get-vanilla-query-order"],
)
def test_published_examples_are_signed_as_published(method: str, url: str, signature: str) -> None:
    assert example(method, url) == (
        "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, "
        f"SignedHeaders=host;x-amz-date, Signature={signature}"
    )


HEADERS = st.dictionaries(
    st.sampled_from(["content-type", "accept", "x-amz-target", "X-Mixed-Case"]),
    st.text(alphabet="abc /;=. 019", min_size=1, max_size=12).filter(lambda s: s.strip() == s),
    max_size=3,
)


@given(
    model=st.text(min_size=1, max_size=30).filter(lambda s: s.isprintable() and s not in ".."),
    headers=HEADERS,
    body=st.binary(max_size=40),
    session=st.none() | st.just("a+session/token=="),
)
@settings(max_examples=examples(80), deadline=None)
def test_aws_own_library_makes_the_same_signature(
    model: str, headers: dict[str, str], body: bytes, session: str | None
) -> None:
    auth = pytest.importorskip("botocore.auth", reason="needs botocore, of the extra sdks")
    url = f"https://bedrock-runtime.eu-west-1.amazonaws.com/model/{quote(model, safe='')}/converse"
    request = pytest.importorskip("botocore.awsrequest").AWSRequest(
        "POST", url, headers=headers, data=body
    )
    keys = SimpleNamespace(access_key="AKID", secret_key=EXAMPLE_SECRET, token=session)
    signer = auth.SigV4Auth(keys, "bedrock", "eu-west-1")
    signer.add_auth(request)
    stamp = request.headers["X-Amz-Date"]
    ours = sign(
        "POST",
        url,
        headers,
        body,
        access_key="AKID",
        secret_key=EXAMPLE_SECRET,
        session_token=session,
        region="eu-west-1",
        at=datetime.strptime(stamp, "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC),
    )
    assert ours["authorization"] == request.headers["Authorization"]
    assert ours["x-amz-date"] == stamp
    assert ours.get("x-amz-security-token") == session
