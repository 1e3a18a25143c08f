"""A request on its way to one model at one provider: retold, fitted, in the words of its host, with
all that the provider's address asks for in its body.

Sessions, clients and the gateway write here and nowhere else, so that what a session says it will
send is what is sent, and so are the reports."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NamedTuple

import msgspec

from interlingua.dialects.kernel.recorder import LossRecorder
from interlingua.dialects.openai_chat.tables import ANYBODY, HOSTS, Host
from interlingua.dialects.record import Dialect, Written
from interlingua.fitting.fit import fit
from interlingua.losses import Report
from interlingua.model.exchange import Options, Request
from interlingua.models.names import unknown
from interlingua.models.profile import Profile
from interlingua.providers.binding import lenient
from interlingua.providers.provider import Paths, Provider
from interlingua.retell import Retold
from interlingua.say import fitted, say, written

NO_OPTIONS = Options()
_PLAIN = {stream: Options(stream=stream) for stream in (None, False, True)}


class Target(msgspec.Struct, frozen=True, eq=False):
    """One model at one provider, in one dialect."""

    model: str
    """`<provider>:<name>`."""
    name: str
    provider: Provider
    dialect: Dialect
    images: bool = True
    """Whether the model takes any."""
    profile: Profile | None = None
    """What it takes; None: a request is said as it is."""
    usual: bool = False
    """Nobody asked for this dialect: another may be spoken where a request needs it."""
    fixed: bool = False
    """The profile was given for this call, and is that of any dialect."""
    host: Host | None = None
    """How the provider speaks the dialect, where it does so in words of its own."""

    def fitted_to(self, profile: Profile | Literal[False]) -> Target:
        """The same, asked by another profile, or by none."""
        return msgspec.structs.replace(self, profile=profile or None, fixed=True)

    @property
    def paths(self) -> Paths | None:
        """Where the provider speaks the dialect; None where it does not say."""
        return self.provider.dialects.get(self.dialect.name)

    def near(self) -> tuple[str, ...]:
        """Models of this provider that look like this one."""
        from interlingua.models.capabilities import known_models

        mine = [id for id in known_models() if id.startswith(f"{self.provider.key}:")]
        near = unknown(self.model, "", mine).near
        return tuple(id for id in near if id != self.model)


class WrittenRequest(NamedTuple):
    """A body that was written already, and for what: whoever sends the same request to the same
    target need not write it again."""

    request: Request
    target: Target
    body: Written
    on_use: Callable[[], None]
    """Called when it is sent."""

    def serves(self, request: Request, target: Target, stream: bool) -> bool:
        mine = self.target
        return (
            self.request is request
            and self.body.stream is stream
            and (mine.model, mine.name, mine.images) == (target.model, target.name, target.images)
            and mine.dialect is target.dialect
            and mine.provider == target.provider
            and mine.profile == target.profile
        )


def host_of(provider: Provider, dialect: Dialect) -> Host | None:
    """The words of a provider in a dialect that many speak; None where they are the dialect's."""
    if not dialect.traits.host_words:
        return None
    switches = provider.switches
    host = ANYBODY if switches.host is None else HOSTS[switches.host]
    if switches.max_tokens is not None:
        host = host._replace(max_tokens=switches.max_tokens, insists=True)
    host = host._replace(
        developer=host.developer and switches.developer, stream_usage=switches.stream_usage
    )
    return None if host == ANYBODY else host


def write_for(
    request: Request, target: Target, stream: bool | None, source: str | None = None
) -> Written:
    """The body of a request to the target, and what it could not say. `source` is the dialect that
    the request was read from, where that is known."""
    return in_body(say_to(request, target, stream, source), target)


def say_to(
    request: Request, target: Target, stream: bool | None, source: str | None = None
) -> Written:
    """The same before the provider's address has its say."""
    return say(
        request_for(request, target, stream),
        target.dialect,
        target.profile,
        provider=target.provider.key,
        source=source,
        images=target.images,
        host=target.host,
    )


def request_for(request: Request, target: Target, stream: bool | None) -> Request:
    """The request, asked of the target."""
    options = request.options
    if options.stream is not stream:
        options = _PLAIN[stream] if options is NO_OPTIONS else options.replace(stream=stream)
    return Request(
        request.messages, target.name, request.tools, options, request.continues, request.raw
    )


def retold_for(request: Request, target: Target) -> Retold:
    """The request as the target's model can take it, with nothing left to do but to write it."""
    return fitted(
        request,
        target.dialect,
        target.profile,
        provider=target.provider.key,
        images=target.images,
    )


def fitted_only(request: Request, target: Target) -> Retold:
    """The same for a request that is in the target's own dialect, and so was never retold."""
    if target.profile is None:
        recorder = LossRecorder(target.dialect.name, request, Report(target.dialect.name))
        return Retold(request, recorder.report, recorder)
    done = fit(request, target.profile, dialect=target.dialect.name)
    return Retold(done.value, done.report, done.scribe, done.back)


def written_for(told: Retold, target: Target) -> Written:
    """What was retold for the target, as the body that is sent."""
    return in_body(written(told, target.dialect, target.host), target)


def in_body(done: Written, target: Target) -> Written:
    """What is written, as the provider's address wants it: what the address says itself is left
    out of the body, and what it asks for is there. Neither is a loss."""
    paths = target.paths
    wire = done.wire
    if paths is not None and not (paths.model_in_body and paths.stream_in_body and not paths.body):
        wire = {**wire, **paths.body}
        if not paths.model_in_body:
            wire.pop("model", None)
        if not paths.stream_in_body:
            wire.pop("stream", None)
    wire = lenient(wire, target.provider.key, target.dialect.name, target.name)
    if wire is done.wire:
        return done
    return Written(wire, done.report, done.model, done.stream, done.back)
