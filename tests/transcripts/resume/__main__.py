"""`python -m tests.transcripts.resume`: do the real tools go on with what we write?

Each tool is installed by npm into a folder of its own in the user's cache, and run without a
terminal, in a home folder that is thrown away. Its model is our gateway with a scripted provider
behind it; what it sends is written down on the way and compared with the session."""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from interlingua.gateway.settings import RouteSettings
from interlingua.transcripts import Transcript
from interlingua.transcripts.sessions import carry_out, plan
from tests.gateway.sdks.provider import Upstream, settings, targets
from tests.gateway.sdks.standing import standing
from tests.transcripts.resume.items import Item, items_of
from tests.transcripts.resume.judge import Verdict, judged
from tests.transcripts.resume.listening import Listener, listening
from tests.transcripts.resume.sessions import all_sessions
from tests.transcripts.resume.tools import OTHERS, PROMPT, TOOLS, Place, Tool

_BEHIND = RouteSettings("openai:gpt-5-mini", dialect="openai-chat")
_MODELS = ("claude-sonnet-4-6", "claude-haiku-4-5", "gpt-5.5", "gemini-3.1-pro-preview")
"""Names that the tools have for their models, all of them the same one of another dialect."""
_HEAD = ("texts", "calls", "results", "pictures", "thinking", "problems")


def main() -> int:
    arguments = _arguments()
    failed = 0
    with tempfile.TemporaryDirectory() as folder, _model() as listener:
        for name in arguments.tool or TOOLS:
            tool = {**TOOLS, **OTHERS}[name]
            version = arguments.version or tool.version
            try:
                program = tool.installed(version)
            except (OSError, subprocess.CalledProcessError) as problem:
                print(f"{name} {version} cannot be installed: {problem}", file=sys.stderr)
                return 2
            print(f"\n{name} {version}\n{'session':44}" + "".join(f"{head:>10}" for head in _HEAD))
            for title, session in all_sessions(Path(folder) / name):
                if arguments.session in title:
                    failed += _tried(tool, program, title, session, listener)
    print(f"\n{failed} sessions were not sent as they are" if failed else "\nall were sent whole")
    return 1 if failed else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m tests.transcripts.resume",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    known = [*TOOLS, *OTHERS]
    parser.add_argument(
        "--tool", action="append", choices=known, help=f"{', '.join(TOOLS)}, unless some are named"
    )
    parser.add_argument("--version", help="of the tool, in place of the one it was proved with")
    parser.add_argument("--session", default="", help="only sessions with this in their name")
    return parser.parse_args()


@contextmanager
def _model() -> Iterator[Listener]:
    """The gateway, and who listens before it."""
    routes = dict.fromkeys(_MODELS, _BEHIND)
    with (
        Upstream() as provider,
        standing(settings(routes=routes), targets(provider.url)) as gateway,
        listening(gateway.url) as listener,
    ):
        yield listener


def _tried(tool: Tool, program: Path, title: str, session: Transcript, listener: Listener) -> bool:
    """Prints a line of the table, and what is wrong; whether anything is."""
    verdict = _verdict(tool, program, session, listener)
    counts = (verdict.texts, verdict.calls, verdict.results, verdict.pictures)
    thinking = f"{verdict.thinking}/{verdict.thought}"
    cells = [*map(str, counts), thinking, str(len(verdict.problems) or "-")]
    print(f"{title:44}" + "".join(f"{cell:>10}" for cell in cells), flush=True)
    for problem in verdict.problems[:10]:
        print(f"    {problem}")
    return bool(verdict.problems)


def _verdict(tool: Tool, program: Path, session: Transcript, listener: Listener) -> Verdict:
    folder = Path(tempfile.mkdtemp(prefix="interlingua-resume-"))
    try:
        place = Place(folder / "home", folder / "project", listener.url)
        place.project.mkdir()
        placed = plan(
            session.replace(folder=str(place.project), origin=None), tool.name, place.home
        )
        carry_out(placed)
        listener.heard.clear()
        printed = tool.go_on(program, place, placed)
        sent = _longest(listener)
    except subprocess.TimeoutExpired as late:
        return Verdict([f"no answer: {late}"], 0, 0, 0, 0, 0, 0)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    if not sent:
        return Verdict([f"nothing was sent: {printed[-300:]!r}"], 0, 0, 0, 0, 0, 0)
    return judged(session, sent, PROMPT)


def _longest(listener: Listener) -> list[Item]:
    """What was sent with the prompt; tools ask for titles and the like beside it."""
    asked = [items_of(heard.body) for heard in listener.heard if heard.status == 200]
    asked = [items for items in asked if any(PROMPT in item.text for item in items)]
    return max(asked, key=len, default=[])


if __name__ == "__main__":
    sys.exit(main())
