"""Full-text search. Appending does not wait for the index: who searches brings it up to date."""

from __future__ import annotations

import logging
from typing import Any

from interlingua.errors import ReadError
from interlingua.model.codec import dumps
from interlingua.model.message import Message, from_micros
from interlingua.store import search_text
from interlingua.store.effects import Op, Rows, Step, Work
from interlingua.store.message_rows import read
from interlingua.store.rows import SearchHit
from interlingua.store.statements import Statements

logger = logging.getLogger(__name__)

PAGE = 500
"""Messages that are indexed at a time."""
IN_VAIN = 3
"""How often one finds nothing to index though there should be something: others may have been
quicker, or the file is damaged."""


class Search(Work):
    def unindexed(self) -> Op[bool]:
        rows = yield Step(self.sql.unindexed)
        return bool(rows)

    def index_some(self) -> Op[bool]:
        """Index a page of some session; gives whether there was something to do."""
        rows = yield Step(self.sql.unindexed)
        if not rows:
            return False
        session_id = rows[0][0]
        rows = yield Step(self.sql.to_index, (session_id,))
        if not rows:
            return False
        done = rows[0][1]
        rows = yield Step(self.sql.messages, (session_id, done, PAGE))
        if not rows:
            return False  # somebody else was quicker
        found = self._texts(session_id, rows)
        if found:
            yield Step(self.sql.add_text, found, many=True)
        yield Step(self.sql.indexed, (rows[-1][-1], session_id))
        return True

    def search(self, words: str, session_id: str | None, limit: int) -> Op[list[SearchHit]]:
        values = self._asked(words)
        if not any(values):
            return []
        rows = yield Step(self.sql.search, (*values, session_id, session_id, max(limit, 0)))
        return [
            SearchHit(session, id, seq, role, from_micros(at), _snippet(text, words))
            for session, id, seq, role, at, text in rows
        ]

    def _asked(self, words: str) -> tuple[Any, ...]:
        """A question as the engine's values; all of them empty when there is no word in it."""
        if not self.sql.is_sqlite:
            return search_text.for_postgres(words)
        asked, runs = search_text.for_sqlite(words)
        return (asked, dumps(runs).decode()) if asked else ()

    def _texts(self, session_id: str, rows: Rows) -> list[tuple[Any, ...]]:
        """What can be found; a message that cannot be read must not keep others from it."""
        found = []
        for row in rows:
            try:
                message = read(session_id, row)
            except ReadError as error:
                extra = {"session_id": session_id, "message_id": row[0], "path": error.path}
                logger.warning("stored_message_not_indexed", extra=extra)
                continue
            if message is not None:
                found.append(text_row(self.sql, session_id, message))
        return found


def text_row(sql: Statements, session_id: str, message: Message) -> tuple[Any, ...]:
    """A message's row in the table that is searched."""
    text = search_text.text_of(message)
    if sql.is_sqlite:
        return (session_id, message.id, search_text.spaced(text))
    return (session_id, message.id, text, search_text.plain_words(text), search_text.pairs_of(text))


def _snippet(text: str, words: str) -> str:
    return search_text.snippet(search_text.unspaced(text), words)
