"""Rules files for tests."""

from __future__ import annotations

from interlingua.routing import Registry

REGISTRY = Registry.of(["a:fast", "a:deep", "b:vision"], {"deep": "a:deep"})

GOOD = """
schema_version = 1
default = "a:fast"

[aliases]
eyes = "b:vision"

[pattern]
cost_weight = 0.1
min_sample_size = 3

[[rules]]
name = "images"
use = "eyes"
when = { has_images = true }

[[rules]]
use = "deep"
[rules.when]
estimated_input_tokens_gt = 1000
not = { message_contains_any = ["quick"] }

[workspaces."/home/me/work"]
default = "deep"
[[workspaces."/home/me/work".rules]]
name = "secret"
use = "a:deep"
when.message_matches = "(?i)^secret"
"""


class Able:
    supports_images = True
    supports_tools = True
    supports_system_prompt = True
    supports_structured_output = True
    max_context_tokens = None
    accepted_image_media_types = None


def able(model: str) -> Able:
    return Able()
