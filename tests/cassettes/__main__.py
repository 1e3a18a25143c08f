"""`python -m tests.cassettes`: record again, write golden files again, look for what is wrong.

record [--dialect D]    what our own writers generate: the same bytes every time
record --source local   from the local model: other ids and times every time
record --source NAME --base-url URL --key-env VARIABLE --dialect D [--model M]
                        from a provider, or any other server
golden                  golden files from the cassettes; review the difference
check                   secrets, and golden files that are not current
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

import interlingua as il
from tests.cassettes import audit, cassette, golden, live
from tests.cassettes.cassette import Cassette
from tests.cassettes.record import record_generated


def main(arguments: list[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    if options.command == "record":
        try:
            return _record(options)
        except il.InterlinguaError as error:
            print(error, file=sys.stderr)
            return 1
    if options.command == "golden":
        for tape in cassette.committed():
            print(golden.save(tape).relative_to(golden.FOLDER))
        return 0
    problems = audit.problems()
    print("\n".join(problems) or f"{len(cassette.committed())} cassettes, nothing to say")
    return 1 if problems else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tests.cassettes",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(dest="command", required=True)
    recording = commands.add_parser("record")
    recording.add_argument("--source", default="generated")
    recording.add_argument("--dialect", choices=il.dialects(), action="append")
    recording.add_argument("--base-url")
    recording.add_argument("--key-env", help="the environment variable that has the key")
    recording.add_argument("--model", help="asked for instead of the cases' own")
    recording.add_argument("--folder", type=Path, default=cassette.FOLDER)
    commands.add_parser("golden")
    commands.add_parser("check")
    return parser


def _record(given: argparse.Namespace) -> int:
    wanted: list[str] = given.dialect or il.dialects()
    tapes: list[Cassette] = []
    if given.base_url:
        if given.source in ("generated", "local") or not given.dialect:
            print("--base-url needs a --source of its own and a --dialect", file=sys.stderr)
            return 2
        key = os.environ.get(given.key_env or "", "")
        if given.key_env and not key:
            print(f"{given.key_env} is not set", file=sys.stderr)
            return 2
        for dialect in wanted:
            tapes += live.record_from(given.base_url, given.source, dialect, given.model, key)
    elif given.source == "local":
        tapes += live.record_local(wanted)
    elif given.source == "generated":
        tapes += [tape for dialect in wanted for tape in record_generated(dialect)]
    else:
        print(f"--source {given.source} needs --base-url", file=sys.stderr)
        return 2
    for tape in tapes:
        print(cassette.save(tape, given.folder).relative_to(given.folder))
    print("now: python -m tests.cassettes golden, and review the difference")
    return 0


if __name__ == "__main__":
    sys.exit(main())
