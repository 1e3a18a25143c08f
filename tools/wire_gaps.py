"""Which fields and literals of the providers' SDKs are accounted for.

    python -m tools.wire_gaps             print what the installed SDKs have and the almanac lacks
    python -m tools.wire_gaps --update    add it, sorted by the rules; what no rule knows is `new`

`profiles/data/wire/<surface>.tsv` has a line for each word of a surface: its kind (field or
literal), the word, what becomes of it (`mapped`, `raw`, `refused`), the group of its reason, the
SDK version it was first seen in, and types that have it. `reasons.toml` beside it has the sentence
of each group, and the rules that sort new words into groups. Mapped words stand in the
code of their dialect. A model that an SDK names has capabilities and a price, or stands in
`priceless` with a reason."""

from __future__ import annotations

import argparse
import ast
import gzip
import json
import re
import sys
import tomllib
import typing
from collections.abc import Iterable, Iterator
from enum import Enum
from functools import cache
from importlib import import_module
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal, NamedTuple

import typing_extensions

ROOT = Path(__file__).parents[1]
DATA = ROOT / "src" / "interlingua" / "profiles" / "data" / "wire"
DIALECTS = ROOT / "src" / "interlingua" / "dialects"
SHARED = (
    *("kernel", "openai.py", "openai_usage.py", "google.py", "metadata.py"),
    *("../adapt", "../gateway/compaction", "../gateway/responses"),
)
COLUMNS = ("kind", "word", "status", "group", "since", "types")


class Surface(NamedTuple):
    """A part of an SDK: its package, the types that it begins with, and the folders of the dialects
    that speak it."""

    package: str
    roots: tuple[str, ...]
    folders: tuple[str, ...]

    @property
    def is_installed(self) -> bool:
        return find_spec(self.package.replace("google-genai", "google.genai")) is not None

    @property
    def release(self) -> str:
        return f"{self.package} {version(self.package)}"


_CHAT, _RESPONSES = "openai.types.chat.", "openai.types.responses."
_BETA, _CLAUDE = "openai.types.beta.", "anthropic.types."
_ROUTER, _MISTRAL = "openrouter.components:", "mistralai.client.models:"
SURFACES = {
    "openai-chat": Surface(
        "openai",
        (
            f"{_CHAT}completion_create_params:CompletionCreateParamsNonStreaming",
            f"{_CHAT}completion_create_params:CompletionCreateParamsStreaming",
            f"{_CHAT}chat_completion:ChatCompletion",
            f"{_CHAT}chat_completion_chunk:ChatCompletionChunk",
        ),
        ("openai_chat", "openai_responses"),
    ),
    "openai-responses": Surface(
        "openai",
        (
            f"{_RESPONSES}response_create_params:ResponseCreateParamsNonStreaming",
            f"{_RESPONSES}response_create_params:ResponseCreateParamsStreaming",
            f"{_RESPONSES}response:Response",
            f"{_RESPONSES}response_stream_event:ResponseStreamEvent",
            f"{_RESPONSES}response_item:ResponseItem",
            f"{_RESPONSES}responses_client_event:ResponsesClientEvent",
            f"{_RESPONSES}responses_server_event:ResponsesServerEvent",
            f"{_RESPONSES}response_compact_params:ResponseCompactParams",
            f"{_RESPONSES}compacted_response:CompactedResponse",
            f"{_RESPONSES}input_token_count_params:InputTokenCountParams",
            f"{_BETA}response_create_params:ResponseCreateParamsNonStreaming",
            f"{_BETA}beta_response:BetaResponse",
            f"{_BETA}beta_response_stream_event:BetaResponseStreamEvent",
            f"{_BETA}beta_responses_client_event:BetaResponsesClientEvent",
        ),
        ("openai_responses",),
    ),
    "anthropic": Surface(
        "anthropic",
        (
            f"{_CLAUDE}message_create_params:MessageCreateParamsNonStreaming",
            f"{_CLAUDE}message:Message",
            f"{_CLAUDE}raw_message_stream_event:RawMessageStreamEvent",
            f"{_CLAUDE}beta.message_create_params:MessageCreateParamsNonStreaming",
            f"{_CLAUDE}beta.beta_message:BetaMessage",
            f"{_CLAUDE}beta.beta_raw_message_stream_event:BetaRawMessageStreamEvent",
            f"{_CLAUDE}beta.message_count_tokens_params:MessageCountTokensParams",
            f"{_CLAUDE}anthropic_beta_param:AnthropicBetaParam",
            f"{_CLAUDE}shared.error_object:ErrorObject",
        ),
        ("anthropic",),
    ),
    "gemini": Surface(
        "google-genai",
        tuple(
            f"google.genai.types:{name}"
            for name in (
                *("GenerateContentConfig", "GenerateContentResponse", "Content", "Tool"),
                *("ToolConfig", "GenerationConfig"),
            )
        ),
        ("gemini",),
    ),
    "gemini-live": Surface(
        "google-genai",
        tuple(
            f"google.genai.types:{name}"
            for name in ("LiveServerMessage", "LiveClientMessage", "LiveConnectConfig")
        ),
        ("gemini",),
    ),
    "gemini-interactions": Surface(
        "google-genai", ("google.genai._gaos.types.interactions:*",), ("gemini_interactions",)
    ),
    "mistral": Surface(
        "mistralai",
        tuple(
            _MISTRAL + name
            for name in (
                *("ChatCompletionRequest", "ChatCompletionStreamRequest"),
                *("ChatCompletionResponse", "CompletionEvent"),
            )
        ),
        ("openai_chat",),
    ),
    "groq": Surface(
        "groq",
        (
            "groq.types.chat.completion_create_params:CompletionCreateParams",
            "groq.types.chat.chat_completion:ChatCompletion",
            "groq.types.chat.chat_completion_chunk:ChatCompletionChunk",
        ),
        ("openai_chat",),
    ),
    "cohere": Surface(
        "cohere",
        tuple(
            f"cohere:{name}"
            for name in (
                *("V2ChatResponse", "V2ChatStreamResponse", "ChatMessageV2", "ToolV2"),
                *("ResponseFormatV2", "CitationOptions", "Document", "Thinking"),
                *("V2ChatStreamRequestSafetyMode", "V2ChatStreamRequestToolChoice"),
            )
        ),
        ("cohere",),
    ),
    "ollama": Surface(
        "ollama",
        tuple(f"ollama._types:{name}" for name in ("ChatRequest", "ChatResponse", "Options")),
        ("ollama",),
    ),
    "openrouter": Surface(
        "openrouter",
        tuple(_ROUTER + name for name in ("ChatRequest", "ChatResult", "ChatStreamChunk")),
        ("openrouter", "openai_chat"),
    ),
    "bedrock": Surface("botocore", ("Converse", "ConverseStream", "CountTokens"), ("bedrock",)),
}

