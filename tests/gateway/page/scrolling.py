"""How a long conversation scrolls: frames a second, and elements on the page.

    python -m tests.gateway.page.scrolling --messages 10000

The session is scrolled from its end to its beginning, as fast as a finger flicks. Frames that are
missing say little on a busy machine; what each frame costs the page's thread, in its own time, says
whether 50 of them fit into a second."""

from __future__ import annotations

import argparse
import os
import tempfile
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import interlingua as il
from interlingua.model.blocks import ThinkingBlock, ToolUseBlock
from interlingua.model.ids import Ulids, new_tool_id
from interlingua.model.message import Message
from tests.gateway.page.conftest import Place, launch, standing
from tests.gateway.page.planted import CLAUDE, answer

SPEED = 3000
"""Pixels a second."""
PROSE = """## Step {n}

The sum *ends* one too early, so `day_of_year` is **off by one** in March:

```python
def day_of_year(month, day):
    return sum(LENGTHS[: month - 1]) + day  # {n}
```

| month | days |
| --- | --- |
| {n} | 31 |

1. look at the file
2. mend it
"""
FRAMES = """async ([pixels, most]) => {
    const main = document.getElementById("main");
    const times = [];
    let nodes = 0;
    main.scrollTop = main.scrollHeight;
    await new Promise((go) => setTimeout(go, 500));
    const began = performance.now();
    let last = began;
    let still = 0;
    await new Promise((done) => {
        const step = (now) => {
            const before = main.scrollTop;
            main.scrollTop -= (pixels * Math.min(now - last, 100)) / 1000;
            const many = times.length % 30 ? 0 : document.querySelectorAll("*").length;
            nodes = Math.max(nodes, many);
            still = main.scrollTop === before ? still + 1 : 0;
            times.push(now - last);
            last = now;
            if (now - began > most || (still > 120 && main.scrollTop <= 0)) done();
            else requestAnimationFrame(step);
        };
        requestAnimationFrame(step);
    });
    return { times: times.slice(1), nodes };
}"""


class Course(NamedTuple):
    """How it went."""

    frames_a_second: float
    slowest_of_twenty: float
    """Milliseconds that 95 of 100 frames took at most."""
    nodes: int
    frame_cost: float
    """Milliseconds of its own time that the page's thread took for a frame, on average."""


def conversation(count: int) -> list[Message]:
    """Questions, answers in Markdown, thinking, calls and results."""
    ids, made = Ulids(), []
    for n in range(count // 4):
        id = new_tool_id(ids)
        call = ToolUseBlock(id, "read_file", {"path": f"src/dates_{n}.py", "lines": [1, n]})
        thought = ThinkingBlock(f"I look at file {n} first.", "c2ln")
        made += [
            Message.user(f"Dates in month {n} are off by one. Why?"),
            answer("I look.", CLAUDE, thought, call, input_tokens=900 + n),
            Message.tool_result(id, "\n".join(f"{line}: x = {line}" for line in range(20))),
            answer(PROSE.format(n=n), CLAUDE, input_tokens=1200 + n, output_tokens=200),
        ]
    return made


def stored(place: Place, count: int) -> str:
    with il.open_store(str(place.home / "gateway.db")) as store:
        row = store.create_session(str(place.home), name="A long one", active_model=CLAUDE)
        messages = conversation(count)
        for start in range(0, len(messages), 500):
            store.append(row.id, messages[start : start + 500])
        return row.id


def scrolled(browser: Any, place: Place, id: str, seconds: float) -> Course:
    context = browser.new_context(base_url=place.base, viewport={"width": 1280, "height": 800})
    page = context.new_page()
    page.goto(f"/sessions/{id}")
    page.get_by_text("Caching saved").or_(page.locator("article")).first.wait_for()
    thread = context.new_cdp_session(page)
    thread.send("Performance.enable", {"timeDomain": "threadTicks"})
    before = _busy(thread)
    found = page.evaluate(FRAMES, [SPEED, seconds * 1000])
    took = _busy(thread) - before
    context.close()
    times = sorted(found["times"])
    whole = sum(times) / 1000
    slow = times[int(len(times) * 0.95)]
    return Course(len(times) / whole, slow, found["nodes"], 1000 * took / len(times))


def _busy(thread: Any) -> float:
    """Seconds of work that the page's thread has done."""
    found = thread.send("Performance.getMetrics")["metrics"]
    return float(next(each["value"] for each in found if each["name"] == "TaskDuration"))


def main() -> None:
    from playwright.sync_api import sync_playwright

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--messages", type=int, default=10_000)
    parser.add_argument("--seconds", type=float, default=30)
    options = parser.parse_args()
    with (
        tempfile.TemporaryDirectory() as home,
        standing(Path(home)) as (place, _),
        sync_playwright() as playwright,
        closing(launch(playwright)) as browser,
    ):
        id = stored(place, options.messages)
        load, cores = os.getloadavg()[0], os.cpu_count()
        found = scrolled(browser, place, id, options.seconds)
    print(f"{options.messages:,} messages at {SPEED} pixels a second:", end=" ")
    print(f"{found.frames_a_second:.0f} frames a second, 95 % within", end=" ")
    print(
        f"{found.slowest_of_twenty:.0f} ms; {found.frame_cost:.1f} ms of its thread a frame,",
        end=" ",
    )
    print(f"at most {found.nodes:,} elements;", end=" ")
    print(f"load {load:.1f} on {cores} cores")


if __name__ == "__main__":
    main()
