"""`interlingua export`."""

from __future__ import annotations

from pathlib import Path

from tests.cli.running import ok


def test_a_session_with_a_hostile_id_is_exported_into_the_folder(tmp_path: Path) -> None:
    folder = tmp_path / "a" / "b"
    folder.mkdir(parents=True)
    line = '{"session":{"id":%s,"workspace_path":"/w","created_at":"2026-03-01T12:00:00Z"}}\n'
    (folder / "in.jsonl").write_text("".join(line % each for each in ('"../../EVIL"', '"plain"')))
    ok("import", folder / "in.jsonl", "--new-ids", "--store", folder / "store.db")
    ok("export", "--store", folder / "store.db", "--to", "codex", "-o", folder / "out")
    assert not list(tmp_path.rglob("EVIL*"))
    assert len(list((folder / "out").iterdir())) == 2
