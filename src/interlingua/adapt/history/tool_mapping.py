"""Maps the tools that a vendor defines to those of another vendor, if the target model has them.

Definitions alone: past calls and their results stay where they were made."""

from __future__ import annotations

import re
from collections.abc import Mapping
from copy import deepcopy
from typing import TYPE_CHECKING, Any

from interlingua.adapt.history.vendor_tools import (
    CHAT,
    CHOICE_OF_FUNCTIONS,
    CHOSEN,
    CLIENTS,
    DIALECTS,
    IDS,
    INSTEAD,
    KEYS,
    LIKE,
    NEAR,
    ONE_OF,
    OPTIONS,
    OWN_FORMS,
    ROUTER,
    SAYS_NOTHING,
    STORED,
    TABLE,
    TOLD_OF_OWN,
    LiftedSearch,
    Path,
    Server,
    UnfitError,
    VendorSpelling,
    advisor_for,
    as_options,
    for_anthropic,
    for_gemini,
    for_openai,
    lifted,
    read_anthropic,
    read_gemini,
    read_openai,
    without,
)
from interlingua.dialects.kernel.recorder import LossRecorder
from interlingua.model.exchange import Request, ToolChoice
from interlingua.model.losses import LossKind, Severity
from interlingua.model.message import Message
from interlingua.model.reasons import Reason, because
from interlingua.model.tools import ToolDefinition

if TYPE_CHECKING:
    from interlingua.profiles.profile import Profile

OWN_KINDS = frozenset({"function", "custom"})
"""Kinds of tools that mean the same to every vendor."""
_FIELD = "tools.server"
_VENDORS = {("openai-responses", "xai"): "xai", ("gemini", "vertex"): "vertex"}


def map_vendor_tools(
    request: Request, dialect: str, profile: Profile, recorder: LossRecorder
) -> Request:
    """The request with the tools of other vendors as the model has them, and without those that
    may not cross. Others are left as they are."""
    if profile.tools.server is None:
        return request
    mapping = _ToolMapping(request, dialect, profile, recorder)
    if not mapping.beside and not any(is_foreign(tool, dialect) for tool in request.tools):
        return request
    return mapping.mapped()


def word_of(tool: ToolDefinition) -> str:
    """The vendor's type of a tool; the name for Amazon's."""
    return tool.name if tool.kind == SYSTEM_TOOL else tool.kind


SYSTEM_TOOL = "systemTool"
"""The key under which Converse lists tools that the service runs."""


def is_foreign(tool: ToolDefinition, dialect: str) -> bool:
    """Whether another vendor defines a tool."""
    if tool.kind in OWN_KINDS and tool.executor == "client":
        return False
    if tool.raw is not None and dialect in tool.raw:
        return False
    return not tool.kind.startswith(f"{dialect}:")


def vendor_of(dialect: str, provider: str | None) -> str | None:
    """The vendor whose tools a dialect spells at this provider."""
    usual = next((vendor for vendor, name in DIALECTS.items() if name == dialect), None)
    return _VENDORS.get((dialect, provider or ""), usual)


