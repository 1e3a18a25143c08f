"""The generated parts of `docs/models.md`: the fields of a profile, and the rules at a glance."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from itertools import pairwise
from types import NoneType
from typing import Any, Literal, get_args, get_origin

import msgspec

from interlingua.profiles import fields as fields_module
from interlingua.profiles.profile import GROUPS, Profile, Rule, bundled, profile_of

FIELDS = "<!-- fields: printed by docs/generate.py -->"
TABLE = "<!-- table: printed by docs/generate.py -->"

# A model of each kind that behaves in a way of its own, where it is usually asked.
SHOWN = (
    ("anthropic", "anthropic", "claude-sonnet-4-5"),
    ("anthropic", "anthropic", "claude-opus-4-6"),
    ("anthropic", "anthropic", "claude-opus-4-8"),
    ("anthropic", "anthropic", "claude-opus-5"),
    ("anthropic", "anthropic", "claude-sonnet-5-5"),
    ("anthropic", "anthropic", "claude-haiku-5-5"),
    ("openai", "openai-chat", "gpt-4.1"),
    ("openai", "openai-chat", "o3"),
    ("openai", "openai-chat", "gpt-5"),
    ("openai", "openai-chat", "gpt-5.4"),
    ("openai", "openai-responses", "gpt-5.6"),
    ("openai", "openai-responses", "gpt-6.1-sol"),
    ("gemini", "gemini", "gemini-2.5-flash"),
    ("gemini", "gemini", "gemini-2.5-pro"),
    ("gemini", "gemini", "gemini-3.8-flash"),
    ("bedrock", "bedrock", "us.anthropic.claude-sonnet-4-6"),
    ("bedrock", "bedrock", "us.amazon.nova-2-lite-v1:0"),
    ("mistral", "openai-chat", "mistral-medium-3-5"),
    ("deepseek", "openai-chat", "deepseek-v4-pro"),
    ("groq", "openai-chat", "openai/gpt-oss-120b"),
    ("xai", "openai-chat", "grok-4.7"),
)


def page(text: str) -> str:
    """The page with its generated parts printed anew; they stand behind their marks."""
    start = text.index(FIELDS)
    return text[:start] + "\n".join([FIELDS, _fields(), TABLE, _models(), _rules()])


def _fields() -> str:
    lines = [
        "\n## Fields\n",
        "All fields are optional; a missing field means no rule.\n",
        "| field | values | meaning |",
        "| --- | --- | --- |",
    ]
    for group, kind in GROUPS.items():
        docs = _docs(kind)
        for field in msgspec.structs.fields(kind):
            says = docs.get(field.name, "")
            lines.append(f"| `{group}.{field.name}` | {_values(field.type)} | {says} |")
    return "\n".join([*lines, ""])


def _values(kind: Any) -> str:
    """What may stand in a field, in words."""
    inner = [each for each in get_args(kind) if each not in (NoneType, Ellipsis)]
    match get_origin(kind):
        case None:
            return _WORDS.get(kind, "a table")
        case origin if origin is Literal:
            return ", ".join(map(str, get_args(kind)))
        case origin if origin is dict:
            return "a table"
        case origin if origin is tuple and len(inner) == 2:
            return "`[least, most]`"
        case origin if origin is tuple:
            return f"a list: {_values(inner[0])}"
        case _:
            return ", ".join(_values(each) for each in inner)


_WORDS: dict[Any, str] = {bool: "true, false", int: "a number", float: "a number", str: "a string"}


def _docs(kind: type) -> dict[str, str]:
    """The sentence under each field of a class."""
    tree = ast.parse(inspect.getsource(fields_module))
    body = next(
        node.body
        for node in tree.body
        if isinstance(node, ast.ClassDef) and node.name == kind.__name__
    )
    found: dict[str, str] = {}
    for before, node in pairwise(body):
        if isinstance(before, ast.AnnAssign) and isinstance(before.target, ast.Name):
            match node:
                case ast.Expr(ast.Constant(str(text))):
                    found[before.target.id] = re.sub(r"\s+", " ", text.strip()).replace("|", "\\|")
    return found


def _models() -> str:
    head = ["model", "sampling", "reasoning", "thinking off", "tool choice"]
    head += ["mid-conversation instructions", "prefill", "output schema", "output tokens"]
    lines = [
        "\n## Some models at a glance\n",
        "From the package's own rules; `interlingua models ID --profile` prints any other model.\n",
        f"| {' | '.join(head)} |",
        f"|{' --- |' * len(head)}",
    ]
    for provider, dialect, name in SHOWN:
        profile = profile_of(name, provider, dialect)
        cells = [f"`{provider}:{name}`", *_cells(profile)]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join([*lines, ""])


def _cells(profile: Profile) -> Iterator[str]:
    sampling, reasoning = profile.sampling, profile.reasoning
    ranges = [sampling.temperature, sampling.top_p]
    yield " / ".join(each or "–" for each in ranges) if any(ranges) else "–"
    yield _reasoning(profile)
    yield "–" if reasoning.off is None else "yes" if reasoning.off else f"as {reasoning.off_as}"
    yield _list(profile.tools.choice)
    yield profile.instructions.mid or "–"
    yield profile.turns.prefill or "–"
    yield profile.output.schema or "–"
    yield str(profile.limits.output or "–")


def _reasoning(profile: Profile) -> str:
    reasoning = profile.reasoning
    match reasoning.carrier:
        case None:
            return "–"
        case "none":
            return "none"
        case "budget" if reasoning.budget:
            least, most = reasoning.budget
            return f"budget {least} to {most}"
        case carrier:
            return f"{carrier}: {_list(reasoning.efforts)}"


def _list(values: Any) -> str:
    return "–" if values is None else ", ".join(values) or "none"


def _rules() -> str:
    lines = [
        "\n## All rules\n",
        "| rule | applies to | sets | certainty | since |",
        "| --- | --- | --- | --- | --- |",
    ]
    for rule in bundled().rules:
        cells = [f"`{rule.id}`", _scope(rule), _field_names(rule), rule.sure, rule.since or ""]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join([*lines, ""])


def _scope(rule: Rule) -> str:
    family = (rule.family,) if isinstance(rule.family, str) else rule.family
    parts = [
        _list(family) if family else "",
        rule.version or "",
        _list(rule.line) if rule.line else "",
        f"not {_list(rule.not_line)}" if rule.not_line else "",
        _list(rule.models) if rule.models else "",
        f"at {_list(rule.at)}" if rule.at else "",
        f"in {_list(rule.dialects)}" if rule.dialects else "",
    ]
    return " ".join(part for part in parts if part) or "all"


def _field_names(rule: Rule) -> str:
    names = [
        f"{group}.{field}"
        for group, kind in GROUPS.items()
        for field in kind.__struct_fields__
        if getattr(getattr(rule, group), field, None) is not None
    ]
    return ", ".join(names)
