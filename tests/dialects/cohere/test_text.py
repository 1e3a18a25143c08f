"""Items of content and their neighbours."""

from __future__ import annotations

import interlingua as il
from interlingua.dialects.cohere import DIALECT
from tests.dialects.cohere.wires import ANSWER, blocks


def test_a_citation_belongs_to_the_text_it_is_of() -> None:
    thought, text = blocks(ANSWER)
    assert thought == il.ThinkingBlock("Hm.")
    assert isinstance(text, il.TextBlock)
    (cited,) = text.citations
    assert (cited.start, cited.end) == (0, 4)
    assert (cited.title, cited.cited_text) == ("Oslo", "Oslo is cold.")


def test_a_citation_that_is_changed_changes_nothing_else() -> None:
    response = DIALECT.read_response(ANSWER)
    thought, text = response.message.content
    assert isinstance(text, il.TextBlock)
    cited = text.citations[0].replace(title="Bergen")
    content = (thought, text.replace(citations=(cited,)))
    wire = DIALECT.write_response(
        response.replace(message=response.message.replace(content=content))
    ).wire
    document = wire["message"]["citations"][0]["sources"][0]["document"]
    assert document.pop("title") == "Bergen"
    document["title"] = "Oslo"
    assert wire == ANSWER