Key = tuple[str, str]
"""The kind of a word, and the word."""
Words = dict[Key, set[str]]
"""Words, and the types that have them."""


# -- what the SDKs have ---------------------------------------------------------------------------


@cache
def words_of(surface: str) -> Words:
    """All fields and literals that can be reached from the roots of a surface."""
    found: Words = {}
    one = SURFACES[surface]
    if one.package == "botocore":
        _service_words(one.roots, found)
        return found
    todo = [each for root in one.roots for each in _root(root)]
    seen: set[int] = set()
    while todo:
        kind, owner = todo.pop()
        if id(kind) not in seen:
            seen.add(id(kind))
            _Alive.append(kind)
            todo += _inside(kind, owner, found)
    return found


_Alive: list[Any] = []
"""Types that were seen: their identities stay theirs."""


def _root(name: str) -> Iterator[tuple[Any, str]]:
    module, _, attr = name.partition(":")
    loaded = import_module(module)
    for each in dir(loaded) if attr == "*" else (attr,):
        kind = getattr(loaded, each)
        if attr != "*" or isinstance(kind, type):
            yield kind, each


def _inside(kind: Any, owner: str, found: Words) -> list[tuple[Any, str]]:
    """Note the words of a type; the types in it."""
    if isinstance(kind, typing_extensions.TypeAliasType):
        return [(kind.__value__, owner)]
    if typing.get_origin(kind) is Literal:
        for word in typing.get_args(kind):
            if isinstance(word, str):
                found.setdefault(("literal", word), set()).add(owner)
        return []
    if args := typing.get_args(kind):
        return [(each, owner) for each in args if not isinstance(each, str | int | float)]
    if not isinstance(kind, type):
        return []
    if issubclass(kind, Enum):
        for member in kind:
            found.setdefault(("literal", str(member.value)), set()).add(kind.__name__)
        return []
    return _fields(kind, found)