class _ToolMapping:
    """One request on its way to one model."""

    def __init__(
        self, request: Request, dialect: str, profile: Profile, recorder: LossRecorder
    ) -> None:
        self.request = request
        self.dialect = dialect
        self.profile = profile
        self.recorder = recorder
        self.vendor = vendor_of(dialect, profile.provider) or ""
        self.has: Mapping[str, str] = profile.tools.server or {}
        self.beside = self.mappable(lifted(request, dialect))
        """The places in `raw` of fields that a tool now stands for, by the tool's identity."""
        self.tools = (*request.tools, *(each.tool for each in self.beside.values()))
        self.slots: list[tuple[ToolDefinition, ...]] = [(tool,) for tool in self.tools]
        self.names: dict[str, ToolDefinition] = {}
        """The new name of a tool, by its former name."""
        self.raw: dict[str, Any] = dict(request.raw or {})
        self.has_programs = "programmatic" in self.has and any(
            "program" in (tool.callers or ()) for tool in request.tools
        )

    def mappable(self, searches: list[LiftedSearch]) -> dict[int, LiftedSearch]:
        """The searches that become a tool of the vendor; the rest stay in `raw`."""
        beside = {}
        for each in searches:
            concept = concept_of(each.tool)
            if concept is not None and self.spelling_for(concept) is not None:
                beside[id(each.tool)] = each
                self.recorder.alias(each.tool, self.request)
        return beside

    def mapped(self) -> Request:
        for each in reversed(self.beside.values()):
            self.raw = without(self.raw, each.path)
        near: list[tuple[int, ToolDefinition, str]] = []
        for number, tool in enumerate(self.tools):
            concept = self.concept(tool)
            if concept is None:
                continue
            if self.word(concept) is None and (self.vendor, concept) in INSTEAD:
                near.append((number, tool, concept))  # when the thing itself is there already
            else:
                self.put(number, tool, concept)
        for number, tool, concept in near:
            self.put(number, tool, INSTEAD[self.vendor, concept])
        tools = tuple([tool for slot in self.slots for tool in slot])
        if len(tools) == len(self.request.tools) and all(
            new is old for new, old in zip(tools, self.request.tools, strict=True)
        ):
            return self.request
        self.beside_functions(tools)
        self.tidy()
        return self.request.replace(
            tools=tools, options=self.options(tools), raw=self.raw or None, messages=self.messages()
        )

    def tidy(self) -> None:
        """Remove the plugins that became tools."""
        own_raw = self.raw.get(ROUTER)
        if self.beside and own_raw is not None and "plugins" in own_raw:
            left = [plugin for plugin in own_raw["plugins"] if plugin is not None]
            self.raw[ROUTER] = {**own_raw, "plugins": left}

    def messages(self) -> tuple[Message, ...]:
        """The messages, with tools that come and go in them under the names that they have now."""
        gone = {tool.name for tool in self.request.tools}
        gone -= {tool.name for slot in self.slots for tool in slot} | self.names.keys()
        if not gone and not self.names:
            return self.request.messages
        return tuple([self.renamed(message, gone) for message in self.request.messages])

    def renamed(self, message: Message, gone: set[str]) -> Message:
        changes = message.changes
        if changes is None or not {*changes.tools_added, *changes.tools_removed} & (
            gone | self.names.keys()
        ):
            return message

        def now(names: tuple[str, ...]) -> tuple[str, ...]:
            known = [self.names[n].name if n in self.names else n for n in names if n not in gone]
            return tuple(dict.fromkeys(known))

        renamed = changes.replace(
            tools_added=now(changes.tools_added), tools_removed=now(changes.tools_removed)
        )
        self.recorder.alias(renamed, changes)
        new = message.replace(changes=renamed)
        self.recorder.alias(new, message)
        return new

    # -- the account ------------------------------------------------------------------------------

    def lost(
        self,
        tool: ToolDefinition,
        inside: str | None,
        reason: Reason,
        kind: LossKind = "dropped",
        severity: Severity | None = None,
        field: str = _FIELD,
    ) -> None:
        rule = self.profile.rule(field)
        if inside is None and id(tool) in self.beside:
            inside = self.beside[id(tool)].path
        text = reason.about(self.profile.subject(rule), rule)
        self.recorder.lost(tool, inside, text, kind, severity, rule.id if rule else None)

    def refused(self, number: int, tool: ToolDefinition, reason: Reason) -> None:
        self.slots[number] = ()
        self.recorder.lost(tool, None, reason)

    # -- which ------------------------------------------------------------------------------------

    def concept(self, tool: ToolDefinition) -> str | None:
        """The purpose of a foreign tool; None for one that is left unchanged."""
        concept = concept_of(tool) if is_foreign(tool, self.dialect) else None
        if concept == "code_execution" and self.vendor == "openai" and self.has_programs:
            return "programmatic"  # where the code is to call others, it has to run there
        return concept

    def word(self, concept: str) -> str | None:
        keys = KEYS.get(concept, (concept,))
        return next((self.has[key] for key in keys if key in self.has), None)

    def spelling_for(self, concept: str) -> tuple[VendorSpelling, str] | None:
        """The vendor's spelling of a concept, and its type."""
        word = self.word(concept)
        for vendor in (self.vendor, LIKE.get(self.vendor)):
            for spelling in TABLE[concept]:
                if word is not None and spelling.vendor == vendor and spelling.says(word):
                    return spelling, word
        return None

    # -- one tool ---------------------------------------------------------------------------------

    def put(self, number: int, tool: ToolDefinition, concept: str) -> None:
        if concept in STORED:
            self.refused(number, tool, STORED[concept])
            return
        found = self.spelling_for(concept)
        if found is None:
            return  # reported where tools are retold
        if self.profile.tools.with_server == "no" and self.functions():
            reason = because("tools_exclusive")
            self.lost(tool, None, reason, field="tools.with_server")
            self.slots[number] = ()
            return
        spelling, word = found
        if word == OPTIONS:
            self.options_of(number, tool, spelling)
            return
        if concept != "mcp" and (same := self.standing(word)) is not None:
            self.join(number, tool, same)
            return
        try:
            new = (
                self.mcp(tool, word)
                if concept == "mcp"
                else (self.mapped_tool(tool, spelling, word),)
            )
        except UnfitError as unfit:
            self.refused(number, tool, unfit.args[0])
            return
        self.place(number, tool, new)

    def functions(self) -> bool:
        return any(tool.kind in OWN_KINDS for tool in self.request.tools)

    def standing(self, word: str) -> ToolDefinition | None:
        """The existing tool of this type, if there is one."""
        all = (tool for slot in self.slots for tool in slot)
        return next((tool for tool in all if self.is_native(tool) and word_of(tool) == word), None)

    def is_native(self, tool: ToolDefinition) -> bool:
        return tool.kind not in OWN_KINDS and not is_foreign(tool, self.dialect)

    def join(self, number: int, tool: ToolDefinition, same: ToolDefinition) -> None:
        """Leave a tool out whose work another does."""
        own, settings = own_settings(tool)
        options, left = known_options(word_of(tool), settings)
        for path in [*[path for _, path in options.values()], *left]:
            self.lost(tool, place_of(own, path), because("tool_settings_once", tool=word_of(same)))
        self.lost(tool, None, because("tool_already_there", tool=word_of(same)), "approximated")
        self.slots[number], self.names[tool.name] = (), same

    def place(self, number: int, tool: ToolDefinition, new: tuple[ToolDefinition, ...]) -> None:
        others = [each for i, slot in enumerate(self.slots) if i != number for each in slot]
        if any(each.name == one.name for each in others for one in new):
            self.refused(number, tool, because("tool_name_taken"))
            return
        runs = "; its calls come in that form" if tool.executor == "client" else ""
        severity: Severity = "error" if runs else "warning"
        word = word_of(new[0]) if new else word_of(tool)
        self.lost(
            tool, None, because("tool_mapped", tool=word, runs=runs), "approximated", severity
        )
        for each in new:
            self.recorder.alias(each, tool)
            self.names[tool.name] = each
        self.slots[number] = new

    def options_of(self, number: int, tool: ToolDefinition, spelling: VendorSpelling) -> None:
        """Chat has a search beside the tools."""
        own_raw = self.raw.get(CHAT) or {}
        options = self.filled(tool, spelling).get(OPTIONS, {})
        self.raw[CHAT] = {**own_raw, OPTIONS: as_options(options)}
        self.lost(tool, None, because("tool_as_options", options=OPTIONS), "approximated")
        self.slots[number] = ()

    def mapped_tool(
        self, tool: ToolDefinition, spelling: VendorSpelling, word: str
    ) -> ToolDefinition:
        out = self.filled(tool, spelling)
        name, kind = spelling.name or word, word
        if name == "advisor" or word == "openrouter:advisor":
            self.advise(out["parameters"] if self.vendor == ROUTER else out)
        if self.dialect in OWN_FORMS:
            out["$form"] = dict(OWN_FORMS[self.dialect])
        elif self.vendor == "nova":
            kind = SYSTEM_TOOL
        return tool.replace(name=name, kind=kind, raw={self.dialect: out})

    def advise(self, settings: dict[str, Any]) -> None:
        """Name the model that advises as the vendor does; without one it is the model itself."""
        name = settings.get("model")
        known = self.profile.name if name is None else advisor_for(str(name), self.vendor)
        if known is None:
            raise UnfitError(because("advisor_unknown", name=name))
        if name is not None or self.vendor != ROUTER:
            settings["model"] = known

    def filled(self, tool: ToolDefinition, spelling: VendorSpelling) -> dict[str, Any]:
        """The vendor's own settings for a tool."""
        out: dict[str, Any] = deepcopy(dict(spelling.filled))
        own, settings = own_settings(tool)
        options, left = known_options(word_of(tool), settings)
        for path in left:
            self.lost(tool, place_of(own, path), because("tool_option_unsupported"))
        for option, (value, path) in self.chosen(tool, own, options).items():
            if (to := spelling.options.get(option)) is not None:
                _set(out, to, deepcopy(value))
            elif (near := NEAR.get((self.vendor, option))) and value in near[1]:
                self.lost(
                    tool,
                    place_of(own, path),
                    because("tool_option_nearest", near=near[0]),
                    "approximated",
                )
                if near[0] not in options:
                    _set(out, spelling.options[near[0]], near[1][value])
            else:
                severity: Severity = "error" if option in IDS else "warning"
                self.lost(
                    tool, place_of(own, path), because("tool_option_unsupported"), severity=severity
                )
        return out

    def chosen(
        self, tool: ToolDefinition, own: str, options: dict[str, tuple[Any, Path]]
    ) -> dict[str, tuple[Any, Path]]:
        """The options without those that exclude each other."""
        both = [name for name in ONE_OF.get(self.vendor, ()) if name in options]
        for name in both[1:]:
            reason = because("tool_options_exclusive", other=both[0])
            self.lost(tool, place_of(own, options[name][1]), reason)
        return {name: value for name, value in options.items() if name not in both[1:]}

    # -- servers ----------------------------------------------------------------------------------

    def mcp(self, tool: ToolDefinition, word: str) -> tuple[ToolDefinition, ...]:
        _, settings = own_settings(tool)
        if word == tool.kind:
            raise UnfitError(because("mcp_server_unnamed"))
        named = (self.raw.get("anthropic") or {}).get("mcp_servers")
        beside = named if isinstance(named, list) else []
        if tool.kind == "mcp_toolset":
            found = read_anthropic(tool, settings, beside)
        elif tool.kind == "mcp":
            found = read_openai(tool, settings)
        else:
            found = read_gemini(tool, settings)
        tools = [self.server(tool, server, word) for server in found]
        for server in found:
            for path in server.left:
                self.lost(tool, path, because("tool_option_unsupported"))
        if tool.kind == "mcp_toolset":
            self.forget(tool.name, beside)
        return tuple(tools)

    def server(self, tool: ToolDefinition, server: Server, word: str) -> ToolDefinition:
        name, settings = server.label, dict[str, Any]()
        match word:
            case "mcp_toolset":
                settings, beside = for_anthropic(server)
                own_raw = self.raw.get("anthropic") or {}
                listed = [*(own_raw.get("mcp_servers") or ()), beside]
                self.raw["anthropic"] = {**own_raw, "mcp_servers": listed}
                if server.headers:
                    self.lost(tool, place_of(*_headers(tool)), because("mcp_headers_unsupported"))
            case "mcp":
                settings = for_openai(server, self.vendor)
            case _:
                name, settings = word, for_gemini(server)
        return tool.replace(name=name, kind=word, raw={self.dialect: settings})

    def forget(self, name: str, listed: list[Any]) -> None:
        """Remove a server that was written: it is not lost."""
        own_raw = dict(self.raw["anthropic"])
        rest = [each for each in listed if each.get("name") != name]
        own_raw.pop("mcp_servers")
        self.raw["anthropic"] = {**own_raw, "mcp_servers": rest} if rest else own_raw

    # -- the rest of the request ------------------------------------------------------------------

    def beside_functions(self, tools: tuple[ToolDefinition, ...]) -> None:
        """Gemini's own API takes both only from those who will see the calls of its own tools
        (`toolConfig.includeServerSideToolInvocations`, `google-genai` 3.1.0, read 2026-11)."""
        own = any(tool.executor == "provider" and self.is_native(tool) for tool in tools)
        if (
            self.vendor not in TOLD_OF_OWN
            or not own
            or not any(tool.kind in OWN_KINDS for tool in tools)
        ):
            return
        own_raw = self.raw.get("gemini") or {}
        config = {**(own_raw.get("toolConfig") or {}), "includeServerSideToolInvocations": True}
        self.raw["gemini"] = {**own_raw, "toolConfig": config}

    def options(self, tools: tuple[ToolDefinition, ...]) -> Any:
        """The options, with a choice that the vendor can read."""
        options = self.request.options
        choice = options.tool_choice
        new = self.choice(choice, tools) if choice is not None else None
        if choice is None or new is choice:
            return options
        changed = options.replace(tool_choice=new)
        self.recorder.alias(changed, options)
        if new is not None:
            self.recorder.alias(new, choice)
        return changed

    def choice(self, choice: ToolChoice, tools: tuple[ToolDefinition, ...]) -> ToolChoice | None:
        there = {tool.name for tool in tools if not is_foreign(tool, self.dialect)}
        gone = {tool.name for tool in self.request.tools} - self.names.keys() - there
        if gone and gone.issuperset(choice.names) and choice.names:
            self.unchosen(choice)
            return ToolChoice("auto") if there else None
        forced = [self.names[name] for name in choice.names if name in self.names]
        functions = any(tool.kind in OWN_KINDS for tool in tools)
        if self.vendor in CHOICE_OF_FUNCTIONS and not functions:
            if choice.mode != "auto":
                self.unchosen(choice)
            return None
        words = CHOSEN.get(self.vendor) or CHOSEN.get(LIKE.get(self.vendor, "")) or "$^"
        if all(re.fullmatch(words, tool.kind) for tool in forced):
            names = [self.names[n].name if n in self.names else n for n in choice.names]
            return choice if tuple(names) == choice.names else choice.replace(names=tuple(names))
        if len(tools) == 1 and choice.mode == "any":
            reason = because("only_tool_unnamed")
            self.recorder.lost(self.request.options, "tool_choice.names", reason, "approximated")
            return ToolChoice("any")
        self.unchosen(choice)
        return ToolChoice("auto")

    def unchosen(self, choice: ToolChoice) -> None:
        reason = because("hosted_tool_choice")
        options = self.request.options
        self.recorder.lost(options, "tool_choice", reason, "approximated")


