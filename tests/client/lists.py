"""Lists of models as providers send them."""

from __future__ import annotations

from typing import Any

YES, NO = {"supported": True}, {"supported": False}


def claude(id: str, **changed: Any) -> dict[str, Any]:
    """An entry of Anthropic's list."""
    types = {"adaptive": YES, "enabled": NO, "disabled": NO, "between_tools": YES}
    efforts = {"low": YES, "medium": YES, "high": YES, "xhigh": NO, "max": YES}
    able = {
        "image_input": YES,
        "pdf_input": NO,
        "structured_outputs": YES,
        "effort": {**YES, **efforts},
        "thinking": {**YES, "types": types},
    }
    tokens = {"max_tokens": 64_000, "max_input_tokens": 500_000}
    return {"id": id, "type": "model", "capabilities": able, **tokens, **changed}