def _fields(kind: type, found: Words) -> list[tuple[Any, str]]:
    name = kind.__name__
    models = getattr(kind, "model_fields", None)
    if not isinstance(models, dict):
        if not typing_extensions.is_typeddict(kind):
            return []
        models = {}
    try:
        hints = typing_extensions.get_type_hints(kind, include_extras=True)
    except (NameError, TypeError):
        hints = {field: info.annotation for field, info in models.items()}
    inside = []
    for field, hint in hints.items():
        if field.startswith("_") or (models and field not in models):
            continue
        alias = getattr(models.get(field), "alias", None) or _alias(hint) or field
        found.setdefault(("field", alias), set()).add(name)
        inside.append((hint, f"{name}.{field}"))
    return inside


def _alias(hint: Any) -> str | None:
    """The name on the wire of a TypedDict's or a Speakeasy field."""
    for note in getattr(hint, "__metadata__", ()):
        alias = getattr(note, "alias", None)
        if isinstance(alias, str):
            return alias
    return None


def _service_words(operations: Iterable[str], found: Words) -> None:
    """The same for a service's own model."""
    import botocore

    (path,) = Path(botocore.__file__).parent.glob("data/bedrock-runtime/*/service-2.json*")
    data = path.read_bytes()
    model = json.loads(gzip.decompress(data) if path.suffix == ".gz" else data)
    seen: set[str] = set()
    todo = [model["operations"][name][way]["shape"] for name in operations for way in _WAYS]
    while todo:
        name = todo.pop()
        if name in seen:
            continue
        seen.add(name)
        shape = model["shapes"][name]
        for field, member in shape.get("members", {}).items():
            found.setdefault(("field", field), set()).add(name)
            todo.append(member["shape"])
        todo += [shape[part]["shape"] for part in ("member", "key", "value") if part in shape]
        for word in shape.get("enum", ()):
            found.setdefault(("literal", word), set()).add(name)


_WAYS = ("input", "output")


# -- what the code has ----------------------------------------------------------------------------


@cache
def mentioned(folders: tuple[str, ...]) -> frozenset[str]:
    """Names and strings in the code of these dialects and of what all share."""
    found: set[str] = set()
    for name in (*folders, *SHARED):
        path = DIALECTS / name
        for file in path.rglob("*.py") if path.is_dir() else [path]:
            for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Constant) and isinstance(node.value, str):
                    if len(node.value) <= 100:
                        found.update((node.value, *re.findall(r"[\w.-]+", node.value)))
                elif isinstance(node, ast.Name | ast.Attribute | ast.arg | ast.keyword):
                    found.add(_name_of(node) or "")
    return frozenset(found)


def _name_of(node: Any) -> str | None:
    name: str | None = getattr(node, "id", None) or getattr(node, "attr", None)
    return name or node.arg


def is_mentioned(word: str, folders: tuple[str, ...]) -> bool:
    """Whether a dialect's code has a word, in either case of it."""
    code = mentioned(folders)
    snake = re.sub(r"(?<=[a-z0-9])([A-Z])", lambda match: "_" + match[1].lower(), word)
    head, *rest = word.split("_")
    camel = head + "".join([part[:1].upper() + part[1:] for part in rest])
    return not code.isdisjoint((word, snake, camel, word.lower(), word.upper()))


# -- the almanac ----------------------------------------------------------------------------------


class Line(NamedTuple):
    """A word, and what becomes of it."""

    kind: str
    word: str
    status: str
    group: str
    since: str
    types: str


@cache
def reasons() -> dict[str, Any]:
    with (DATA / "reasons.toml").open("rb") as file:
        return tomllib.load(file)


def lines_of(surface: str) -> dict[Key, Line]:
    """The lines of a surface, by their words."""
    path = DATA / f"{surface}.tsv"
    if not path.exists():
        return {}
    rows = [row.split("\t") for row in path.read_text(encoding="utf-8").splitlines()[1:]]
    return {(row[0], row[1]): Line(*row) for row in rows}


def missing(surface: str) -> list[Key]:
    """Words of the installed SDK that have no line."""
    return sorted(words_of(surface).keys() - lines_of(surface).keys())


def problems(surface: str) -> list[str]:
    """What is wrong with the lines of a surface."""
    found = [f"{kind} {word} is not accounted for" for kind, word in missing(surface)]
    groups, folders = reasons()["groups"], SURFACES[surface].folders
    for line in lines_of(surface).values():
        if line.status == "mapped" and not line.group:
            if not is_mentioned(line.word, folders):
                found.append(f"{line.kind} {line.word} is called mapped, and no code has it")
        elif line.group not in groups:
            found.append(f"{line.kind} {line.word} has no reason")
        elif line.group == "model_name":
            found += _unknown_model(surface, line.word)
    return found


