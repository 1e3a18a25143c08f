"""Amazon Bedrock's Converse as a gateway serves it."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import unquote

from interlingua.dialects.bedrock.tables import NAME
from interlingua.dialects.front import (
    BEDROCK_NAMES,
    ERROR_TYPE,
    EVENT_STREAM,
    Action,
    AwsWrapping,
    Ending,
    Front,
    RequestPath,
    code_beside,
)

_PATH = re.compile(r"/model/(.+)/(converse|converse-stream|count-tokens)")
_ACTIONS: dict[str, tuple[Action, bool]] = {
    "converse": ("generate", False),
    "converse-stream": ("generate", True),
    "count-tokens": ("count_tokens", False),
}
_FIELDS = "additionalModelRequestFields"
_LIMITS = frozenset({"max_tokens", "max_completion_tokens", "max_tokens_to_sample", "n"})


def _path(path: str) -> RequestPath | None:
    found = _PATH.fullmatch(path)
    if found is None:
        return None
    action, stream = _ACTIONS[found[2]]
    return RequestPath(action, unquote(found[1]), stream)


class ConverseEnding(Ending):
    marks = (b"messageStop", b"metadata")

    def _look(self, data: str, name: str | None) -> None:
        if name == "messageStop":
            self.reach(last=False)
        elif name == "metadata" and self.is_reached:
            self.reach()


def _repeats_field(raw: Any) -> bool:
    fields = raw.get(_FIELDS) if isinstance(raw, dict) else None
    return isinstance(fields, dict) and not _LIMITS.isdisjoint(fields)


FRONT = Front(
    dialect=NAME,
    provider="bedrock",
    paths={},
    path=_path,
    stream_type=EVENT_STREAM,
    keep_alive=None,
    own_names=BEDROCK_NAMES,
    request_id=b"x-amzn-requestid",
    error_details=code_beside,
    ending=ConverseEnding,
    marks=(b'"usage"', b"xception"),
    texts=b"text|input",
    unbounded={
        "guardrailConfig": "a guardrail, which is billed separately",
        "performanceConfig": "a faster tier, which costs more",
        "promptVariables": "a prompt stored at the provider",
    },
    repeats_field=_repeats_field,
    counted="inputTokens",
    wrapping=AwsWrapping(),
    error_header=ERROR_TYPE.decode(),
)
