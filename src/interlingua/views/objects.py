"""Message objects of other libraries, to and from the JSON of their views.

A library is imported only when its objects are converted; a caller that passes such objects has
imported it already.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

from interlingua.model import codec
from interlingua.model.interop import dumped
from interlingua.model.losses import Report
from interlingua.model.message import Message

if TYPE_CHECKING:
    from interlingua.coerce import Conversation


class Objects(list[Any]):
    """Message objects of a library, with a `report` of their losses."""

    def __init__(self, items: Iterable[Any], report: Report) -> None:
        super().__init__(items)
        self.report = report


class Library(NamedTuple):
    """`module` is the prefix of its module names; `dump` turns a list of its objects into JSON, and
    `load` the reverse."""

    view: str
    module: str
    dump: Callable[[list[Any]], Any]
    load: Callable[[Any], list[Any]]


def plain_of(data: Any) -> Any:
    """JSON of objects of a library or SDK; anything else unchanged."""
    library = _library_of(data)
    if library is not None:
        return library.dump(_listed(data))
    return list(data) if isinstance(data, Objects) else dumped(data)


def view_of(data: Any) -> str | None:
    """The view for the library of these objects; None if they belong to none."""
    library = _library_of(data)
    return None if library is None else library.view


def _listed(data: Any) -> list[Any]:
    return list(data) if isinstance(data, (list, tuple)) else [data]


def _library_of(data: Any) -> Library | None:
    first = data[0] if isinstance(data, (list, tuple)) and data else data
    roots = {cls.__module__.partition(".")[0] for cls in type(first).__mro__}
    return next((each for each in LIBRARIES.values() if each.module in roots), None)


def _of(module: str, name: str) -> Any:
    return getattr(import_module(module), name)


def _to_objects(view: str, messages: Conversation, issuer: str | None) -> Objects:
    from interlingua.views import VIEWS

    wire, report = VIEWS[view].write(messages, issuer)
    return Objects(LIBRARIES[view].load(wire), report)


def _from_objects(view: str, data: Any) -> tuple[Message, ...]:
    from interlingua.views import VIEWS

    return VIEWS[view].read(plain_of(data))


def to_pydantic_ai(messages: Conversation, issuer: str | None = None) -> Objects:
    """A list of `ModelRequest` and `ModelResponse`, as `message_history` takes it."""
    return _to_objects("pydantic-ai", messages, issuer)


def from_pydantic_ai(data: Any) -> tuple[Message, ...]:
    """The output of `result.all_messages()`, or the JSON of it."""
    return _from_objects("pydantic-ai", data)


def to_langchain(messages: Conversation, issuer: str | None = None) -> Objects:
    """A list of `BaseMessage`, as `model.invoke` takes it."""
    return _to_objects("langchain", messages, issuer)


def from_langchain(data: Any) -> tuple[Message, ...]:
    """Messages of LangChain, or the JSON of them."""
    return _from_objects("langchain", data)


def to_llama_index(messages: Conversation, issuer: str | None = None) -> Objects:
    """A list of `ChatMessage`, as `llm.chat` takes it."""
    return _to_objects("llama-index", messages, issuer)


def from_llama_index(data: Any) -> tuple[Message, ...]:
    """Messages of LlamaIndex, or the JSON of them."""
    return _from_objects("llama-index", data)


def to_llm(messages: Conversation, issuer: str | None = None) -> Objects:
    """A list of `llm.Message`, as `model.prompt(messages=...)` takes it."""
    return _to_objects("llm-messages", messages, issuer)


def from_llm(data: Any) -> tuple[Message, ...]:
    """Messages of `llm`, or a response with its prompt, or the JSON of them."""
    return _from_objects("llm-messages", data)


def to_openai_agents(messages: Conversation, issuer: str | None = None) -> Objects:
    """A list of input items, as `Runner.run` takes it."""
    return _to_objects("openai-agents", messages, issuer)


def from_openai_agents(data: Any) -> tuple[Message, ...]:
    """The output of `result.to_input_list()`, or `result.new_items`."""
    return _from_objects("openai-agents", data)


def _pydantic_ai() -> Any:
    return _of("pydantic_ai.messages", "ModelMessagesTypeAdapter")


def _load_llama_index(wire: Any) -> list[Any]:
    message = _of("llama_index.core.base.llms.types", "ChatMessage")
    return [message.model_validate(each) for each in wire]


def _dump_llm(objects: list[Any]) -> Any:
    plain = [each.to_dict() for each in objects]
    return plain[0] if len(plain) == 1 and "prompt" in plain[0] else plain


def _load_llm(wire: Any) -> list[Any]:
    message = _of("llm.parts", "Message")
    return [message.from_dict(each) for each in wire]


def _agents_item(item: Any) -> Any:
    """An item in the form for a model; an item object is converted to it."""
    if isinstance(item, dict):
        return item
    if hasattr(item, "to_input_item"):
        return _agents_item(item.to_input_item())
    return item.model_dump(mode="json", exclude_unset=True)


LIBRARIES: dict[str, Library] = {
    each.view: each
    for each in (
        Library(
            "pydantic-ai",
            "pydantic_ai",
            lambda objects: _pydantic_ai().dump_python(objects, mode="json"),
            lambda wire: _pydantic_ai().validate_json(codec.dumps(wire)),
        ),
        Library(
            "langchain",
            "langchain_core",
            lambda objects: _of("langchain_core.messages", "messages_to_dict")(objects),
            lambda wire: _of("langchain_core.messages", "messages_from_dict")(wire),
        ),
        Library(
            "llama-index",
            "llama_index",
            lambda objects: [each.model_dump(mode="json") for each in objects],
            _load_llama_index,
        ),
        Library("llm-messages", "llm", _dump_llm, _load_llm),
        Library("openai-agents", "agents", lambda objects: list(map(_agents_item, objects)), list),
    )
}
