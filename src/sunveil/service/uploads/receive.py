"""A form with files, taken off the network piece by piece: no file is ever held in memory."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import BinaryIO

from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser, parse_options_header
from starlette.concurrency import run_in_threadpool

from sunveil.service.uploads.errors import UploadRefused, UploadTooLarge
from sunveil.service.uploads.file_names import safe_path
from sunveil.service.uploads.kinds import is_litter
from sunveil.service.uploads.limits import UploadLimits, size_text
from sunveil.service.uploads.staging import check_disk_space

# What is still taken off the network, and thrown away, so that a browser hears the refusal. [bytes]
DRAINED = 64 * 1024 * 1024

Fields = dict[str, str]


@dataclass(frozen=True, slots=True)
class ReceivedFile:
    """An uploaded file.

    Parameters
    ----------
    field
        Name of the form's field.
    name
        Its own name, with the folders that it was chosen or dropped with.
    path
        Where it lies.
    size
        How large it is. [bytes]
    """

    field: str
    name: str
    path: Path
    size: int


@dataclass(frozen=True, slots=True)
class Received:
    """An uploaded form with files.

    Parameters
    ----------
    fields
        Its fields; of several of one name the last.
    files
        Its files, in order.
    """

    fields: Fields
    files: tuple[ReceivedFile, ...]


async def receive(
    stream: AsyncIterator[bytes],
    content_type: str,
    *,
    into: Path,
    limits: UploadLimits,
    check: Callable[[Fields], None],
    announced: int | None = None,
) -> Received:
    """Take a form with files off the network.

    Parameters
    ----------
    stream
        The request's body.
    content_type
        The request's own header.
    into
        An empty folder for the files.
    limits
        What is taken at most.
    check
        Called with the fields before the first file, so that nobody writes a byte who may not; it
        raises what refuses the form.
    announced
        Length that the request says its body has. [bytes]
    """
    form = _Form(_boundary(content_type), into=into, limits=limits, check=check)
    try:
        if announced is not None:
            form.check_size(announced)
            check_disk_space(into, announced, spare=limits.spare)
        async for chunk in stream:
            await run_in_threadpool(form.take, chunk)
        return form.finish()
    except UploadRefused:
        form.close()
        await _drain(stream)
        raise
    except FormParserError:
        raise UploadRefused("the upload is broken; try again") from None
    except OSError:
        raise UploadTooLarge(
            "the service could not write the upload to its disk; see whether it is full"
        ) from None
    finally:
        form.close()


@dataclass(slots=True)
class _Part:
    """What is being read."""

    headers: dict[bytes, bytes] = field(default_factory=dict)
    name: str = ""
    file_name: str | None = None
    text: bytearray = field(default_factory=bytearray)
    file: BinaryIO | None = None
    path: Path | None = None
    size: int = 0


class _Form:
    """A form's parts, as the parser comes upon them."""

    def __init__(
        self, boundary: bytes, *, into: Path, limits: UploadLimits, check: Callable[[Fields], None]
    ) -> None:
        self._into, self._limits, self._check = into, limits, check
        self._fields: Fields = {}
        self._files: list[ReceivedFile] = []
        self._part = _Part()
        self._header: tuple[bytearray, bytearray] = bytearray(), bytearray()
        self._taken, self._checked, self._ended = 0, False, False
        self._parser = MultipartParser(
            boundary,
            {
                "on_part_begin": self._begin,
                "on_part_data": self._data,
                "on_part_end": self._finish_part,
                "on_header_field": lambda data, start, end: self._header[0].extend(data[start:end]),
                "on_header_value": lambda data, start, end: self._header[1].extend(data[start:end]),
                "on_header_end": self._end_header,
                "on_headers_finished": self._begin_content,
                "on_end": self._end,
            },
        )

    def take(self, chunk: bytes) -> None:
        """Read a piece of the body."""
        self._taken += len(chunk)
        self.check_size(self._taken)
        self._parser.write(chunk)

    def check_size(self, size: int) -> None:
        """Refuse a body that is too large."""
        if size > self._limits.body:
            raise UploadTooLarge(
                f"the upload is larger than the {size_text(self._limits.body)} that this service"
                " takes; put the files into the service's data folder and name it instead"
            )

    def finish(self) -> Received:
        """Return the form, which must have come to its end."""
        if not self._ended:
            raise UploadRefused("the upload broke off before its end; try again")
        self._allow()
        return Received(self._fields, tuple(self._files))

    def close(self) -> None:
        """Let go of the file that is being written."""
        if self._part.file is not None:
            self._part.file.close()
            self._part.file = None

    def _allow(self) -> None:
        if not self._checked:
            self._check(self._fields)
            self._checked = True

    def _begin(self) -> None:
        self._part = _Part()

    def _end_header(self) -> None:
        name, value = (bytes(each) for each in self._header)
        self._part.headers[name.lower()] = value
        self._header = bytearray(), bytearray()

    def _begin_content(self) -> None:
        _, options = parse_options_header(self._part.headers.get(b"content-disposition"))
        self._part.name = options.get(b"name", b"").decode("utf-8", "replace")
        if b"filename" not in options:
            if len(self._fields) >= self._limits.fields:
                raise UploadRefused(f"the form has more than {self._limits.fields} fields")
            return
        name = options[b"filename"].decode("utf-8", "replace")
        if name and is_litter(PurePosixPath(name)):
            self._part.file_name = ""  # what comes is thrown away
        elif name:  # a browser sends a nameless file for a field that was left empty
            self._begin_file(name)

    def _begin_file(self, name: str) -> None:
        self._allow()
        if len(self._files) >= self._limits.files:
            raise UploadTooLarge(
                f"the upload has more than {self._limits.files:,} files; pack them into fewer"
            )
        self._part.file_name = str(safe_path(name))
        self._part.path = self._into / f"{len(self._files)}"
        self._part.file = self._part.path.open("xb")

    def _data(self, data: bytes, start: int, end: int) -> None:
        part = self._part
        if part.file is not None:
            part.file.write(data[start:end])
            part.size += end - start
        elif part.file_name is None:
            part.text += data[start:end]
            if len(part.text) > self._limits.field:
                raise UploadTooLarge(
                    f"a field of the form is longer than {size_text(self._limits.field)}"
                )

    def _finish_part(self) -> None:
        part = self._part
        if part.file_name == "":
            return
        if part.file is None:
            self._fields[part.name] = part.text.decode("utf-8", "replace")
            return
        self.close()
        assert part.file_name is not None
        assert part.path is not None
        self._files.append(ReceivedFile(part.name, part.file_name, part.path, part.size))

    def _end(self) -> None:
        self._ended = True


def _boundary(content_type: str) -> bytes:
    kind, options = parse_options_header(content_type)
    if kind != b"multipart/form-data" or not options.get(b"boundary"):
        raise UploadRefused("an upload is a form with files (multipart/form-data)")
    return bytes(options[b"boundary"])


async def _drain(stream: AsyncIterator[bytes]) -> None:
    thrown = 0
    with suppress(Exception):  # whatever goes wrong now, the upload is refused already
        async for chunk in stream:
            thrown += len(chunk)
            if thrown > DRAINED:
                return
