"""The files that deploy a gateway name what exists. `python -m tests.gateway.server.deploying`
executes the steps of the image."""

from __future__ import annotations

import json
import re
import shlex
import tomllib
from pathlib import Path

from interlingua.cli.serve import command as serve
from interlingua.gateway.telemetry.metrics import Metrics

ROOT = Path(__file__).parents[3]
DOCKERFILE = (ROOT / "Dockerfile").read_text(encoding="utf-8")
SUFFIXES = ("_total", "_bucket", "_sum", "_count", "")


def test_every_metric_of_the_dashboard_exists_with_its_labels() -> None:
    known = {
        f"{metric.name}{suffix}": set(metric_labels)
        for collector, metric_labels in _collectors()
        for metric in collector.describe()
        for suffix in SUFFIXES
    }
    board = json.loads((ROOT / "deploy" / "grafana.json").read_text(encoding="utf-8"))
    queries = [target["expr"] for panel in board["panels"] for target in panel["targets"]]
    assert len(queries) >= 12
    for query in queries:
        names = re.findall(r"interlingua_\w+", query)
        assert names, query
        for name in names:
            assert name in known, name
            by = ",".join([*re.findall(r"by \(([^)]*)\)", query)])
            filters = re.findall(r"(\w+)=~?\"", query)
            used = {each.strip() for each in by.split(",") if each.strip()} | set(filters)
            assert used - {"le"} <= known[name], (query, known[name])
    variables = [each["definition"] for each in board["templating"]["list"] if "definition" in each]
    for variable in variables:
        name, label = re.findall(r"\w+", variable)[1:]
        assert label in known[name], variable


def _collectors() -> list[tuple[object, tuple[str, ...]]]:
    metrics = Metrics()
    return [
        (each, each._labelnames)
        for each in vars(metrics).values()
        if hasattr(each, "describe") and hasattr(each, "_labelnames")
    ]


def test_what_the_image_copies_installs_and_runs_is_there() -> None:
    for line in re.findall(r"^COPY (?!--from)(.*)$", DOCKERFILE, re.M):
        *sources, _ = line.split()
        for source in sources:
            assert (ROOT / source).exists(), source
            assert f"!{source}" in (ROOT / ".dockerignore").read_text(encoding="utf-8").split()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    (extras,) = re.findall(r"\)\[([\w,]+)\]", DOCKERFILE)
    assert set(extras.split(",")) <= set(project["optional-dependencies"])
    (command,) = re.findall(r"^CMD (.*)$", DOCKERFILE, re.M)
    program, *arguments = json.loads(command)
    assert program in project["scripts"]
    assert arguments[0] == serve.name
    assert "USER interlingua" in DOCKERFILE, "it does not run as root"


def test_the_composition_names_what_the_gateway_reads() -> None:
    text = (ROOT / "compose.yaml").read_text(encoding="utf-8")
    issue = re.search(r"run --rm gateway (interlingua .*)$", text, re.M)
    assert issue is not None
    assert shlex.split(issue[1])[1:3] == ["keys", "issue"]
    for word in ("INTERLINGUA_STORE", "condition: service_healthy", "127.0.0.1:8400:8400", "/data"):
        assert word in text
    assert not re.search(r"PASSWORD: (?!\$)", text), "no password is in the file"
