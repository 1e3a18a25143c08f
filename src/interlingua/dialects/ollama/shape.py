"""What is kept of this wire's objects beside the fields. In the form, `absent` are keys that the
writer would fill in."""

from __future__ import annotations

from interlingua.dialects.ollama.tables import NAME
from interlingua.dialects.shape import Notes

_NOTES = Notes(NAME)
spare, pack, put_back = _NOTES.spare, _NOTES.pack, _NOTES.put_back
mine_of, form_of = _NOTES.mine_of, _NOTES.form_of
