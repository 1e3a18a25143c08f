"""What a type checker says of programs that use the package."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

RIGHT = '''
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel
from typing_extensions import assert_type

import interlingua as il


class City(BaseModel):
    name: str


@dataclass
class Town:
    name: str


@il.tool(side_effects="write")
def save(text: str) -> int:
    """Saves a text."""
    return len(text)


@il.tool
def add(a: int, b: int) -> int:
    """Adds."""
    return a + b


def main(client: il.Client, store: il.Store) -> None:
    answer = client.generate("local", [{"role": "user", "content": "hi"}], temperature=0)
    assert_type(answer, il.Answer)
    client.generate("local", "hi", [add, save], {"max_tokens": 5}, reasoning="high", stop="x")
    client.generate("local", [il.Message.user("hi"), {"role": "user", "content": "ho"}])
    assert_type(client.parse("local", "hi", City).value, City)
    assert_type(client.parse("local", "hi", Town, temperature=0).value, Town)
    assert_type(client.parse("local", "hi", list[int]).value, list[int])
    assert_type(client.parse("local", "hi", {"type": "object"}).value, Any)
    assert_type(save("x"), int)
    assert_type(client.run("local", "hi", [add]).text, str)
    session = il.Session.create(store, model="gpt-5", tools=[add], options={"temperature": 0})
    session.begin({"role": "user", "content": "hi"}, temperature=0)
    agent = il.Agent.create(store, model="gpt-5", tools=[add])
    agent.queue_message("hi")
    agent.run(client)
    assert_type(il.convert({}, "openai-chat", "anthropic"), il.Written)


async def chat(client: il.AsyncClient, session: il.AsyncSession) -> None:
    assert_type((await client.parse("local", "hi", City)).value, City)
    async for said in il.AsyncChat(session, client).say("hi", max_tokens=5):
        print(said.type)
'''

WRONG = {
    "il.convrt({}, 'a', 'b')": 'Module has no attribute "convrt"',
    "il.convert({}, 'a', 'b', kind='foo')": "incompatible type \"Literal['foo']\"",
    "il.Client().generate('local', 3)": 'incompatible type "int"',
    "il.Client().generate('local', 'hi', temprature=1)": "Unexpected keyword argument",
    "il.Client().generate('local', 'hi', temperature='hot')": 'incompatible type "str"',
    "il.Client().generate('local', 'hi', [3])": 'incompatible type "int"',
}


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> str:
    """What mypy says, with the cache of the package's own check."""
    folder = tmp_path_factory.mktemp("typed")
    right, wrong = folder / "right.py", folder / "wrong.py"
    right.write_text(RIGHT)
    wrong.write_text("import interlingua as il\n" + "\n".join(WRONG) + "\n")
    done = subprocess.run(
        [sys.executable, "-m", "mypy", str(right), str(wrong)],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    return done.stdout + done.stderr


def test_right_programs_pass(told: str) -> None:
    assert "right.py" not in told, told


@pytest.mark.parametrize("line", WRONG)
def test_wrong_lines_are_errors(told: str, line: str) -> None:
    number = list(WRONG).index(line) + 2
    found = re.findall(rf"wrong\.py:{number}: error: (.*)", told)
    assert any(WRONG[line] in each for each in found), told
