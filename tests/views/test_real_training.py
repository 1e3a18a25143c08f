"""What trainers make of the rows that we write, where their packages are installed.

`make libraries` fetches them: `datasets` loads the rows, and a tokenizer of `transformers` with a
chat template says them as a model is told them.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import interlingua as il
from tests.adapt.batch_rows import CHAT, TOOL

pytestmark = pytest.mark.filterwarnings("ignore")

CHATML = """{%- if tools %}<|im_start|>system
{{ messages[0].content if messages[0].role == 'system' else '' }}
<tools>
{%- for tool in tools %}
{{ tool | tojson }}
{%- endfor %}
</tools><|im_end|>
{% endif %}
{%- for message in messages %}
{%- if message.role == 'tool' %}<|im_start|>user
<tool_response>
{{ message.content }}
</tool_response><|im_end|>
{% elif not (message.role == 'system' and loop.first and tools) %}<|im_start|>{{ message.role }}
{{ message.content or '' }}
{%- for call in message.tool_calls or [] %}
<tool_call>
{"name": "{{ call.function.name }}", "arguments": {{ call.function.arguments | tojson }}}
</tool_call>
{%- endfor %}<|im_end|>
{% endif %}
{%- endfor %}"""
"""ChatML with tools, in the manner of Qwen and Hermes."""


def rows(name: str, count: int = 3) -> list[Any]:
    plain = {**CHAT, "messages": CHAT["messages"][:2], "tools": []}
    chats = [CHAT, plain, CHAT][:count]
    return [il.convert(chat, "openai-chat", name).wire for chat in chats]


@pytest.mark.parametrize(
    "name",
    ["hf-messages", "openai-finetune", "sharegpt", "atif", "openai-batch", "anthropic-batch"],
)
def test_datasets_loads_what_we_wrote(name: str, tmp_path: Path) -> None:
    datasets = pytest.importorskip("datasets", reason="make libraries")
    file = tmp_path / "rows.jsonl"
    written = [each for each in rows(name) if name == "hf-messages" or each.get("tools", True)]
    file.write_text("".join(json.dumps(row) + "\n" for row in written), encoding="utf-8")
    loaded = datasets.load_dataset(
        "json", data_files=str(file), split="train", cache_dir=str(tmp_path / "cache")
    )
    assert len(loaded) == len(written)
    for row, back in zip(written, loaded, strict=True):
        assert _filled(back) == _filled(row)


def _filled(value: Any) -> Any:
    """Without the nulls and empty lists that columns are filled up with."""
    if isinstance(value, dict):
        each = {key: _filled(item) for key, item in value.items()}
        return {key: item for key, item in each.items() if item not in (None, [], {})}
    return [_filled(item) for item in value] if isinstance(value, list) else value


def test_a_chat_template_says_messages_calls_and_tools() -> None:
    pytest.importorskip("transformers", reason="make libraries")
    from tokenizers import Tokenizer, models
    from transformers import PreTrainedTokenizerFast

    words = Tokenizer(models.WordLevel({"[UNK]": 0}, unk_token="[UNK]"))
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=words, unk_token="[UNK]")
    tokenizer.chat_template = CHATML
    row = rows("hf-messages")[0]
    content = tokenizer.apply_chat_template(row["messages"], tools=row["tools"], tokenize=False)
    assert content.count("<|im_start|>") == content.count("<|im_end|>") == len(CHAT["messages"])
    assert '{"name": "add", "arguments": {"a": 2}}' in content
    assert json.dumps(TOOL) in content
    for text in ("Be brief.", "2 + 2?", "I add.", "It is 4.", "<tool_response>\n4\n"):
        assert content.count(text) == 1