_OF_VENDOR = {"anthropic": "anthropic", "gemini-interactions": "gemini", "groq": "groq"}


def _unknown_model(surface: str, name: str) -> list[str]:
    """What is not known of a model that an SDK names, unless it is priceless for a reason."""
    from interlingua.costs.table import bundled
    from interlingua.profiles.capabilities import known_ids
    from interlingua.profiles.names import KnownNames

    model = f"{_OF_VENDOR.get(surface, 'openai')}:{name}"
    if any(re.fullmatch(pattern, name) for pattern in reasons()["priceless"]):
        return []
    able = KnownNames({id: id for id in known_ids()}).find(model)
    lacks = ["capabilities"] * (able is None) + ["price"] * (model not in bundled())
    return [f"model {model} has no {each}" for each in lacks]


def sort(surface: str, kind: str, word: str, types: Iterable[str]) -> Line:
    """The line of a new word: mapped where the code has it, else by the first rule that fits."""
    names, since = ", ".join(sorted(types)[:3]), SURFACES[surface].release
    if is_mentioned(word, SURFACES[surface].folders):
        return Line(kind, word, "mapped", "", since, names)
    group = by_rule(surface, word, types)
    status = "new" if group is None else reasons()["groups"][group]["status"]
    return Line(kind, word, status, group or "new", since, names)


def by_rule(surface: str, word: str, types: Iterable[str]) -> str | None:
    """The group of a word by the first rule that fits."""
    for rule in reasons()["rules"]:
        if surface not in rule.get("surfaces", (surface,)):
            continue
        if "types" in rule and not any(re.search(rule["types"], each) for each in types):
            continue
        if "words" in rule and not re.fullmatch(rule["words"], word):
            continue
        group: str = rule["group"]
        return group
    return None


def update(surface: str) -> int:
    """Add lines for new words; the number of those that no rule knows."""
    lines = {key: line for key, line in lines_of(surface).items() if line.status != "new"}
    for key, types in words_of(surface).items():
        old = lines.get(key)
        if old is None:
            lines[key] = sort(surface, *key, types)
    write(surface, lines)
    return sum(line.status == "new" for line in lines.values())


def write(surface: str, lines: dict[Key, Line]) -> None:
    rows = ["\t".join(COLUMNS), *["\t".join(lines[key]) for key in sorted(lines)]]
    (DATA / f"{surface}.tsv").write_text("\n".join(rows) + "\n", encoding="utf-8")


PAGES = {"openai-chat": ("openai-chat", "mistral", "groq"), "gemini": ("gemini", "gemini-live")}
"""Surfaces on the page of a dialect, where they are not those of its name alone."""


def page(dialect: str) -> str:
    """What of a dialect's SDK has no canonical form, by name; empty where there is no SDK."""
    surfaces = [name for name in PAGES.get(dialect, (dialect,)) if name in SURFACES]
    found: dict[str, list[str]] = {}
    for surface in surfaces:
        for line in lines_of(surface).values():
            if line.status != "mapped" and line.word not in found.get(line.group, ()):
                found.setdefault(line.group, []).append(line.word)
    if not found:
        return ""
    parts = ["", "## Words that stay raw", "", _INTRO, ""]
    for group in sorted(found):
        words = ", ".join([f"`{word}`" for word in sorted(found[group])])
        parts += [f"**{group}.** {reasons()['groups'][group]['why']}", "", words, ""]
    return "\n".join(parts)


_INTRO = """These fields and literals of the vendor's SDK have no canonical form. They are written
back unchanged; abroad they are dropped and reported. `python -m tools.wire_gaps` prints what
a new release of the SDK adds."""


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.wire_gaps", description=__doc__)
    parser.add_argument("surfaces", nargs="*", metavar="surface", help=", ".join(SURFACES))
    parser.add_argument("--update", action="store_true", help="add lines for new words")
    options = parser.parse_args(argv)
    count = 0
    for surface in options.surfaces or SURFACES:
        if not SURFACES[surface].is_installed:
            print(f"{surface}: {SURFACES[surface].package} is not installed; run make venv")
            count += 1
            continue
        if options.update:
            count += update(surface)
        else:
            found = problems(surface)
            count += len(found)
            print(f"{surface} ({SURFACES[surface].release}): {len(words_of(surface))} words")
            print("".join([f"  {each}\n" for each in found]), end="")
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main())
