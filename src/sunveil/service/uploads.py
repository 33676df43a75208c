"""Streamed uploads and their size limits, staging, retry."""

from __future__ import annotations

import json
import os
import re
import secrets
import shutil
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO

from filelock import FileLock, Timeout
from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser, parse_options_header
from starlette.concurrency import run_in_threadpool

from sunveil._files import write_whole
from sunveil.errors import SourceError
from sunveil.meters.file_types import ENDINGS, READABLE
from sunveil.service.settings import UploadLimits, size_text


class UploadRefused(SourceError):
    """An upload that is not what it must be. Nothing of it is kept."""


class UploadTooLarge(UploadRefused):
    """An upload beyond the service's limits."""


LONGEST = 150
DEEPEST = 8

# Neither separators nor what a shell or a reader of many files takes for a pattern.
PLAIN = re.compile(r"[\w=+,() -][\w.=+,() -]*")


def safe_name(name: str) -> str:
    """Return the name of an uploaded file if it is one plain name, or refuse it."""
    if not PLAIN.fullmatch(name) or len(name.encode()) > LONGEST or name != name.strip():
        raise UploadRefused(
            f"a file or folder is named {quoted(name)}, and names are letters, digits, dots,"
            f" hyphens and spaces, at most {LONGEST} of them; rename it"
        )
    return name


def safe_path(name: str) -> PurePosixPath:
    """Return the path of a file, sent or packed, if it stays below its folder, or refuse it."""
    if name.startswith(("/", "\\")) or re.match(r"[A-Za-z]:", name):
        raise UploadRefused(
            f"a file has the absolute path {quoted(name)}; send the folder's files by their own"
            " names"
        )
    parts = name.split("/")
    if ".." in parts or "\\" in name:
        raise UploadRefused(
            f"a file has the path {quoted(name)}, which leads out of its folder; send the folder's"
            " files by their own names"
        )
    if len(parts) > DEEPEST:
        raise UploadRefused(
            f"there are folders {len(parts) - 1} deep, and at most {DEEPEST - 1} are taken"
        )
    return PurePosixPath(*(safe_name(part) for part in parts))


def quoted(name: str) -> str:
    """Return a file's name in quotes, shortened and without characters that cannot be printed."""
    return repr("".join(c if c.isprintable() else "?" for c in name[:60]))


def find_below(data: Path, name: str) -> Path:
    parts = Path(name.strip()).parts
    if not parts or "\0" in name:
        raise UploadRefused("name a file or a folder below the service's data folder")
    if Path(name.strip()).is_absolute() or ".." in parts:
        raise UploadRefused(
            f"{quoted(name)} leads out of the service's data folder; name a path below it, such as"
            " utility/2025"
        )
    root = os.path.realpath(data)
    found = os.path.realpath(data.joinpath(*parts))
    if os.path.commonpath([root, found]) != root:
        raise UploadRefused(
            f"{quoted(name)} is a link that leads out of the service's data folder; copy the data"
            " there"
        )
    if not os.path.exists(found):
        raise UploadRefused(f"the service's data folder has no {quoted(name)}; check the name")
    return Path(found)


MOST_LISTED = 200


def list_below(data: Path) -> list[str]:
    """Return the folders and tables right below the data folder, to choose from."""
    names = []
    for entry in sorted(os.scandir(data), key=lambda each: each.name):
        table = entry.name.lower().endswith(ENDINGS)
        if not entry.name.startswith(".") and (entry.is_dir() or table):
            names.append(entry.name)
    return names[:MOST_LISTED]


# Tables of systems are among these.
SYSTEMS = (".csv", ".tsv", ".txt", ".parquet", ".pq", ".xlsx", ".xlsm")

# What packs one file. Without a second ending, its content alone says what it is.
PACKINGS = (".gz", ".bz2", ".xz", ".lzma")

_DOCUMENTS = (
    *(".md", ".rst", ".html", ".htm", ".pdf", ".doc", ".docx", ".log", ".svg", ".png", ".jpg"),
    *(".jpeg", ".yaml", ".yml", ".toml", ".ini", ".cfg", ".geojson"),
)

_PAPERS = ("readme", "license", "licence", "copying", "notice", "changelog")
_LITTER = (".ds_store", "thumbs.db", "desktop.ini")

# What a simulated fleet brings beside its readings: what is true of it is no input.
_SIMULATED = ("truth.parquet", "fleet.json")


def is_litter(path: PurePosixPath) -> bool:
    """Return whether a file is what a file manager or a version control leaves in folders."""
    hidden = any(part[:1] == "." != part[1:2] or part == "__MACOSX" for part in path.parts)
    return hidden or path.name.lower() in _LITTER


def is_document(path: PurePosixPath) -> bool:
    """Return whether a file is for people, or what a simulation says of itself: no readings."""
    lower = path.name.lower()
    paper = path.stem.lower() in _PAPERS and not lower.endswith(SYSTEMS)
    return lower.endswith(_DOCUMENTS) or paper or lower in _SIMULATED


def placed_name(path: PurePosixPath) -> PurePosixPath:
    # A packed file without a second ending, such as `meter.gz`, gets one: what is inside tells.
    lower = path.name.lower()
    if lower.endswith(ENDINGS):
        return path
    if lower.endswith(PACKINGS):
        return path.with_name(f"{path.stem}.dat{path.suffix}")
    raise UploadRefused(f"{quoted(str(path))} is no meter file: {READABLE} are read")


PREFIX = ".upload-"

# Files of refused uploads, and how long they wait for a second try. [s]
KEPT, WAIT_SECONDS = ".kept-", 24 * 3600.0


