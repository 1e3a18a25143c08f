"""Fields that take one of a fixed set of words, given as words."""

from __future__ import annotations

from enum import Enum
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin

import msgspec
import pytest

import interlingua as il
from interlingua.model import events
from interlingua.model.base import Value


def _is_closed(type_: Any) -> bool:
    if get_origin(type_) in (Union, UnionType):
        return all(_is_closed(arm) or arm is type(None) for arm in get_args(type_))
    return get_origin(type_) is Literal or (isinstance(type_, type) and issubclass(type_, Enum))


def _structs() -> list[type[msgspec.Struct]]:
    public = [getattr(il, name) for name in il.__all__ if name not in ("Written", "Retold")]
    found = [each for each in public if isinstance(each, type)]
    found += [each for each in vars(events).values() if isinstance(each, type)]
    return [
        each for each in dict.fromkeys(found) if issubclass(each, (Value, il.Loss, il.ModelEntry))
    ]


CLOSED = [
    (cls, field)
    for cls in _structs()
    for field in msgspec.structs.fields(cls)
    if _is_closed(field.type)
]
IDS = [f"{cls.__name__}.{field.name}" for cls, field in CLOSED]
NEEDED: dict[type, Any] = {str: "x", int: 0, dict[str, Any]: {}}


def _made(cls: type[msgspec.Struct], name: str, word: Any) -> msgspec.Struct:
    needed = [
        field for field in msgspec.structs.fields(cls) if field.required and field.name != name
    ]
    words = {il.Loss: {"kind": "dropped"}, il.CacheDiagnosis: {"outcome": "miss"}}.get(cls, {})
    values = {field.name: words.get(field.name) or NEEDED[field.type] for field in needed}
    return cls(**{**values, name: word})


def _words(type_: Any) -> list[Any]:
    if get_origin(type_) in (Union, UnionType):
        return [word for arm in get_args(type_) for word in _words(arm)]
    return list(get_args(type_) or (type_ if type_ is not type(None) else ()))


def test_every_public_struct_with_a_closed_field_is_looked_at() -> None:
    names = {cls.__name__ for cls, _ in CLOSED}
    assert names >= {"Message", "MessageMetadata", "ToolChoice", "Source", "Stop", "ToolDefinition"}
    assert len(CLOSED) >= 20


@pytest.mark.parametrize(("cls", "field"), CLOSED, ids=IDS)
def test_a_word_outside_the_set_is_refused_when_the_value_is_made(cls: Any, field: Any) -> None:
    for wrong in ("nonsense", 7):
        with pytest.raises(ValueError, match=repr(wrong)):
            _made(cls, field.name, wrong)


@pytest.mark.parametrize(("cls", "field"), CLOSED, ids=IDS)
def test_a_word_of_the_set_becomes_the_member(cls: Any, field: Any) -> None:
    for member in _words(field.type):
        word = member.value if isinstance(member, Enum) else member
        if (cls, word) in ((il.Reasoning, "none"), (il.Source, "blocks")):
            continue  # said in another way
        found = getattr(_made(cls, field.name, word), field.name)
        assert found == member
        assert type(found) is type(member)


def test_a_status_given_as_a_word_can_be_written() -> None:
    for status in il.MessageStatus:
        metadata = il.MessageMetadata(status=str(status.value))  # type: ignore[arg-type]  # a word
        message = il.Message.assistant("Hi", metadata)
        assert il.loads(il.dumps(message)) == message
        il.dialect("openai-chat").write_request(il.Request((il.Message.user("a"), message), "m"))
