"""Executes the steps of the Dockerfile in a clean folder, without Docker: copies what it copies,
builds the wheel, installs it into an empty root, starts the command and waits for the health check.
Dependencies are those of this environment, since an image gets them from a package index.

python -m tests.gateway.server.deploying
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[3]
TEXT = (ROOT / "Dockerfile").read_text(encoding="utf-8")
PORT = "8431"


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        return deploy(Path(folder))


def deploy(home: Path) -> int:
    source, wheels, root, data = (home / name for name in ("src", "wheels", "root", "data"))
    for each in (source, wheels, root, data):
        each.mkdir()
    for line in re.findall(r"^COPY (?!--from)(.*)$", TEXT, re.M):
        *names, place = line.split()
        for name in names:
            _copy(ROOT / name, source / place / name if place.endswith("/") else source / place)
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "-q"]
    build = ["wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", str(wheels), "."]
    subprocess.run([*pip, *build], cwd=source, check=True)
    (wheel,) = wheels.glob("*.whl")
    subprocess.run([*pip, "install", "--no-deps", "--target", str(root), str(wheel)], check=True)
    packages = sysconfig.get_paths()["purelib"]
    environment = {"INTERLINGUA_HOME": str(data), "PATH": os.environ["PATH"]}
    environment["PYTHONPATH"] = os.pathsep.join([str(root), packages])
    where = [sys.executable, "-S", "-c", "import interlingua; print(interlingua.__file__)"]
    found = subprocess.run(where, env=environment, cwd=data, capture_output=True, check=True)
    assert Path(found.stdout.decode().strip()).is_relative_to(root), found.stdout
    return _serve(environment, data)


def _copy(source: Path, target: Path) -> None:
    if source.is_dir():
        shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
    else:
        shutil.copy(source, target)


def _serve(environment: dict[str, str], data: Path) -> int:
    (command,) = re.findall(r"^CMD (.*)$", TEXT, re.M)
    (check,) = re.findall(r"^HEALTHCHECK .*CMD (\[.*\])$", TEXT, re.M)
    python = [sys.executable, "-S", "-m"]
    asked = [word.replace(":8400", f":{PORT}") for word in json.loads(check)]
    issue = [*python, "interlingua", "keys", "issue", "laptop"]
    subprocess.run(issue, env=environment, cwd=data, check=True, capture_output=True)
    serve = [*python, *json.loads(command), "--port", PORT]
    process = subprocess.Popen(serve, env=environment, cwd=data)
    try:
        for _ in range(100):
            time.sleep(0.2)
            healthy = subprocess.run([sys.executable, *asked[1:]], capture_output=True)
            if healthy.returncode == 0:
                break
        process.terminate()
        process.wait(60)
    finally:
        process.kill()
    print("healthy" if healthy.returncode == 0 else healthy.stderr.decode())
    return healthy.returncode


if __name__ == "__main__":
    sys.exit(main())
