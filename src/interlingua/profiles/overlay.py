"""The user's own rules about models, laid over the package's: files, a provider's table, code.

From below: the package's rules; rules from providers' lists (`profiles/*.toml`); the user's
`profiles.toml`; `profile = {…}` of a provider in `providers.toml`; `profile=` of a call.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from interlingua import config
from interlingua.errors import InterlinguaError
from interlingua.profiles.profile import (
    Overlay,
    Profile,
    ProfileFields,
    Profiles,
    Rule,
    bundled,
    check_range,
)
from interlingua.profiles.reading import read_file, split_error

T = TypeVar("T", bound=ProfileFields)
ProfileSource = Profiles | Iterable[Rule | Mapping[str, Any]] | str | Path | None
"""Rules as a program has them: a file's path, rules, or tables like those of a file."""


class ProfileError(InterlinguaError):
    """An invalid profile. `field` is the path of the wrong field."""

    def __init__(self, what: str, problem: str, field: str | None) -> None:
        self.what = what
        self.problem = problem
        self.field = field
        place = f", at {field}" if field else ""
        super().__init__(f"{what}{place}: {problem}")


def own_profiles() -> Profiles:
    """The package's rules, overlaid by those of this machine's user."""
    made = bundled()
    for path in own_files():
        rules = read_file(path)
        if rules:
            made = made.overlaid(rules)
    return made


def own_files(folder: Path | None = None) -> list[Path]:
    """The files of the configuration folder that may have rules, weakest first; they need not be
    there."""
    folder = folder or config.config_folder()
    lists = folder / config.PROVIDER_LISTS
    try:
        names = sorted(name for name in os.listdir(lists) if name.endswith(".toml"))
    except OSError:
        names = []
    return [*(lists / name for name in names), folder / config.PROFILES]


def profiles_from(source: ProfileSource) -> Profiles:
    """Profiles for a client: this machine's if `source` is None, otherwise the package's, overlaid
    by the rules of `source`. `Profiles` are returned unchanged."""
    match source:
        case None:
            return own_profiles()
        case Profiles():
            return source
        case str() | Path():
            return bundled().overlaid(read_file(Path(source)))
        case _:
            return bundled().overlaid(_rule(each, index) for index, each in enumerate(source))


def _rule(rule: Rule | Mapping[str, Any], index: int) -> Rule:
    if isinstance(rule, Rule):
        return rule
    return _converted({"id": f"own-{index + 1}", **rule}, Rule, f"rule {index + 1}")


def profile_from(overlay: Mapping[str, Any] | ProfileFields, under: Profile) -> Profile:
    """A profile for one call: `overlay` over the model's own profile."""
    fields = (
        overlay
        if isinstance(overlay, ProfileFields)
        else _converted(overlay, ProfileFields, "profile")
    )
    return under.overlaid(
        [fields if isinstance(fields, Rule) else fields.as_rule("profile of the call")]
    )


def profile_at(
    profiles: Profiles, name: str, provider: str, dialect: str | None, overlay: Overlay | None
) -> Profile:
    """The profile of a model at a provider with rules for all of its models."""
    if overlay is None:
        return profiles.of(name, provider, dialect)
    found = profiles.of(name, overlay.like or provider, dialect)
    return found.overlaid([overlay.as_rule(f"provider {provider}")])


def _converted(table: Mapping[str, Any], kind: type[T], what: str) -> T:
    try:
        made = msgspec.convert(dict(table), kind)
        check_range(getattr(made, "version", None))
    except (msgspec.ValidationError, ValueError) as wrong:
        raise ProfileError(what, *split_error(str(wrong))) from None
    return made
