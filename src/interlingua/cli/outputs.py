"""Where a command's data goes: standard output, or a file that is there when it is whole."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import click

from interlingua.cli.main import put

STDOUT = "-"
Put = Callable[[bytes | memoryview], object]


@contextmanager
def written(file: str | None) -> Iterator[Put]:
    """What takes the data. A file is written beside its place first: one that was there stays as
    it is until all is done, so that it may be the input, too."""
    if file is None or file == STDOUT:
        yield put
        return
    path = Path(file)
    if path.exists() and not path.is_file():  # a pipe, a device
        with path.open("wb") as special:
            yield special.write
        return
    from tempfile import NamedTemporaryFile  # which takes a while to load

    target = path.resolve()
    if not target.parent.is_dir():
        raise click.FileError(file, f"there is no folder {target.parent}")
    with NamedTemporaryFile(dir=target.parent, prefix=f".{path.name}.", delete=False) as made:
        try:
            yield made.write
        except BaseException:
            with suppress(OSError):
                os.unlink(made.name)
            raise
    os.chmod(made.name, target.stat().st_mode & 0o7777 if target.exists() else 0o666 & ~_umask())
    os.replace(made.name, target)


def _umask() -> int:
    """Asking for it means to set it."""
    mask = os.umask(0)
    os.umask(mask)
    return mask
