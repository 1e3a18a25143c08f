"""The documented install: the built wheel with the packages that its extras declare, and no others.

Nothing is fetched: a fresh environment gets the wheel, and of this environment's packages those
that the extras ask for, and what these ask for in turn. So an import that no extra declares fails
here as it fails for a user, whatever else a developer has installed.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import venv
import zipfile
from collections.abc import Iterator
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path
from urllib.request import urlopen

import pytest

from tests.agents.chat.provider import ANTHROPIC, KEY, Provider
from tests.test_wheel import built_wheel

packaging = pytest.importorskip("packaging.requirements", reason="needs packaging")

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="links and signals of Unix")
ROOT = Path(__file__).parents[1]
EXTRAS = ("gateway", "cli", "local")


def asked_for(lines: list[str], extras: tuple[str, ...]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The packages that requirements name here and now, with the extras wanted of each."""
    for line in lines:
        wanted = packaging.Requirement(line)
        environments = [{"extra": extra} for extra in ("", *extras)]
        if wanted.marker is None or any(wanted.marker.evaluate(each) for each in environments):
            yield wanted.name, tuple(wanted.extras)


def closure(own: list[str], extras: tuple[str, ...]) -> dict[str, Distribution]:
    """Every package that comes with the extras, by name."""
    found: dict[str, Distribution] = {}
    seen: set[tuple[str, tuple[str, ...]]] = set()
    todo = [("interlingua", extras)]
    while todo:
        name, wanted = todo.pop()
        if (name, wanted) in seen:
            continue
        seen.add((name, wanted))
        if name != "interlingua":
            found[name] = distribution(name)
        lines = own if name == "interlingua" else found[name].requires or []
        todo += asked_for(lines, wanted)
    return found


def link(package: Distribution, into: Path) -> None:
    """The package's files of this environment, seen from another one."""
    tops = {Path(file).parts[0] for file in package.files or () if ".." not in Path(file).parts}
    for top in tops - {"__pycache__"}:
        place = into / top
        if not place.exists():
            place.symlink_to(Path(str(package.locate_file(top))).absolute())


class Installed:
    """A fresh environment, and a home of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.home = folder / "home"
        self.home.mkdir(parents=True)

    @property
    def packages(self) -> Path:
        version = f"python{sys.version_info.major}.{sys.version_info.minor}"
        return self.folder / "lib" / version / "site-packages"

    def command(self, *words: str) -> list[str]:
        return [str(self.folder / "bin" / "python"), "-I", "-m", "interlingua", *words]

    @property
    def variables(self) -> dict[str, str]:
        home = str(self.home)
        return {"PATH": os.environ["PATH"], "HOME": home, "INTERLINGUA_HOME": home}

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self.command(*words),
            capture_output=True,
            text=True,
            env=self.variables,
            cwd=self.home,
            stdin=subprocess.DEVNULL,
            timeout=120,
        )


def made(folder: Path, wheel: Path, extras: tuple[str, ...]) -> Installed:
    venv.create(folder, with_pip=False)
    installed = Installed(folder)
    with zipfile.ZipFile(wheel) as zipped:
        zipped.extractall(installed.packages)
        (metadata,) = (n for n in zipped.namelist() if n.endswith(".dist-info/METADATA"))
        lines = re.findall(r"^Requires-Dist: (.+)$", zipped.read(metadata).decode(), re.MULTILINE)
    try:
        packages = closure(lines, extras)
    except PackageNotFoundError as missing:
        pytest.skip(f"not installed here: {missing}")
    for package in packages.values():
        link(package, installed.packages)
    return installed


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built_wheel(tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    return made(tmp_path_factory.mktemp("fresh") / "venv", wheel, EXTRAS)


def test_the_extras_are_those_that_the_page_tells_to_install() -> None:
    page = (ROOT / "docs" / "gateway.md").read_text(encoding="utf-8")
    assert f"pip install 'interlingua[{','.join(EXTRAS)}]'" in page


def test_nothing_of_the_developers_environment_is_seen(installed: Installed) -> None:
    names = {path.name for path in installed.packages.iterdir()}
    assert not names & {"pytest", "openai", "anthropic", "psycopg", "mcp", "hypothesis"}
    done = subprocess.run(
        [installed.command()[0], "-I", "-c", "import interlingua; print(interlingua.__file__)"],
        capture_output=True,
        text=True,
    )
    assert Path(done.stdout.strip()).is_relative_to(installed.folder)


@pytest.mark.parametrize("kept", [(), ("--no-store",)], ids=["stored", "not stored"])
def test_a_chat_starts_and_is_answered(installed: Installed, kept: tuple[str, ...]) -> None:
    with Provider() as provider:
        provider.configure(installed.home)
        done = installed.run("chat", "-m", ANTHROPIC, *kept, "hello")
    assert (done.returncode, done.stdout) == (0, "Answer 1 to: hello\n"), done.stderr


def test_a_chat_with_tools_starts_and_uses_them(installed: Installed) -> None:
    (installed.home / "notes.txt").write_text("some notes")
    with Provider() as provider:
        provider.configure(installed.home)
        done = installed.run("chat", "-m", ANTHROPIC, "--tools", "--no-store", "read notes.txt")
    assert done.returncode == 0, done.stderr
    assert "some notes" in json.dumps(provider.requests[-1])


def test_the_gateway_starts_and_is_ready(installed: Installed) -> None:
    with subprocess.Popen(
        installed.command("serve", "--port", "0", "--json"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=installed.variables,
        cwd=installed.home,
    ) as gateway:
        assert gateway.stdout is not None
        assert gateway.stderr is not None
        try:
            line = gateway.stdout.readline()
            assert line, gateway.stderr.read()
            url = json.loads(line)["url"]
            with urlopen(f"{url}/health/ready", timeout=60) as ready:
                assert ready.status == 200
        finally:
            gateway.send_signal(signal.SIGINT)
            gateway.communicate(timeout=60)
    assert gateway.returncode == 0


def test_the_command_line_alone_chats_and_names_the_extra_of_the_gateway(
    wheel: Path, tmp_path: Path
) -> None:
    alone = made(tmp_path / "venv", wheel, ("cli",))
    with Provider() as provider:
        provider.configure(alone.home)
        done = alone.run("chat", "-m", ANTHROPIC, "hello")
    assert (done.returncode, done.stdout) == (0, "Answer 1 to: hello\n"), done.stderr
    assert KEY not in done.stderr
    refused = alone.run("serve")
    assert refused.returncode == 1
    assert "pip install 'interlingua[gateway]'" in refused.stderr
