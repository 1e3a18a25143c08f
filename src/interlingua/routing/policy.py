"""The rules file: which model for which kind of turn.

    schema_version = 1
    default = "anthropic:claude-sonnet-4-6"

    [aliases]
    sonnet = "anthropic:claude-sonnet-4-6"

    [[rules]]
    name = "long"
    use = "gemini:gemini-2.5-pro"
    when = { estimated_input_tokens_gt = 150_000 }

    [workspaces."/home/me/project"]
    default = "sonnet"
    [[workspaces."/home/me/project".rules]] …

A file with anything wrong in it is refused as a whole. `router.py` reads it from disk.
"""

from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from interlingua.errors import found
from interlingua.model.tools import SideEffects
from interlingua.routing.predicates import Problem, Test, compile_when
from interlingua.routing.registry import Registry, alias_problem, is_model_id

SCHEMA_VERSION = 1
_TABLES = (
    *("schema_version", "default", "aliases", "rules", "workspaces", "pattern", "side_effects"),
)
MOST_BYTES = 1 << 20


@dataclass(frozen=True)
class Rule:
    """Use `model` where `test` holds."""

    name: str
    model: str
    test: Test


@dataclass(frozen=True)
class Scope:
    """The rules of one workspace, or those for all."""

    rules: tuple[Rule, ...] = ()
    default: str | None = None


@dataclass(frozen=True)
class PatternSettings:
    """Whether turns are learned from, how much a cheaper model counts, and how sure a pattern has
    to be."""

    enabled: bool = False
    cost_weight: float = 0.05
    min_confidence: float = 0.05
    min_sample_size: int = 5


@dataclass(frozen=True)
class Policy:
    """A rules file that was read. `version` is the hash of its bytes."""

    everywhere: Scope = Scope()
    workspaces: Mapping[str, Scope] = field(default_factory=dict)
    aliases: Mapping[str, str] = field(default_factory=dict)
    pattern: PatternSettings = PatternSettings()
    side_effects: Mapping[str, frozenset[SideEffects]] = field(default_factory=dict)
    """Model or provider to the side effects allowed in its turns."""
    version: str | None = None

    def scope(self, workspace_path: str | None) -> Scope:
        """The workspace's own rules; its path has to be exactly the one in the file."""
        return self.workspaces.get(workspace_path or "", _EMPTY)


_EMPTY = Scope()
NO_POLICY = Policy()


