"""AG-UI, the Agent User Interaction Protocol: events of runs, and the messages they build up."""

from __future__ import annotations

from interlingua.transcripts.ag_ui.read import read, signs
from interlingua.transcripts.ag_ui.write import form, more, write
from interlingua.transcripts.format import Format

FORMAT = Format(
    name="ag-ui",
    title="AG-UI",
    seen="ag-ui-protocol 1.0.0, 2026-11-17",
    signs=signs,
    read=read,
    write=write,
    more=more,
    form=form,
)
