"""OpenCode: sessions in a database, exported as one JSON; call and result are one part."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from interlingua.config import data_folder
from interlingua.transcripts.format import Format, Found, Skipped, candidates
from interlingua.transcripts.opencode.read import (
    NAME,
    detect_file,
    read_all_in,
    read_file,
    read_session,
    sessions_of,
)
from interlingua.transcripts.opencode.write import VERSION, session_id, write_file
from interlingua.transcripts.transcript import Transcript


def _data(home: Path) -> Path:
    """The data folder; for this user's own home, `XDG_DATA_HOME` sets it."""
    own = os.environ.get("XDG_DATA_HOME", "")
    return Path(own) if os.path.isabs(own) and home == Path.home() else home / ".local" / "share"


class OpenCode(Format):
    name = "opencode"
    title = "OpenCode"
    tested = "1.18.33, 2026-11-17"
    suffix = ".json"
    file_version = VERSION
    tested_tool = VERSION
    unsupported_fields = ("tools",)

    detect = staticmethod(detect_file)
    read = staticmethod(read_file)
    read_all = staticmethod(read_all_in)
    session = staticmethod(read_session)
    write = staticmethod(write_file)

    def root(self, home: Path) -> Path:
        """The folder of interlingua's own exports: its data folder, or the default one in another
        home."""
        own = data_folder() if home == Path.home() else _data(home) / "interlingua"
        return own / "opencode"

    def find(self, home: Path) -> Iterator[Found | Skipped]:
        path = _data(home) / "opencode" / "opencode.db"
        yield from candidates(NAME, path, sessions_of)

    def place(self, transcript: Transcript, home: Path) -> Path:
        """An export beside this package's data, which the tool then imports into its database."""
        return self.root(home) / f"{session_id(transcript)}.json"

    def import_command(self, path: Path) -> list[str]:
        return ["opencode", "import", str(path)]

    def resume(self, transcript: Transcript, path: Path) -> list[str]:
        return ["opencode", "--session", session_id(transcript)]


FORMATS = (OpenCode(),)