def concept_of(tool: ToolDefinition) -> str | None:
    """The purpose of a vendor's tool; None if no table has it."""
    word = word_of(tool)
    found = [concept for concept, all in TABLE.items() if any(s.says(word) for s in all)]
    return found[0] if found and tool.executor == _executor(found[0]) else None


def _executor(concept: str) -> str:
    return "client" if concept in CLIENTS else "provider"


def _headers(tool: ToolDefinition) -> tuple[str, Path]:
    own, _ = own_settings(tool)
    return own, ("headers",) if tool.kind == "mcp" else ("mcpServers",)


def own_settings(tool: ToolDefinition) -> tuple[str, Mapping[str, Any]]:
    """The dialect that a tool was read from, and its raw settings."""
    for dialect, settings in (tool.raw or {}).items():
        if isinstance(settings, dict):
            return dialect, settings
    return "", {}


def known_options(
    word: str, settings: Mapping[str, Any]
) -> tuple[dict[str, tuple[Any, Path]], list[Path]]:
    """The options that are known, with their places, and the places of all others."""
    positions = {
        path: option
        for all in TABLE.values()
        for spelling in all
        if spelling.says(word)
        for option, path in spelling.options.items()
    }
    inside = {path[0] for path in positions if len(path) > 1} | {word, "parameters"}
    options: dict[str, tuple[Any, Path]] = {}
    left: list[Path] = []
    for path, value in _members(settings, inside):
        option = positions.get(path)
        if value is None or value in SAYS_NOTHING.get(option or path[-1], ()):
            continue
        if option is None:
            left.append(path)
        else:
            options[option] = (value, path)
    return options, left


def _members(settings: Mapping[str, Any], inside: set[str]) -> list[tuple[Path, Any]]:
    found: list[tuple[Path, Any]] = []
    for key, value in settings.items():
        if key == "$form":
            continue
        if (key in inside or key.startswith("plugins[")) and isinstance(value, dict):
            found += [((key, name), item) for name, item in value.items()]
        else:
            found.append(((key,), value))
    return found


def place_of(dialect: str, path: Path) -> str:
    return ".".join(("raw", dialect, *path))


def _set(out: dict[str, Any], path: Path, value: Any) -> None:
    for key in path[:-1]:
        out = out.setdefault(key, {})
    out[path[-1]] = value
