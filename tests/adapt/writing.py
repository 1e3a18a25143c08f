"""The body of a request to a target, for tests."""

from __future__ import annotations

from interlingua import Request, Written
from interlingua.adapt.request import adapt, write
from interlingua.adapt.target import Target


def written_for(
    request: Request, target: Target, stream: bool | None = None, source: str | None = None
) -> Written:
    return write(adapt(target.asking(request, stream), target, source))
