"""Print the pages and the stub that are made from code, and compile the rules of models:
`make docs`."""

from pathlib import Path

import stub

import interlingua as il
from interlingua.dialects import probes
from interlingua.profiles.reading import compiled_rules
from interlingua.transcripts import format_of, formats
from tools import almanac_page, event_pages, layers, losses_page, reference_page, wire_gaps
from tools import models_page as models
from tools import transcript_pages as transcripts

ARCHITECTURE = Path(__file__).with_name("ARCHITECTURE.md")
FOLDER = Path(__file__).with_name("dialects")
ALMANAC = Path(__file__).with_name("almanac.md")
EVENTS = Path(__file__).with_name("events.md")
LOSSES = Path(__file__).with_name("losses.md")
REFERENCE = Path(__file__).with_name("reference.md")
MODELS = Path(__file__).with_name("models.md")
TRANSCRIPTS = Path(__file__).with_name("transcripts")
TRANSCRIPTS_MATRIX = Path(__file__).with_name("transcripts-matrix.md")
RULES = Path(il.__file__).with_name("profiles") / "data" / "profiles.toml"


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    for name in il.dialects():
        page = probes.page(il.dialect(name)) + wire_gaps.page(name)
        (FOLDER / f"{name}.md").write_text(page, encoding="utf-8")
    (FOLDER / "matrix.md").write_text(probes.matrix(), encoding="utf-8")
    TRANSCRIPTS_MATRIX.write_text(transcripts.matrix(), encoding="utf-8")
    for format in map(format_of, formats()):
        place = TRANSCRIPTS / f"{format.name}.md"
        place.write_text(transcripts.page(place.read_text(encoding="utf-8"), format), "utf-8")
    ARCHITECTURE.write_text(layers.page(ARCHITECTURE.read_text("utf-8")), "utf-8")
    ALMANAC.write_text(almanac_page.page(), "utf-8")
    EVENTS.write_text(event_pages.page(EVENTS.read_text(encoding="utf-8")), encoding="utf-8")
    LOSSES.write_text(losses_page.page(LOSSES.read_text("utf-8")), "utf-8")
    REFERENCE.write_text(reference_page.page(REFERENCE.read_text("utf-8")), "utf-8")
    MODELS.write_text(models.page(MODELS.read_text(encoding="utf-8")), encoding="utf-8")
    stub.PLACE.write_text(stub.stub(), encoding="utf-8")
    RULES.with_suffix(".json").write_bytes(compiled_rules(RULES.read_bytes()))


if __name__ == "__main__":
    main()
