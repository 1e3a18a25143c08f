"""Uploads: forms with a file in them (`multipart/form-data`), read as they arrive."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from email.message import Message
from tempfile import SpooledTemporaryFile
from typing import Any

from starlette.requests import ClientDisconnect, Request

from interlingua.errors import MissingExtraError
from interlingua.gateway.settings import Limits
from interlingua.gateway.shared.callers import ApiError

LONGEST_FIELD = 64 * 1024
"""The most bytes of a field that is not a file."""
MOST_FIELDS = 32
SLOWEST = 60
"""Times the seconds for a plain body that a whole upload may take."""
SPOOLED = 1024 * 1024
"""Bytes of a form that are held in memory; the rest is in a file that is deleted at the end."""
MODEL = "model"
_BOUNDARY = "interlingua-form-boundary-"


class Upload:
    """The fields of a form, and its file in pieces. `fields` are those before the file, while it
    is read, and all of them afterwards."""

    def __init__(self, request: Request, limits: Limits) -> None:
        self.fields: dict[str, str] = {}
        self.filename: str | None = None
        self.size = 0
        self._request = request
        self._limits = limits
        self._name = ""
        self._header = b""
        self._value = b""
        self._disposition: dict[str, str] = {}
        self._field = bytearray()
        self._pieces: list[bytes] = []
        self._in_file = False
        self._until = asyncio.get_running_loop().time() + SLOWEST * limits.body_seconds

    async def pieces(self) -> AsyncIterator[bytes]:
        """The file, as it arrives."""
        parser = self._parser()
        seconds = self._limits.body_seconds
        try:
            stream = self._request.stream().__aiter__()
            while True:
                async with asyncio.timeout(seconds), asyncio.timeout_at(self._until):
                    data = await anext(stream, None)
                if data is None:
                    break
                self._counted(len(data))
                _fed(parser, data)
                found, self._pieces = self._pieces, []
                for piece in found:
                    yield piece
            _ended(parser)
        except TimeoutError:
            text = "timed out waiting for the request body"
            raise ApiError(408, "request_timeout", text) from None
        except ClientDisconnect:
            raise ApiError(499, "client_gone", "client closed the connection") from None

    def _counted(self, size: int) -> None:
        self.size += size
        if self.size > self._limits.upload:
            text = f"upload too large: more than {self._limits.upload} bytes"
            raise ApiError(413, "request_too_large", text)

    def _parser(self) -> Any:
        try:
            from python_multipart.multipart import MultipartParser, parse_options_header
        except ImportError:
            raise MissingExtraError("uploads", "gateway") from None
        kind, options = parse_options_header(self._request.headers.get("content-type", ""))
        boundary = options.get(b"boundary")
        if kind != b"multipart/form-data" or not boundary:
            raise ApiError(400, "invalid_request", "expected a form (multipart/form-data)")
        return MultipartParser(
            boundary,
            {
                "on_part_begin": self._begin,
                "on_part_data": self._data,
                "on_part_end": self._end,
                "on_header_field": self._on_header,
                "on_header_value": self._on_value,
                "on_header_end": self._on_header_end,
                "on_headers_finished": self._on_headers,
            },
        )

    # Called by the parser

    def _begin(self) -> None:
        self._disposition, self._field = {}, bytearray()
        if len(self.fields) >= MOST_FIELDS:
            raise ApiError(400, "invalid_request", f"the form has more than {MOST_FIELDS} fields")

    def _on_header(self, data: bytes, start: int, end: int) -> None:
        self._header += data[start:end]

    def _on_value(self, data: bytes, start: int, end: int) -> None:
        self._value += data[start:end]

    def _on_header_end(self) -> None:
        if self._header.lower() == b"content-disposition":
            message = Message()
            message["content-disposition"] = self._value.decode("utf-8", "replace")
            found = message.get_params([], header="content-disposition")
            self._disposition = {str(name).lower(): str(value) for name, value in found}
        self._header = self._value = b""

    def _on_headers(self) -> None:
        self._name = self._disposition.get("name", "")
        self._in_file = "filename" in self._disposition
        if self._in_file:
            if self.filename is not None:
                raise ApiError(400, "invalid_request", "the form has more than one file")
            self.filename = self._disposition["filename"][:500] or "upload"

    def _data(self, data: bytes, start: int, end: int) -> None:
        if self._in_file:
            self._pieces.append(data[start:end])
            return
        self._field += data[start:end]
        if len(self._field) > LONGEST_FIELD:
            raise ApiError(400, "invalid_request", f"{self._name[:100]}: too long")

    def _end(self) -> None:
        if not self._in_file:
            self.fields[self._name] = self._field.decode("utf-8", "replace")


class SpooledForm(Upload):
    """A form that is sent on, but for its `model`, whose name is another one there."""

    def __init__(self, request: Request, limits: Limits) -> None:
        super().__init__(request, limits)
        self.model: str | None = None
        self._boundary = f"{_BOUNDARY}{secrets.token_hex(16)}"
        self._lines: list[bytes] = []
        self._spool = SpooledTemporaryFile(max_size=SPOOLED)  # noqa: SIM115  # closed by `close`

    @property
    def content_type(self) -> str:
        return f"multipart/form-data; boundary={self._boundary}"

    async def read(self) -> None:
        """All of it, as it arrives."""
        async for _ in self.pieces():
            pass  # it goes into the spool
        self.model = self.fields.get(MODEL)

    def length(self, model: str | None) -> int:
        return len(self._head(model)) + self._spool.tell() + len(self._tail())

    async def body(self, model: str | None) -> AsyncGenerator[bytes, None]:
        """The form under another name of its model, if it has one."""
        yield self._head(model)
        self._spool.seek(0)
        while piece := self._spool.read(64 * 1024):
            yield piece
        yield self._tail()

    def close(self) -> None:
        self._spool.close()

    def _head(self, model: str | None) -> bytes:
        if model is None:
            return b""
        head = f'--{self._boundary}\r\ncontent-disposition: form-data; name="{MODEL}"\r\n\r\n'
        return f"{head}{model}\r\n".encode()

    def _tail(self) -> bytes:
        return f"--{self._boundary}--\r\n".encode()

    def _on_header_end(self) -> None:
        self._lines.append(b"%b: %b\r\n" % (self._header, self._value))
        super()._on_header_end()

    def _on_headers(self) -> None:
        lines, self._lines = self._lines, []
        self._name = self._disposition.get("name", "")
        self._in_file = self._name != MODEL
        if self._in_file:
            head = f"--{self._boundary}\r\n".encode()
            self._spool.write(b"".join([head, *lines, b"\r\n"]))

    def _data(self, data: bytes, start: int, end: int) -> None:
        if self._in_file:
            self._spool.write(data[start:end])
        else:
            super()._data(data, start, end)

    def _end(self) -> None:
        if self._in_file:
            self._spool.write(b"\r\n")
        super()._end()


class FileForm(SpooledForm):
    """A form with one file, whose purpose decides where it goes."""

    def __init__(self, request: Request, limits: Limits) -> None:
        super().__init__(request, limits)
        self.purpose = ""
        self._purpose = bytearray()
        self._file = (0, 0)

    @property
    def file_size(self) -> int:
        return self._file[1] - self._file[0]

    def file_pieces(self, size: int) -> Iterator[bytes]:
        """The file without the form around it."""
        self._spool.seek(self._file[0])
        left = self.file_size
        while left > 0:
            piece = self._spool.read(min(size, left))
            left -= len(piece)
            yield piece

    async def read(self) -> None:
        await super().read()
        self._check_file()
        self.purpose = self._purpose.decode("utf-8", "replace")

    def _check_file(self) -> None:
        if self.filename is None:
            raise ApiError(400, "invalid_request", "file: the form has no file")

    def _on_headers(self) -> None:
        super()._on_headers()
        if "filename" in self._disposition:
            if self.filename is not None:
                raise ApiError(400, "invalid_request", "the form has more than one file")
            self.filename = self._disposition["filename"][:500] or "upload"
            self._file = (self._spool.tell(), 0)

    def _data(self, data: bytes, start: int, end: int) -> None:
        super()._data(data, start, end)
        if self._name == "purpose" and len(self._purpose) <= LONGEST_FIELD:
            self._purpose += data[start:end]

    def _end(self) -> None:
        if "filename" in self._disposition:
            self._file = (self._file[0], self._spool.tell())
        super()._end()


def _fed(parser: Any, data: bytes) -> None:
    from python_multipart.exceptions import FormParserError

    try:
        parser.write(data)
    except FormParserError as error:
        raise ApiError(400, "invalid_request", f"the form: {error}"[:300]) from None


def _ended(parser: Any) -> None:
    from python_multipart.exceptions import FormParserError

    try:
        parser.finalize()
    except FormParserError as error:
        raise ApiError(400, "invalid_request", f"the form: {error}"[:300]) from None
