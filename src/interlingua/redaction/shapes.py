"""Secrets and personal addresses that are known by their shape, as a table.

Each expression begins with something rare and is bounded in length, so that looking costs about
the same on every text. Group 1, where there is one, is the secret; else it is all of the match.
The shapes are those that the issuers document or that their keys had in 2026.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable
from typing import NamedTuple

WORD = r"(?<![A-Za-z0-9_-])"
"""Not in the middle of a longer word."""


def words(text: str) -> frozenset[str]:
    return frozenset(text.split())


class Shape(NamedTuple):
    kind: str
    signs: tuple[str, ...]
    """One of them is in every text that has such a thing, in lower case."""
    pattern: re.Pattern[str]
    holds: Callable[[re.Match[str]], bool] = lambda match: True


def _shape(
    kind: str,
    signs: str,
    pattern: str,
    holds: Callable[[re.Match[str]], bool] = lambda match: True,
) -> Shape:
    return Shape(kind, tuple(signs.split()), re.compile(pattern), holds)


def _key(kind: str, sign: str, rest: str) -> Shape:
    """A key that begins with a sign of its issuer."""
    return _shape(kind, sign.lower(), f"{WORD}{re.escape(sign)}{rest}")


def _is_random(match: re.Match[str]) -> bool:
    """Words of a language have no digits in them."""
    return any(letter.isdigit() for letter in match[1])


def _is_user_and_password(match: re.Match[str]) -> bool:
    try:
        said = base64.b64decode(match[1] + "=" * (-len(match[1]) % 4), validate=True)
    except (binascii.Error, ValueError):
        return False
    return b":" in said


_PEM = r"[A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
PRIVATE_KEY = (
    rf"-----BEGIN {_PEM}"
    rf"(?:(?:[^-]|-(?!----)){{1,16384}}-----END {_PEM}|[A-Za-z0-9+/=\s\\]{{0,16384}})"
)

KEYS: tuple[Shape, ...] = (
    _shape("private-key", "private", PRIVATE_KEY),
    _shape("age-key", "age-secret-key-", r"AGE-SECRET-KEY-1[A-Z0-9]{50,70}"),
    _key("anthropic-key", "sk-ant-", r"[A-Za-z0-9_-]{20,300}"),
    _key("openrouter-key", "sk-or-", r"[A-Za-z0-9_-]{20,300}"),
    _key("langfuse-key", "sk-lf-", r"[0-9a-f-]{30,60}"),
    _shape(
        "openai-key",
        "sk-",
        rf"{WORD}sk-(?:(?:proj|svcacct|admin|None|service)-[A-Za-z0-9_-]{{20,300}}"
        r"|[A-Za-z0-9]{24,200})(?![A-Za-z0-9])",
        lambda match: any(letter.isdigit() for letter in match[0]),
    ),
    _key("google-key", "AIza", r"[A-Za-z0-9_-]{35}(?![A-Za-z0-9_-])"),
    _key("google-token", "ya29.", r"[A-Za-z0-9_-]{20,2000}"),
    _key("google-secret", "GOCSPX-", r"[A-Za-z0-9_-]{20,60}"),
    _shape(
        "aws-key-id",
        "akia asia abia acca",
        rf"{WORD}(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{{16}}(?![A-Za-z0-9])",
    ),
    _key("aws-bedrock-key", "ABSK", r"[A-Za-z0-9+/]{80,300}={0,2}(?![A-Za-z0-9+/])"),
    _key("aws-bedrock-key", "bedrock-api-key-", r"[A-Za-z0-9+/=_-]{40,4000}"),
    _shape("github-token", "ghp_ gho_ ghu_ ghs_ ghr_", rf"{WORD}gh[pousr]_[A-Za-z0-9]{{36,255}}"),
    _key("github-token", "github_pat_", r"[A-Za-z0-9_]{22,255}"),
    _shape(
        "gitlab-token",
        "glpat- gldt- glrt- glcbt- glptt- glft- glimt- glagent- gloas- glsoat-",
        rf"{WORD}gl(?:pat|dt|rt|cbt|ptt|ft|imt|agent|oas|soat)-[A-Za-z0-9_.-]{{20,300}}",
    ),
    _shape("slack-token", "xox", rf"{WORD}xox[abceoprs]-[A-Za-z0-9-]{{10,300}}"),
    _key("slack-token", "xapp-", r"\d-[A-Za-z0-9-]{20,300}"),
    _shape(
        "slack-webhook",
        "hooks.slack.com",
        r"hooks\.slack\.com/(?:services|workflows|triggers)/([A-Za-z0-9/_-]{20,200})",
    ),
    _shape(
        "stripe-key",
        "sk_live_ sk_test_ rk_live_ rk_test_",
        rf"{WORD}[sr]k_(?:live|test)_[A-Za-z0-9]{{16,250}}",
    ),
    _key("stripe-key", "whsec_", r"[A-Za-z0-9+/]{24,100}={0,2}"),
    _key("huggingface-token", "hf_", r"[A-Za-z0-9]{30,60}(?![A-Za-z0-9])"),
    _key("huggingface-token", "api_org_", r"[A-Za-z0-9]{30,60}"),
    _key("npm-token", "npm_", r"[A-Za-z0-9]{36}(?![A-Za-z0-9])"),
    _key("pypi-token", "pypi-AgE", r"[A-Za-z0-9_-]{40,1000}"),
    _key("groq-key", "gsk_", r"[A-Za-z0-9]{40,100}"),
    _key("xai-key", "xai-", r"[A-Za-z0-9]{40,120}"),
    _key("perplexity-key", "pplx-", r"[A-Za-z0-9]{40,80}"),
    _key("cerebras-key", "csk-", r"[a-z0-9]{40,80}"),
    _key("replicate-token", "r8_", r"[A-Za-z0-9]{37}(?![A-Za-z0-9])"),
    _key("nvidia-key", "nvapi-", r"[A-Za-z0-9_-]{40,120}"),
    _key("fireworks-key", "fw_", r"[A-Za-z0-9]{22,40}(?![A-Za-z0-9])"),
    _key("tavily-key", "tvly-", r"[A-Za-z0-9-]{20,80}"),
    _key("interlingua-key", "gw_", r"[A-Za-z0-9_-]{43}(?![A-Za-z0-9_-])"),
    _key("sendgrid-key", "SG.", r"[A-Za-z0-9_-]{16,32}\.[A-Za-z0-9_-]{30,60}"),
    _shape("digitalocean-token", "_v1_", rf"{WORD}do[opr]_v1_[0-9a-f]{{64}}"),
    _key("databricks-token", "dapi", r"[0-9a-f]{32}(?:-\d)?(?![A-Za-z0-9])"),
    _key("linear-key", "lin_api_", r"[A-Za-z0-9]{30,60}"),
    _key("notion-token", "ntn_", r"[A-Za-z0-9]{40,60}"),
    _key("shopify-token", "shp", r"(?:at|ca|pa|ss)_[0-9a-fA-F]{32}"),
    _key("docker-token", "dckr_", r"(?:pat|oat)_[A-Za-z0-9_-]{20,60}"),
    _key("vault-token", "hvs.", r"[A-Za-z0-9_-]{24,300}"),
    _key("atlassian-token", "ATATT3", r"[A-Za-z0-9_=-]{60,300}"),
    _key("supabase-token", "sbp_", r"[0-9a-f]{40}"),
    _key("sentry-token", "sntrys_", r"[A-Za-z0-9+/=_-]{40,400}"),
    _shape("telegram-token", ":aa", r"(?<![A-Za-z0-9_-])\d{8,10}:AA[A-Za-z0-9_-]{33}(?![\w-])"),
    _shape(
        "jwt",
        "eyj",
        rf"{WORD}eyJ[A-Za-z0-9_-]{{8,8000}}\.eyJ[A-Za-z0-9_-]{{8,8000}}"
        r"\.[A-Za-z0-9_-]{0,4000}",
    ),
    _shape(
        "bearer-token",
        "bearer",
        r"(?<![A-Za-z])[Bb][Ee][Aa][Rr][Ee][Rr]\s{1,3}([A-Za-z0-9._~+/=-]{16,8000})",
        _is_random,
    ),
    _shape(
        "basic-auth",
        "basic",
        r"(?<![A-Za-z])[Bb][Aa][Ss][Ii][Cc]\s{1,3}([A-Za-z0-9+/]{8,2000}={0,2})",
        _is_user_and_password,
    ),
    _shape("url-password", "://", r"://[^\s:/@\"'<>]{0,100}:([^\s/\"'<>]{1,200})@"),
    _shape(
        "url-key",
        "key= token= sig= signature= secret= password= code=",
        r"[?&](?:[A-Za-z_-]{0,30}[_-])?(?:[Kk]ey|[Tt]oken|[Ss]ig(?:nature)?|[Ss]ecret|[Pp]assword"
        r"|[Cc]ode)=([A-Za-z0-9%._~+/=-]{16,2000})",
        _is_random,
    ),
)
