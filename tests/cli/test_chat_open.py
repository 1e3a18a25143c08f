"""A session whose turn another program has under way: a chat waits for it, and says so."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

import interlingua as il
from interlingua.agents.chat.setup import Setup
from interlingua.cli.chat import ChatOptions, opened_talk, own_setup
from interlingua.model.metadata import MessageStatus
from interlingua.routing.decision import UnknownAliasError
from interlingua.sessions.session import Call

PIECE = (
    b'data: {"id":"x","object":"chat.completion.chunk","created":1,"model":"m","choices":'
    b'[{"index":0,"delta":{"role":"assistant","content":"Once"},"finish_reason":%s}]}\n\n'
)


def test_a_chat_waits_for_the_turn_of_another_program_and_leaves_its_answer_alone(
    tmp_path: Path,
) -> None:
    address = f"sqlite:///{tmp_path}/s.db"
    items: list[str] = []

    async def chat(id: str, call: Call) -> list[il.Message]:
        async with opened_talk(ChatOptions(resume=id, address=address)) as talk:
            assert [m.metadata.status for m in await talk.session.messages()][-1] == "partial"
            waiting = asyncio.create_task(talk.wait(items.append))
            while not items:
                await asyncio.sleep(0)
            assert not waiting.done()
            call.feed(PIECE % b'"stop"' + b"data: [DONE]\n\n")
            call.close()
            await waiting
            await talk.wait(items.append)
            return await talk.session.messages()

    with il.open_store(address) as store:
        session = il.Session.create(store, model="local")
        call = session.begin("a story").call(stream=True)
        call.feed(PIECE % b"null")
        messages = asyncio.run(chat(session.id, call))
    assert messages[-1].metadata.status is MessageStatus.COMPLETE
    assert messages[-1].text == "OnceOnce"
    assert [text[:38] for text in items] == ["Another program is running a turn of t"]


def test_names_mean_what_the_settings_of_the_gateway_say(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("INTERLINGUA_HOME", str(tmp_path))
    monkeypatch.setenv("A_KEY", "a")
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    assert own_setup().router.config().names.require("gpt-4o") == "openai:gpt-4o"
    (tmp_path / "gateway.toml").write_text(
        'default_model = "smart"\n[providers.openai]\nkeys = ["env:A_KEY"]\n'
        '[routes.smart]\nmodels = [{model = "openai:gpt-5", weight = 2}, {model = "gpt-5-mini"}]\n'
        '[routes."gpt-*"]\nmodel = "azure:*"\n[routes.gpt-4o]\nmodel = "openai:gpt-5-nano"\n'
    )
    setup = own_setup()
    names = setup.router.config().names
    assert names.require("smart") == setup.default_model(str(tmp_path)) == "openai:gpt-5"
    assert names.require("gpt-4o") == "openai:gpt-5-nano"
    assert names.require("gpt-5.1") == "azure:gpt-5.1"
    assert names.require("sonnet").startswith("anthropic:")
    with pytest.raises(UnknownAliasError, match=r"did you mean smart\?"):
        names.require("smrt")
    assert setup.problem("openai:gpt-5") is None
    (tmp_path / "gateway.toml").write_text('[routes.a]\nmodel = "local"\n')
    assert own_setup().first_model() == Setup().first_model(), "none is named"
