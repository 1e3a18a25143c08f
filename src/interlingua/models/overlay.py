"""What a user says about models, laid over the package's rules: files, a provider's table, code.

From below: the package's rules; what providers told (`profiles/*.toml`); the user's
`profiles.toml`; `profile = {…}` of a provider in `providers.toml`; `profile=` of a call.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from interlingua import config
from interlingua.errors import InterlinguaError
from interlingua.models.profile import (
    Overlay,
    Profile,
    ProfileFields,
    Profiles,
    Rule,
    bundled,
    check_range,
)
from interlingua.models.reading import read_file, split_error

T = TypeVar("T", bound=ProfileFields)
ProfileSource = Profiles | Iterable[Rule | Mapping[str, Any]] | str | Path | None
"""Rules as a program has them: a file's path, rules, or tables like those of a file."""


class ProfileError(InterlinguaError):
    """A profile that was given and is none. `field` is the place in it."""

    def __init__(self, what: str, problem: str, field: str | None) -> None:
        self.what = what
        self.problem = problem
        self.field = field
        place = f", at {field}" if field else ""
        super().__init__(f"{what}{place}: {problem}")


def own_profiles() -> Profiles:
    """The package's rules with what this machine's user has over them."""
    made = bundled()
    for path in own_files():
        rules = read_file(path)
        if rules:
            made = made.overlaid(rules)
    return made


def own_files() -> list[Path]:
    """The files that may have rules, weakest first; they need not be there."""
    told = config.provider_list_path("x").parent
    return [*sorted(told.glob("*.toml")), config.profiles_path()]


def profiles_from(given: ProfileSource) -> Profiles:
    """Profiles for a client: those of this machine where nothing is given, else the package's with
    the given rules over them. `Profiles` stand for themselves."""
    match given:
        case None:
            return own_profiles()
        case Profiles():
            return given
        case str() | Path():
            return bundled().overlaid(read_file(Path(given)))
        case _:
            return bundled().overlaid(_rule(each, index) for index, each in enumerate(given))


def _rule(given: Rule | Mapping[str, Any], index: int) -> Rule:
    if isinstance(given, Rule):
        return given
    return _converted({"id": f"own-{index + 1}", **given}, Rule, f"rule {index + 1}")


def profile_from(given: Mapping[str, Any] | ProfileFields, under: Profile) -> Profile:
    """A profile for one call: what is given, laid over what the model takes otherwise."""
    said = (
        given if isinstance(given, ProfileFields) else _converted(given, ProfileFields, "profile")
    )
    return under.overlaid([said if isinstance(said, Rule) else said.as_rule("profile of the call")])


def profile_at(
    profiles: Profiles, name: str, provider: str, dialect: str | None, overlay: Overlay | None
) -> Profile:
    """The profile of a model at a provider that may say something about all of its models."""
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