class Staging:
    """A folder that is put in place whole, or removed."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self.folder = home / f"{PREFIX}{secrets.token_hex(8)}"

    @contextmanager
    def open(self) -> Iterator[Staging]:
        """Make the folder; what was not moved out of it by the end is removed."""
        self._home.mkdir(mode=0o700, parents=True, exist_ok=True)
        drop_expired(self._home)
        self.folder.mkdir(mode=0o700)
        # the lock shows a later sweep that this one is alive
        with FileLock(self.folder / ".lock", mode=0o600):
            try:
                yield self
            finally:
                shutil.rmtree(self.folder, ignore_errors=True)

    def put(self, name: str, part: str = "whole") -> Path:
        """Move a part of the folder to its place in one step, and return the place."""
        place = self._home / name
        os.rename(self.folder / part, place)
        return place


def remove_abandoned(home: Path) -> None:
    """Remove what uploads left that ended with their process, and files that waited too long."""
    drop_expired(home)
    for folder in home.glob(f"{PREFIX}*"):
        with (
            suppress(FileNotFoundError, Timeout),
            FileLock(folder / ".lock", mode=0o600, blocking=False),
        ):
            shutil.rmtree(folder, ignore_errors=True)


def drop_expired(home: Path) -> None:
    """Remove files that were never sent again."""
    for folder in home.glob(f"{KEPT}*"):
        try:
            old = time.time() - folder.stat().st_mtime > WAIT_SECONDS
        except FileNotFoundError:
            continue
        if old:
            shutil.rmtree(folder, ignore_errors=True)


def check_disk_space(folder: Path, needed: int, *, spare: int) -> None:
    if shutil.disk_usage(folder).free < needed + spare:
        raise UploadTooLarge(
            f"the service's disk has no room for {size_text(needed)} more; free some, or name a"
            " folder of the data folder instead of uploading"
        )


# What is still taken off the network, and thrown away, so that a browser hears the refusal. [bytes]
DRAINED = 64 * 1024 * 1024
Fields = dict[str, str]


@dataclass(frozen=True, slots=True)
class ReceivedFile:
    field: str  # name of the form's field
    name: str  # its own name, with the folders that it was chosen or dropped with
    path: Path  # where it lies
    size: int  # [bytes] how large it is


@dataclass(frozen=True, slots=True)
class Received:
    fields: Fields  # its fields; of several of one name the last
    files: tuple[ReceivedFile, ...]  # its files, in order


async def receive(
    stream: AsyncIterator[bytes],
    content_type: str,
    *,
    into: Path,
    limits: UploadLimits,
    check: Callable[[Fields], None],
    announced: int | None = None,
) -> Received:
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
        self._taken += len(chunk)
        self.check_size(self._taken)
        self._parser.write(chunk)

    def check_size(self, size: int) -> None:
        if size > self._limits.body:
            raise UploadTooLarge(
                f"the upload is larger than the {size_text(self._limits.body)} that this service"
                " takes; put the files into the service's data folder and name it instead"
            )

    def finish(self) -> Received:
        if not self._ended:
            raise UploadRefused("the upload broke off before its end; try again")
        self._allow()
        return Received(self._fields, tuple(self._files))

    def close(self) -> None:
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


_TOKEN = re.compile(r"[0-9a-f]{32}")


@dataclass(frozen=True, slots=True)
class KeptFiles:
    """Files that wait for a second try."""

    token: str  # what the form carries to take them up
    fields: dict[str, str]  # the fields of the form that brought them
    problem: str  # why it was refused
    files: tuple[ReceivedFile, ...]  # the files

    @property
    def size(self) -> int:
        return sum(file.size for file in self.files)


def keep_files(home: Path, received: Received, *, who: str, problem: str) -> str:
    """Keep the files of a refused upload, and return the token that takes them up again."""
    token = secrets.token_hex(16)
    folder = home / f"{KEPT}{token}"
    (folder / "files").mkdir(mode=0o700, parents=True)
    listed = []
    for number, file in enumerate(received.files):
        os.rename(file.path, folder / "files" / str(number))
        listed.append([file.field, file.name, file.size])
    fields = {name: text for name, text in received.fields.items() if name not in ("csrf", "kept")}
    stored = {"who": who, "problem": problem, "fields": fields, "files": listed}
    write_whole(folder / "kept.json", json.dumps(stored), private=True)
    return token


def find_kept(home: Path, token: str, *, who: str) -> KeptFiles | None:
    """Return files that a curator sent before, if they are still there."""
    if not _TOKEN.fullmatch(token):
        return None
    folder = home / f"{KEPT}{token}"
    try:
        stored: dict[str, Any] = json.loads((folder / "kept.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    if stored["who"] != who:
        return None
    files = tuple(
        ReceivedFile(field, name, folder / "files" / str(number), size)
        for number, (field, name, size) in enumerate(stored["files"])
    )
    return KeptFiles(token, stored["fields"], stored["problem"], files)


def with_kept(received: Received, kept: KeptFiles | None, *, into: Path) -> Received:
    """Return an upload together with files that were sent before; new ones go before old ones."""
    if kept is None:
        return received
    return replace(received, files=(*received.files, *_linked(received.files, kept, into)))


def _linked(new: Sequence[ReceivedFile], kept: KeptFiles, into: Path) -> Iterator[ReceivedFile]:
    named = {(file.field, file.name) for file in new}
    replaced = {file.field for file in new if file.field == "systems"}
    for number, file in enumerate(kept.files):
        if (file.field, file.name) not in named and file.field not in replaced:
            path = into / f"kept-{number}"
            os.link(file.path, path)
            yield replace(file, path=path)


def drop_kept(home: Path, token: str) -> None:
    if _TOKEN.fullmatch(token):
        shutil.rmtree(home / f"{KEPT}{token}", ignore_errors=True)
