"""Sessions in a real browser: found, read, branched, seen in other forms, exported."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

import interlingua as il
from interlingua import transcripts
from interlingua.model.blocks import (
    AudioBlock,
    Citation,
    CompactionBlock,
    DocumentBlock,
    ImageBlock,
    RefusalBlock,
    Source,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    UnknownBlock,
)
from interlingua.model.ids import Ulids, new_tool_id
from interlingua.model.message import Message, Role
from interlingua.model.metadata import MessageMetadata, Usage
from interlingua.store.rows import SessionRow
from interlingua.transcripts import Transcript
from tests.gateway.page.conftest import Place
from tests.gateway.page.planted import CLAUDE, GPT, answer, plant, plant_losses
from tests.gateway.page.scripts import letters, payloads, safe_links, unharmed

pytest.importorskip("playwright", reason="playwright is not installed: `make page` installs it")
from playwright.sync_api import expect

from tests.gateway.page.test_browser import start

KEY = "sk-proj-" + "a1B2c3D4e5" * 4
PNG = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADU"
    "lEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


def articles(page: Any, role: str | None = None) -> Any:
    return page.get_by_role("log", name="Conversation").get_by_role("article", name=role)


def show(page: Any, row: SessionRow, message: str | None = None) -> None:
    page.goto(f"/#/sessions/{row.id}" + (f"/{message}" if message else ""))
    page.reload()


def test_sessions_are_found_by_words_and_filters(page: Any, place: Place) -> None:
    plant(place, [Message.user("about a quokka")], name="Alpha", active_model=CLAUDE, folder="/f/a")
    plant(place, [Message.user("nothing")], name="Beta", active_model=GPT, folder="/f/b")
    made = {"owner": None}
    plant(place, [], name="Gamma", active_model=GPT, folder="/g", routing_policy=made)
    page.get_by_role("navigation").get_by_role("link", name="Sessions").click()
    sessions = page.get_by_role("list", name="Sessions").get_by_role("link")
    expect(sessions).to_have_count(3)
    page.get_by_label("Model").fill("gpt")
    expect(sessions).to_have_count(2)
    page.get_by_label("Source").select_option("gateway")
    expect(sessions).to_have_count(1)
    expect(sessions).to_contain_text("Gamma")
    page.get_by_label("Source").select_option("task")
    expect(page.get_by_text("No session matches these filters")).to_be_visible()
    page.get_by_label("Source").select_option("")
    page.get_by_label("Model").fill("")
    page.get_by_label("Folder").fill("/f")
    page.get_by_label("Changed").select_option("1")
    expect(sessions).to_have_count(2)
    page.get_by_label("Folder").fill("")
    page.get_by_label("Search").fill("quokka")
    found = page.get_by_role("region", name="Found in messages").get_by_role("link")
    expect(found).to_contain_text("about a quokka")
    found.click()
    expect(articles(page, "user")).to_be_focused()


def test_sessions_come_page_by_page(page: Any, place: Place) -> None:
    for number in range(120):
        plant(place, [], name=f"many {number}", folder="/many")
    plant(place, [], name="not one of them", folder="/else")
    page.get_by_role("navigation").get_by_role("link", name="Sessions").click()
    sessions = page.get_by_role("list", name="Sessions").get_by_role("link")
    expect(sessions.filter(has_text="not one of them")).to_have_count(1)
    page.get_by_label("Folder").fill("/many")
    expect(sessions.filter(has_text="not one of them")).to_have_count(0)
    expect(sessions).to_have_count(100)
    page.get_by_role("button", name="Older sessions").click()
    expect(sessions).to_have_count(120)
    expect(page.get_by_role("button", name="Older sessions")).to_be_hidden()


def change_of_model(place: Place) -> tuple[SessionRow, list[Message]]:
    picture = ImageBlock(Source("base64", PNG), media_type="image/png", name="dot")
    far = ImageBlock(Source("url", "http://198.51.100.7/far.png"), media_type="image/png")
    row, added = plant(
        place,
        [
            Message.user([TextBlock("look"), picture, far]),
            answer("one", CLAUDE, ThinkingBlock("hm", "c2ln"), cached_input_tokens=1_000_000),
            Message.user("again"),
            answer("two", GPT),
        ],
        name="changed",
        active_model=GPT,
    )
    lost = {"kind": "dropped", "path": "$.messages[1].content[0]", "reason": "not its own thinking"}
    plant_losses(place, row, added[3], [lost])
    return row, added


def test_a_change_of_model_is_marked_with_what_it_lost(page: Any, place: Place) -> None:
    row, added = change_of_model(place)
    show(page, row)
    expect(page.get_by_text(f"From here on {GPT}, before {CLAUDE}.")).to_be_visible()
    lost = page.get_by_text("not its own thinking")
    expect(lost).to_be_hidden()
    page.get_by_text("1 loss in openai-responses").click()
    expect(lost).to_be_visible()
    expect(page.get_by_text("1 change of model")).to_be_visible()
    page.get_by_role("list", name="Changes of model").get_by_role("link").click()
    expect(articles(page, "assistant").last).to_be_focused()
    assert page.url.endswith(added[3].id or "?")
    assert page.title() == "changed · interlingua"
    page.get_by_role("link", name="All sessions").click()
    expect(page.get_by_role("heading", name="Sessions")).to_be_visible()
    assert page.title() == "Sessions · interlingua"


def test_images_are_shown_and_addresses_are_not_fetched(page: Any, place: Place) -> None:
    row, _ = change_of_model(place)
    show(page, row)
    images = articles(page, "user").first.get_by_role("img")
    expect(images).to_have_count(1)
    assert images.evaluate("image => image.decode().then(() => image.naturalWidth)") == 1
    expect(articles(page, "user").first).to_contain_text("http://198.51.100.7/far.png")
    thinking = articles(page, "assistant").first.locator("p.text").get_by_text("hm", exact=True)
    expect(thinking).to_be_hidden()


def test_tokens_cost_and_what_caching_saved_are_shown(page: Any, place: Place) -> None:
    row, _ = change_of_model(place)
    show(page, row)
    rows = page.get_by_role("region", name="Tokens and cost").get_by_role("row")
    expect(rows).to_have_count(3)
    expect(rows.first).to_contain_text("1,000,000 read from cache")
    expect(rows.last).to_contain_text("All")
    expect(rows.last).to_contain_text("$0.02")
    picture = page.get_by_role("img", name="were read from the cache")
    expect(picture).to_be_visible()
    assert "Caching saved $2.70" in picture.get_attribute("aria-label")
    assert picture.locator("rect").count() == 3
    expect(articles(page, "assistant").first).to_contain_text("1,000,010 in, 5 out")
    page.emulate_media(media="print")
    expect(picture).to_be_visible()
    expect(page.get_by_label("Resume in")).to_be_hidden()
    expect(page.get_by_label("Branch")).to_be_hidden()


def test_messages_are_shown_where_they_cannot_be_summed_up(page: Any, place: Place) -> None:
    row, _ = change_of_model(place)
    page.route("**/summary", lambda route: route.fulfill(status=500, body="{}"))
    show(page, row)
    expect(page.get_by_text("No totals")).to_be_visible()
    expect(articles(page)).to_have_count(4)
    expect(page.get_by_text(f"From here on {GPT}, before {CLAUDE}.")).to_be_visible()


def test_words_are_found_in_a_session_wherever_it_is_from(page: Any, place: Place) -> None:
    row, added = plant(place, [Message.user("a fig"), answer("a quince")], name="fruit")
    folder = place.home / ".claude" / "projects" / "-home-ada-fruit"
    folder.mkdir(parents=True)
    id = "1c6a1f3e-5b7d-4c8e-9a51-3f1d2b4c6e81"
    made = Transcript.of("claude-code", added, id=id, folder="/home/ada/fruit")
    transcripts.write(made, folder / f"{id}.jsonl", "claude-code")
    for address in (row.id, f"claude-code:{id}"):
        page.goto(f"/sessions/{address}")
        page.get_by_label("Search in this session").fill("quince")
        page.get_by_role("list", name="Messages found").get_by_role("link").click()
        expect(articles(page, "assistant")).to_be_focused()


def test_branches_are_shown_where_they_begin_and_can_be_chosen(page: Any, place: Place) -> None:
    row, added = plant(place, [Message.user(f"m{n}") for n in range(4)], name="trunk")
    with il.open_store(str(place.home / "gateway.db")) as store:
        fork = store.fork(row.id, added[1].id, name="twig")
        store.append(fork.id, [Message.user("only here")])
    show(page, row)
    note = page.get_by_text("A branch begins here")
    expect(note).to_be_visible()
    assert note.evaluate("note => note.previousElementSibling.dataset.message") == added[1].id
    note.get_by_role("link", name="twig").click()
    expect(articles(page, "user").last).to_contain_text("only here")
    expect(page.get_by_text("from here on this branch alone")).to_be_visible()
    page.get_by_role("combobox", name="Branch").select_option(row.id)
    expect(articles(page, "user").last).to_contain_text("m3")


def test_ten_thousand_messages_are_never_all_there(page: Any, place: Place) -> None:
    items = [Message.user(f"message {n} " + "word " * 30) for n in range(10_000)]
    row, added = plant(place, items, name="long")
    show(page, row)
    expect(articles(page).last).to_contain_text("message 9999 ")
    expect(articles(page)).to_have_count(100)  # so the first text takes as long as in a short one
    scroll = "() => { const main = document.getElementById('main'); main.scrollTop = 0; }"
    for _ in range(6):
        first = articles(page).first.get_attribute("data-message")
        page.evaluate("document.getElementById('main').scrollTop += 300")
        page.evaluate(scroll)
        page.wait_for_function(
            "id => document.querySelector('[role=log] article').dataset.message !== id", arg=first
        )
    assert articles(page).count() <= 400
    expect(page.get_by_role("button", name="Later messages")).to_be_visible()
    wanted = added[1234]
    page.goto(f"/#/sessions/{row.id}/{wanted.id}")
    here = page.locator(f"[data-message='{wanted.id}']")
    expect(here).to_be_focused()
    expect(here).to_be_in_viewport()
    expect(here).to_contain_text("message 1234 ")
    before = here.bounding_box()["y"]
    page.get_by_role("button", name="Earlier messages").evaluate("button => button.click()")
    expect(articles(page)).to_have_count(200)
    assert abs(here.bounding_box()["y"] - before) < 3, "what is read stays where it is"


def test_a_transcript_is_seen_in_another_form(page: Any, place: Place) -> None:
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    row, _ = change_of_model(place)
    show(page, row)
    page.get_by_role("combobox", name="View as").select_option("openai-chat")
    expect(page.get_by_role("region", name="Converted")).to_contain_text('"image_url"')
    canonical = page.get_by_role("region", name="Canonical form")
    expect(canonical).to_contain_text('"thinking"')
    losses = page.get_by_role("list", name="Losses").get_by_role("listitem")
    expect(losses.filter(has_text="thinking")).to_have_count(1)
    losses.filter(has_text="thinking").get_by_role("button").click()
    expect(canonical.locator("mark:focus")).to_contain_text("←")
    page.get_by_text("Differences when it is read back").click()
    expect(page.get_by_role("region", name="Differences").locator("del").first).to_be_visible()
    page.get_by_role("button", name="Copy as Python").click()
    expect(page.get_by_text("Copied.")).to_be_visible()
    collected: dict[str, Any] = {}
    exec(compile(page.evaluate("navigator.clipboard.readText()"), "copied", "exec"), collected)
    assert collected["written"].wire["messages"][0]["role"] == "user"
    page.get_by_role("button", name="Copy as curl").click()
    page.wait_for_function(
        "async () => (await navigator.clipboard.readText()).startsWith('curl http')"
    )
    command = page.evaluate("navigator.clipboard.readText()")
    body = json.loads(command.partition(" -d '")[2][:-1].replace("'\\''", "'"))
    assert body["model"] == GPT
    page.get_by_role("combobox", name="View as").select_option("gemini")
    expect(page.get_by_role("region", name="Converted")).to_contain_text('"contents"')
    expect(page.get_by_role("button", name="Copy as curl")).to_be_enabled()
    page.get_by_role("combobox", name="View as").select_option("bedrock")
    expect(page.get_by_role("button", name="Copy as curl")).to_be_disabled()


def secretive(place: Place) -> SessionRow:
    id = new_tool_id(Ulids())
    call = ToolUseBlock(id, "run", {"command": f"curl -H 'x: {KEY}' 10.20.30.40"})
    row, _ = plant(
        place,
        [
            Message.user(f"my key is {KEY}, ticket ACME-4711, mail box17@mail.test.org"),
            answer("<img src=x onerror=window.ran=1>", CLAUDE, call),
            Message.tool_result(id, "</script><script>window.ran=1</script>"),
            answer("done", GPT),
        ],
        name="secrets </title><script>window.ran=1</script>",
        folder="/home/u17/work",
    )
    return row


def export(page: Any, format: str) -> tuple[str, Path]:
    page.get_by_label("Format").select_option(format)
    with page.expect_download() as wanted:
        page.get_by_role("button", name="Download").click()
    return wanted.value.suggested_filename, Path(wanted.value.path())


def test_what_is_taken_out_is_shown_before_it_is_exported(page: Any, place: Place) -> None:
    show(page, secretive(place))
    page.get_by_text("Export", exact=True).click()
    page.get_by_label("Own patterns").fill("ticket = ACME-\\d+")
    page.get_by_role("button", name="Show what is taken out").click()
    taken = page.get_by_role("list", name="Redacted")
    for kind in ("openai-key", "email", "ip-address", "home-folder", "ticket"):
        expect(taken.get_by_label(f"[redacted:{kind}:1]")).to_be_checked()
    expect(taken).to_contain_text("my key is [redacted:openai-key:1], ticket")
    assert KEY not in page.get_by_role("list", name="Redacted").inner_text()
    taken.get_by_label("[redacted:email:1]").uncheck()
    name, path = export(page, "markdown")
    text = path.read_text()
    assert name.endswith(".md")
    assert "box17@mail.test.org" in text
    for gone in (KEY, "ACME-4711", "10.20.30.40", "/home/u17/"):
        assert gone not in text
    page.get_by_label("Redact:").uncheck()
    _, path = export(page, "jsonl")
    head, *lines = path.read_text().splitlines()
    assert json.loads(head)["session"]["workspace_path"] == "/home/u17/work"
    assert len(lines) == 4
    assert KEY in lines[0]
    page.get_by_label("Redact:").check()
    page.get_by_label("Own patterns").fill("(a")
    page.get_by_role("button", name="Show what is taken out").click()
    expect(page.get_by_role("alert").last).to_contain_text("missing )")


def test_an_exported_file_shows_the_page_without_a_server(
    page: Any, browser: Any, place: Place, tmp_path: Path
) -> None:
    show(page, secretive(place))
    page.get_by_text("Export", exact=True).click()
    name, path = export(page, "html")
    file = tmp_path / name
    file.write_bytes(path.read_bytes())
    context = browser.new_context(viewport={"width": 1100, "height": 800}, offline=True)
    other = context.new_page()
    odd: list[str] = []
    other.on("pageerror", lambda error: odd.append(str(error)))
    other.on("console", lambda said: odd.append(said.text) if said.type == "error" else None)
    other.on(
        "request", lambda asked: None if asked.url.startswith("file:") else odd.append(asked.url)
    )
    other.goto(file.as_uri())
    expect(articles(other, "assistant")).to_have_count(2)
    expect(articles(other, "assistant").first).to_contain_text("<img src=x onerror=window.ran=1>")
    expect(articles(other, "user")).to_contain_text("my key is [redacted:openai-key:1]")
    expect(other.get_by_role("region", name="Tokens and cost")).to_be_visible()
    expect(other.get_by_text(f"From here on {GPT}, before {CLAUDE}.")).to_be_visible()
    assert other.evaluate("window.ran") is None
    assert "secrets" in other.title()
    other.locator("article").last.get_by_label("Link to this message").click()
    expect(articles(other, "assistant").last).to_be_focused()
    found = other.get_by_role("list", name="Messages found")
    other.get_by_label("Search in this session").fill("my KEY is")
    found.get_by_role("link").click()
    expect(articles(other, "user")).to_be_focused()
    other.get_by_label("Search in this session").fill("no such words")
    expect(other.get_by_text("No message has all of these words.")).to_be_visible()
    assert (
        other.evaluate("() => { try { document.body.innerHTML = '<b>x</b>' } catch { return 1 } }")
        == 1
    )
    assert len(odd) == 1, "of the last line alone"
    assert "TrustedHTML" in odd[0] or "Trusted" in odd[0]
    assert KEY not in file.read_text()
    context.close()


def everywhere(text: str) -> Message:
    """A message that says this in each field that is shown."""
    id = new_tool_id(Ulids())
    blocks = (
        TextBlock(text, citations=(Citation(cited_text=text, url=text, title=text),)),
        ThinkingBlock(text),
        ToolUseBlock(id, text, {text: text}),
        ToolResultBlock(id, (TextBlock(text), DocumentBlock(Source("text", text), title=text))),
        ImageBlock(Source("base64", text), media_type="image/png", name=text),
        ImageBlock(Source("url", text), media_type=text),
        AudioBlock(Source("base64", ""), name=text, transcript=text),
        RefusalBlock(text),
        CompactionBlock(text=text),
        UnknownBlock({"gemini": {text: text}}),
    )
    about = MessageMetadata(model=text, error_message=text, usage=Usage(output_tokens=1))
    return Message(Role.ASSISTANT, blocks, name=text, metadata=about)


def _shows_all(page: Any, said: list[str]) -> None:
    """Each text stands in its article, whatever Markdown makes of it."""
    shown = page.locator("article").evaluate_all(
        "all => all.map((each) => each.querySelector(':scope > .body > .prose')?.textContent ?? '')"
    )
    assert letters(said) == [
        one and two for one, two in zip(letters(said), letters(shown), strict=False)
    ]
    assert safe_links(page)


PLACES = 20
"""Of `everywhere`: 6,000 in all."""


def test_no_script_runs_in_a_transcript_or_its_file(
    page: Any, browser: Any, place: Place, tmp_path: Path
) -> None:
    content = payloads()
    with il.open_store(str(place.home / "gateway.db")) as store:
        row = store.create_session(content[3], name=content[2], active_model=content[4])
        store.append(row.id, [everywhere(text) for text in content], check=False)
    assert json.dumps(msgspec.to_builtins(everywhere("%%"))).count("%%") >= PLACES
    show(page, row)
    expect(articles(page)).to_have_count(100)
    expect(page.get_by_role("heading", level=1)).to_have_text(content[2])
    for count in (200, 300):
        page.get_by_role("button", name="Earlier messages").evaluate("button => button.click()")
        expect(articles(page)).to_have_count(count)
    _shows_all(page, content)
    unharmed(page, images=len(content))
    page.get_by_text("Export", exact=True).click()
    page.get_by_label("Redact:").uncheck()
    _, path = export(page, "html")
    file = tmp_path / "x.html"
    file.write_bytes(path.read_bytes())
    context = browser.new_context(offline=True)
    other = context.new_page()
    other.goto(file.as_uri())
    for count in (200, 300):
        other.get_by_role("button", name="Earlier messages").evaluate("button => button.click()")
        expect(articles(other)).to_have_count(count)
    _shows_all(other, content)
    unharmed(other, images=len(content))
    context.close()


def test_no_border_is_clipped_on_a_telephone(browser: Any, place: Place) -> None:
    context = browser.new_context(base_url=place.base, viewport={"width": 360, "height": 700})
    page = context.new_page()
    page.goto("/")
    start(page, place.home / "narrow", "hello")
    expect(articles(page, "assistant")).to_contain_text("Answer")
    inside = """() => {
        const around = document.querySelector('.conversation');
        const right = around.getBoundingClientRect().left + around.clientLeft + around.clientWidth;
        return [...around.querySelectorAll('article')]
            .every((each) => each.getBoundingClientRect().right <= right);
    }"""
    assert page.evaluate(inside)
    context.close()


@pytest.mark.parametrize("view", ["sessions", "session", "convert"])
def test_nothing_is_clipped_on_a_telephone(browser: Any, place: Place, view: str) -> None:
    row, _ = change_of_model(place)
    context = browser.new_context(base_url=place.base, viewport={"width": 360, "height": 700})
    page = context.new_page()
    page.goto(f"/#/sessions/{row.id}" if view == "session" else f"/#/{view}")
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    if view == "session":
        page.get_by_text("About this session", exact=True).click()
        expect(page.get_by_role("img", name="were read from the cache")).to_be_visible()
        page.get_by_text("Export", exact=True).click()
        page.get_by_role("combobox", name="View as").select_option("anthropic")
        expect(page.get_by_role("region", name="Converted")).not_to_be_empty()
    beyond = """() => [...document.querySelectorAll('main *')]
        .filter((each) => !each.closest('.wide, pre, table') && each.getClientRects().length)
        .filter((each) => each.getBoundingClientRect().right > 360.5)
        .map((each) => `${each.tagName} ${each.className} ${each.getBoundingClientRect().right}`)"""
    assert page.evaluate(beyond) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    assert page.evaluate("document.getElementById('main').scrollWidth") <= 360
    context.close()
