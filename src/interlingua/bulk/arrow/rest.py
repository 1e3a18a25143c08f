"""What has no column of its own: the other fields of a value, as one JSON text.

A class and the fields that have columns give a small struct of all the others, typed as they are,
so that writing and reading them is one call each. A class has at least two such fields.
"""

from __future__ import annotations

from operator import attrgetter, itemgetter
from typing import Any, get_args, get_type_hints

import msgspec

from interlingua.errors import ReadError
from interlingua.model import codec
from interlingua.model.spelled_numbers import spelled

encode = msgspec.json.Encoder(enc_hook=spelled).encode
decode = msgspec.json.Decoder().decode


class Rest:
    """The fields of `cls` beside those in `columns`."""

    def __init__(self, cls: type[msgspec.Struct], *columns: str) -> None:
        self._cls = cls
        self._columns = columns
        hints = get_type_hints(cls)
        names = [name for name in cls.__struct_fields__ if name not in columns]
        fields = [
            (each.name, _as_spelled(hints[each.name]), _default(each))
            for each in msgspec.structs.fields(cls)
            if each.name in names
        ]
        self._struct = msgspec.defstruct(
            f"{cls.__name__}Rest", fields, omit_defaults=True, forbid_unknown_fields=True, gc=False
        )
        self._defaults = tuple(default for _, _, default in fields)
        self._decode = msgspec.json.Decoder(self._struct).decode
        self._of = attrgetter(*names)
        order = [*columns, *names]
        self._arranged = itemgetter(*[order.index(name) for name in cls.__struct_fields__])

    def write(self, value: msgspec.Struct) -> bytes | None:
        """None where all of them are at their defaults."""
        found = self._of(value)
        if found == self._defaults:
            return None
        text = encode(self._struct(*found))
        return None if text == b"{}" else text

    def read(self, text: bytes | None, *columns: Any) -> Any:
        """The value of these columns and this text; fields of a newer program are preserved as the
        store preserves them."""
        if text is None:
            return self._cls(*self._arranged((*columns, *self._defaults)))
        try:
            rest = self._decode(text)
        except msgspec.ValidationError:
            return self._salvaged(text, columns)
        except (msgspec.DecodeError, RecursionError, UnicodeError) as error:
            raise ReadError(f"{self._cls.__name__} in Arrow", "rest", "JSON", str(error)) from None
        return self._cls(*self._arranged((*columns, *self._of(rest))))

    def _salvaged(self, text: bytes, columns: tuple[Any, ...]) -> Any:
        known = codec.parse(codec.dumps(self.read(None, *columns)), "canonical JSON")
        return codec.convert({**known, **codec.parse(text, "canonical JSON")}, self._cls, False)


def _as_spelled(hint: Any) -> Any:
    """1 stays 1 where a float is wanted, as it was read from a wire."""
    return hint | int if float in get_args(hint) else hint


def _default(field: msgspec.structs.FieldInfo) -> Any:
    """A required field that has no column is always written; None stands for what is missing."""
    if field.default is not msgspec.NODEFAULT:
        return field.default
    if field.default_factory is not msgspec.NODEFAULT:
        return field.default_factory()
    return None
