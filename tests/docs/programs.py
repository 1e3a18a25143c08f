"""Runs programs one after the other, each as if it were the only one: `python programs.py 3 4 5`.

What each prints is in `3.out` and `3.err`, how it ended in `3.code`. They share a process, since
importing what they need takes longer than all that they do. The first that fails is the last."""

from __future__ import annotations

import os
import runpy
import sys
import traceback
from pathlib import Path


def run(place: Path) -> int:
    out, err = (os.open(f"{place}{end}", os.O_WRONLY | os.O_CREAT) for end in (".out", ".err"))
    for number, file in ((1, out), (2, err)):
        os.dup2(file, number)
        os.close(file)
    code = 0
    try:
        runpy.run_path(str(place), run_name="__main__")
    except Exception:
        traceback.print_exc()
        code = 1
    sys.stdout.flush()
    sys.stderr.flush()
    Path(f"{place}.code").write_text(str(code))
    return code


if __name__ == "__main__":
    sys.exit(next((1 for place in sys.argv[1:] if run(Path(place))), 0))
