"""AG-UI, the Agent User Interaction Protocol: events of runs, and the messages they build up."""

from __future__ import annotations

from interlingua.transcripts.ag_ui.read import detect_file, read_file
from interlingua.transcripts.ag_ui.write import append_lines, variant_of, write_file
from interlingua.transcripts.format import Format


class AgUi(Format):
    name = "ag-ui"
    title = "AG-UI"
    tested = "ag-ui-protocol 1.0.0, 2026-11-17"

    detect = staticmethod(detect_file)
    read = staticmethod(read_file)
    write = staticmethod(write_file)
    append = staticmethod(append_lines)
    variant = staticmethod(variant_of)


FORMATS = (AgUi(),)
