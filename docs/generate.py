"""Print the pages in `docs/dialects`: `make docs`."""

from pathlib import Path

import interlingua as il
from interlingua.dialects import describe

FOLDER = Path(__file__).with_name("dialects")


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    for name in il.dialects():
        (FOLDER / f"{name}.md").write_text(describe.page(il.dialect(name)), encoding="utf-8")
    (FOLDER / "matrix.md").write_text(describe.matrix(), encoding="utf-8")


if __name__ == "__main__":
    main()
