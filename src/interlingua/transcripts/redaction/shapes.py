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
from ipaddress import IPv6Address, ip_address
from typing import Literal, NamedTuple

WORD = r"(?<![A-Za-z0-9_-])"
"""The beginning of a word."""


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
    """Whether it looks random: words of a language contain no digits."""
    return any(letter.isdigit() for letter in match[1])


def _is_user_and_password(match: re.Match[str]) -> bool:
    try:
        decoded = base64.b64decode(match[1] + "=" * (-len(match[1]) % 4), validate=True)
    except (binascii.Error, ValueError):
        return False
    return b":" in decoded


def _has_both_cases(match: re.Match[str]) -> bool:
    """Unlike hashes and most paths, as long base64 of random bytes does."""
    return not match[1].islower() and not match[1].isupper()


_BETWEEN = r"[^A-Za-z0-9/+]{1,24}"
"""Separators of a name and its value in any language: ` = "`, `'] = '`, `>`, `: `, ` `."""
_AWS_SECRET = rf"{_BETWEEN}([A-Za-z0-9/+]{{40}})(?![A-Za-z0-9/+=])"
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
    Shape(
        "aws-secret-key",
        ("secret_access_key", "secretaccesskey", "secret-access-key", "secret access key"),
        # `aws configure` has the end of the last one in brackets behind its question.
        re.compile(rf"(?i:secret[ _-]?access[ _-]?key)(?: \[[\w*]{{1,24}}\])?{_AWS_SECRET}"),
        _has_both_cases,
    ),
    _shape(
        "aws-session-token",
        "session_token sessiontoken session-token security_token securitytoken security-token",
        rf"(?i:(?:session|security)[_-]?token){_BETWEEN}([A-Za-z0-9/+]{{100,4000}}={{0,2}})",
        _has_both_cases,
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


_NO_DOMAINS = words(
    "png jpg jpeg gif svg webp ico css scss less js mjs cjs ts tsx jsx json html htm md txt py rs"
    " go java yml yaml toml lock zip gz tar whl pdf mp4 mp3 wav map sh exe dll so"
)
"""Ends of file names: `icon@2x.png` is a file."""
_NO_PEOPLE = words(
    "user username users me you name yourname your-name someone runner shared public default"
    " linuxbrew node app"
)
"""Home folders that do not name a person."""
_VERSION_BEFORE = re.compile(
    r"(?:\bv|\bversions?|\bver\.?|\brelease|\bbuild|[=~<>!]=|[<>^~@]|[A-Za-z0-9][-_/])"
    r"[\s:=\"'`]{0,4}$",
    re.IGNORECASE,
)
EMAIL = (
    r"(?<![A-Za-z0-9._%+/:-])[A-Za-z0-9._%+-]{1,64}@"
    r"(?:[A-Za-z0-9](?:[A-Za-z0-9-]{0,62})\.){1,8}[A-Za-z]{2,24}(?![A-Za-z0-9_-])"
)
IPV4 = r"(?<![\w.])(?:\d{1,3}\.){3}\d{1,3}(?![\w]|\.\d)"
IPV6 = (
    r"(?<![\w:.])(?:[0-9A-Fa-f]{0,4}:){2,7}(?:[0-9A-Fa-f]{1,4}|(?:\d{1,3}\.){3}\d{1,3})?(?![\w:])"
)
HOME = (
    r"(?<![A-Za-z0-9_.~-])(?:[A-Za-z]:)?(?:[\\/]{1,4})(?:home|[Uu]sers)[\\/]{1,4}"
    r"([^\s\\/:*?\"'<>|,;)\](}{`]{1,64})"
)
FOLDED_HOME = r"(?:^|(?<=[\\/]))-(?:home|Users)-([A-Za-z0-9_.]{1,64})(?=-|$)"
"""A home folder in the name of an agent's project folder: `-home-u17-project`."""


def _is_person(match: re.Match[str]) -> bool:
    name, _, domain = match[0].rpartition("@")
    if name == "git" or domain.rpartition(".")[2].lower() in _NO_DOMAINS:
        return False
    return not name.endswith(".") and not name.startswith(".")


def _is_foreign_ipv4(match: re.Match[str]) -> bool:
    """Neither a version, nor a mask, nor this machine itself."""
    before = match.string[max(0, match.start() - 16) : match.start()]
    if _VERSION_BEFORE.search(before) and not before.endswith("//"):
        return False
    try:
        address = ip_address(match[0])
    except ValueError:
        return False
    if match[0].startswith("255.") or match[0].startswith("0."):
        return False
    return not address.is_loopback


def _is_foreign_ipv6(match: re.Match[str]) -> bool:
    try:
        address = IPv6Address(match[0])
    except ValueError:
        return False
    groups = [group for group in match[0].split(":") if group]
    telling = [group for group in groups if len(group) >= 3 and re.search(r"\d", group)]
    return len(groups) >= 2 and bool(telling) and not address.is_loopback


def _is_home_of_somebody(match: re.Match[str]) -> bool:
    return match[1].lower() not in _NO_PEOPLE and not match[1].startswith(("$", ".", "[", "%"))


PEOPLE: tuple[Shape, ...] = (
    Shape("email", ("@",), re.compile(EMAIL), _is_person),
    Shape("ip-address", (".",), re.compile(IPV4), _is_foreign_ipv4),
    Shape("ip-address", (":",), re.compile(IPV6), _is_foreign_ipv6),
    Shape("home-folder", ("home", "users"), re.compile(HOME), _is_home_of_somebody),
    Shape("home-folder", ("-home-", "-users-"), re.compile(FOLDED_HOME), _is_home_of_somebody),
)


PASSWORDS = words("password passwd pwd passphrase passcode psk")
SECRETS = words("secret token apikey authkey credential credentials authorization")
KEYS_OF = words(
    "api access private secret auth encryption signing account master service shared deploy ssh"
    " storage client subscription webhook"
)
"""Prefixes of `key` that make it the name of a secret."""
NO_TOKENS = words(
    "page pad eos bos sep cls mask unk next stop special continuation start end first last per max"
    " min input output cancel cancellation image"
)
"""Prefixes of `token` that make it no secret."""
ASSIGNMENTS = "=:＝："
"""One of them is in every assignment."""
_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_ASSIGNED = re.compile(
    r"(?<![A-Za-z0-9_.-])([A-Za-z_][A-Za-z0-9_.-]{1,79})\\{0,4}[\"'`]?\]?\s{0,3}"
    rf"(=>|:=|[{ASSIGNMENTS}])[ \t]{{0,3}}"
    r"(?:\\{0,4}([\"'`]))?"
)
_VALUE = re.compile(r"[^\s\"'`,;<>(){}|&\\]{1,4096}+(?![(\[])")
_LONGER = re.compile(r"[^\s\"'`,;<>(){}|&\\]*")
_EXAMPLES = re.compile(
    r"\.\.\.|…|\*\*|x{4,}|your|example|change.?me|placeholder|dummy|redacted|-here\b|\bfoo\b|\bbar\b",
    re.IGNORECASE,
)
_REFERENCE = re.compile(r"[A-Za-z_$][A-Za-z_$]*(?:[.:/][A-Za-z_$][\w$]*)*")
_PATH = re.compile(r"(?:/|\.{1,2}/|~/|[a-z]+://)")
_NO_VALUES = words(
    "string required optional password passwd token secret none null true false undefined hidden"
    " invalid missing expired value text number object credentials forgotten wrong incorrect"
    " default empty unset enabled disabled"
)
NameKind = Literal["password", "secret"]


class NamedSecret(NamedTuple):
    start: int
    end: int


def kind_of_name(name: str) -> NameKind | None:
    """The kind of secret that a name announces, by its last words."""
    words = [word.lower() for word in _WORDS.findall(name)]
    while words and words[-1].isdigit():
        words.pop()
    if not words:
        return None
    last, before = words[-1], words[-2] if len(words) > 1 else ""
    if last in PASSWORDS:
        return "password"
    if last in SECRETS:
        return None if before in NO_TOKENS else "secret"
    if last != "key":
        return None
    return "secret" if before in KEYS_OF or (name.isupper() and before) else None


def is_secret(name: str, value: str, quoted: bool) -> bool:
    """Whether a value assigned to a name is a secret."""
    kind = kind_of_name(name)
    if kind is None or len(value) < 6 or value[0] in "$<{%*[" or _EXAMPLES.search(value):
        return False
    if value.lower() in _NO_VALUES or (_PATH.match(value) and not _is_base64(value)):
        return False
    if kind == "password":
        return quoted or any(letter.isdigit() for letter in value) or name.isupper()
    if not quoted and _REFERENCE.fullmatch(value) and not (name.isupper() and len(value) >= 16):
        return False
    return _looks_random(value, 8 if quoted or name.isupper() else 16)


def _looks_random(value: str, least: int) -> bool:
    if len(value) < least:
        return False
    has_digit = any(letter.isdigit() for letter in value)
    return any(letter.isalpha() for letter in value) and (has_digit or len(value) >= 24)


def _is_base64(value: str) -> bool:
    return re.fullmatch(r"[A-Za-z0-9+/]{40,}={0,2}", value) is not None


def assigned(text: str) -> list[NamedSecret]:
    """The secrets that a text assigns to names."""
    found: list[NamedSecret] = []
    for match in _ASSIGNED.finditer(text):  # the value may be an assignment itself
        name, _, quote = match.groups()
        if kind_of_name(name) is None or (found and match.start() < found[-1].end):
            continue
        value = _VALUE.match(text, match.end())
        if value is not None and is_secret(name, value[0], quote is not None):
            end = _LONGER.match(text, value.end()) or value
            found.append(NamedSecret(value.start(), end.end()))
    return found