class PolicyReader:
    """Reads one file and collects all that is wrong with it, not only the first thing.

    Without a registry, models are checked for their form only.
    """

    def __init__(self, registry: Registry | None = None) -> None:
        self.problems: list[Problem] = []
        self._registry = registry
        self._aliases: dict[str, str] = {}

    def read(self, data: bytes) -> Policy:
        table = self._toml(data)
        self._no_others(table, "", _TABLES)
        if table.get("schema_version") != SCHEMA_VERSION or table["schema_version"] is True:
            self._add("schema_version", f"expected {SCHEMA_VERSION}")
        self._read_aliases(self._table(table, "aliases", ""))
        everywhere = self._scope(table, "")
        taken = {rule.name for rule, written in everywhere if written}
        workspaces: dict[str, Scope] = {}
        for path, each in self._table(table, "workspaces", "").items():
            place = f'workspaces."{path}"'
            if not isinstance(each, dict):
                self._add(place, f"expected a table, found {found(each)}")
                continue
            self._no_others(each, f"{place}.", ("default", "rules"))
            rules = tuple([rule for rule, _ in self._scope(each, f"{place}.", taken)])
            workspaces[path] = Scope(rules, self._default(each, f"{place}."))
        return Policy(
            Scope(tuple([rule for rule, _ in everywhere]), self._default(table, "")),
            workspaces,
            self._aliases,
            self._pattern(self._table(table, "pattern", "")),
            self._side_effects(self._table(table, "side_effects", "")),
            hashlib.sha256(data).hexdigest()[:16],
        )

    def _toml(self, data: bytes) -> dict[str, Any]:
        if len(data) > MOST_BYTES:
            self._add("file", f"larger than {MOST_BYTES} bytes")
        else:
            try:
                text = data.decode("utf-8-sig")
                return tomllib.loads(text, parse_float=Decimal)
            except (ValueError, RecursionError) as problem:
                self._add("file", f"not TOML in UTF-8: {problem}")
        return {"schema_version": SCHEMA_VERSION}

    def _read_aliases(self, table: dict[str, Any]) -> None:
        for alias, model in table.items():
            place = f"aliases.{alias}"
            problem = alias_problem(alias)
            if problem is not None:
                self._add(place, problem)
            elif self._registry is not None and alias in self._registry:
                self._add(place, "this is the id of a model")
            elif isinstance(model, str) and is_model_id(model):
                self._aliases[alias] = model
                self._check_configured(model, place)
            else:
                self._add(place, f"expected a model as <provider>:<name>, found {found(model)}")

    def _scope(
        self, table: dict[str, Any], path: str, taken: set[str] | None = None
    ) -> list[tuple[Rule, bool]]:
        """The rules of a table, each with whether its name was written there."""
        rules = table.get("rules", [])
        if not isinstance(rules, list):
            self._add(f"{path}rules", f"expected a list of tables, found {found(rules)}")
            return []
        read: list[tuple[Rule, bool]] = []
        here: set[str] = set()
        for index, each in enumerate(rules):
            place = f"{path}rules[{index}]"
            if not isinstance(each, dict):
                self._add(place, f"expected a table, found {found(each)}")
                continue
            rule = self._rule(each, place, index)
            if rule.name in here or rule.name in (taken or ()):
                self._add(f"{place}.name", f"another rule is called {rule.name!r}")
            here.add(rule.name)
            read.append((rule, "name" in each))
        return read

    def _rule(self, table: dict[str, Any], path: str, index: int) -> Rule:
        self._no_others(table, f"{path}.", ("name", "when", "use"))
        name = table.get("name", f"rule_{index}")
        if not isinstance(name, str) or not name:
            self._add(f"{path}.name", f"expected a name, found {found(name)}")
            name = f"rule_{index}"
        if "when" not in table:
            self._add(f"{path}.when", "missing; an empty table matches every turn")
        test = compile_when(table.get("when", {}), f"{path}.when", self.problems)
        if "use" not in table:
            self._add(f"{path}.use", "missing; it names the model")
            return Rule(name, "", test)
        return Rule(name, self._model(table["use"], f"{path}.use") or "", test)

    def _default(self, table: dict[str, Any], path: str) -> str | None:
        return self._model(table["default"], f"{path}default") if "default" in table else None

    def _model(self, value: Any, path: str) -> str | None:
        """A model's id from an id or an alias."""
        if not isinstance(value, str):
            self._add(path, f"expected a model or an alias, found {found(value)}")
            return None
        if value in self._aliases:
            return self._aliases[value]
        if self._registry is not None:
            model = self._registry.resolve(value)
            if model is None:
                self._add(path, f"no model or alias is called {value!r}")
            return model
        if not is_model_id(value):
            self._add(path, f"{value!r} is neither an alias in this file nor <provider>:<name>")
        return value

    def _check_configured(self, model: str, path: str) -> None:
        if self._registry is not None and model not in self._registry:
            self._add(path, f"no model is called {model!r}")

    def _pattern(self, table: dict[str, Any]) -> PatternSettings:
        known = {"cost_weight": 1, "min_confidence": 1, "min_sample_size": 1_000_000}
        self._no_others(table, "pattern.", ("enabled", *known))
        good: dict[str, Any] = {}
        for name, value in table.items():
            if name == "enabled":
                if type(value) is bool:
                    good[name] = value
                else:
                    self._add("pattern.enabled", f"expected true or false, found {found(value)}")
            kinds = (int,) if name == "min_sample_size" else (int, Decimal)
            if name not in known:
                continue
            if type(value) not in kinds or not 0 <= value <= known[name]:
                self._add(f"pattern.{name}", f"expected 0 to {known[name]}, found {found(value)}")
            else:
                good[name] = value if name == "min_sample_size" else float(value)
        return PatternSettings(**good)

    def _side_effects(self, table: dict[str, Any]) -> dict[str, frozenset[SideEffects]]:
        words = [effect.value for effect in SideEffects]
        read: dict[str, frozenset[SideEffects]] = {}
        for name, value in table.items():
            place = f"side_effects.{name}"
            if not isinstance(value, list) or any(each not in words for each in value):
                self._add(place, f"expected a list of {', '.join(words)}, found {found(value)}")
                continue
            whose = self._model(name, place) if ":" in name or name in self._aliases else name
            read[whose or name] = frozenset(map(SideEffects, value))
        return read

    def _table(self, table: dict[str, Any], name: str, path: str) -> dict[str, Any]:
        value = table.get(name, {})
        if isinstance(value, dict):
            return value
        self._add(f"{path}{name}", f"expected a table, found {found(value)}")
        return {}

    def _no_others(self, table: dict[str, Any], path: str, known: tuple[str, ...]) -> None:
        for name in table:
            if name not in known:
                self._add(f"{path}{name}", f"unknown; there are {', '.join(known)}")

    def _add(self, path: str, message: str) -> None:
        self.problems.append(Problem(path, message))
