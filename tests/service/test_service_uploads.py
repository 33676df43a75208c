from __future__ import annotations

import asyncio
import bz2
import gzip
import io
import lzma
import os
import resource
import signal
import stat
import subprocess
import sys
import tempfile
import time
import tracemalloc
import zipfile
from collections.abc import AsyncIterator, Callable, Iterable
from datetime import date
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import openpyxl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sunveil.errors import ParameterError, SourceError
from sunveil.meters import MeterOptions
from sunveil.service.archives import unpack
from sunveil.service.limited_process import run_guarded
from sunveil.service.settings import MEGABYTE, ReadingLimits, UploadLimits
from sunveil.service.upload_checks import check_rows, place_files, take_in
from sunveil.service.uploads import (
    Received,
    ReceivedFile,
    Staging,
    UploadRefused,
    UploadTooLarge,
    drop_kept,
    find_kept,
    keep_files,
    receive,
    remove_abandoned,
    with_kept,
)

READINGS = b"system_id,time,power_kw\na,2024-01-01T00:00Z,0.0\n"


def zipped(entries: Iterable[tuple[str, bytes]], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", method) as archive:
        for name, content in entries:
            archive.writestr(zipfile.ZipInfo(name), content, compress_type=method)
    return made.getvalue()


ONE = zipped([("a.csv", READINGS)])


def changed(made: bytes, place: int, value: bytes) -> bytes:
    """Return an archive of one entry with other bytes at a place of both its headers."""
    out = bytearray(made)
    for mark, more in ((b"PK\x03\x04", 0), (b"PK\x01\x02", 2)):
        at = out.find(mark) + place + more
        out[at : at + len(value)] = value
    return bytes(out)


LIES = changed(zipped([("a.csv", b"0" * 2_000_000)]), 22, (10).to_bytes(4, "little"))
BOMBS = [(f"{n}.csv", os.urandom(16) + b"0" * 900_000) for n in range(4)]
SYSTEMS = b"system_id,latitude,longitude\na,40.0,-105.0\n"
SHEET, JUNK = ("x/systems.csv", SYSTEMS), ("__MACOSX/x", b"?")
NEM12 = b"100,NEM12,202406211149,A,B\r\n200,NEM1200001,B1,1,B1,N1,01009,KWH,30,20240710\r\n900\r\n"
BOUNDARY = "XyzzyBoundary"
KIND = f"multipart/form-data; boundary={BOUNDARY}"
LIMITS = UploadLimits(body=200_000, unpacked=3_000_000, files=6, ratio=50, field=100, spare=0)
GOOD = ("systems", "s.csv", SYSTEMS)
CSV = ("meters", "a.csv", READINGS)
HALF = """
import sys, time
from pathlib import Path
from sunveil.service.uploads import Staging
with Staging(Path(sys.argv[1])).open() as staging:
    (staging.folder / "half").touch()
    print("half", flush=True)
    time.sleep(600)
"""


async def pieces(content: bytes, size: int = 777) -> AsyncIterator[bytes]:
    for start in range(0, len(content), size):
        yield content[start : start + size]


def take(content: bytes, into: Path, *, check=lambda _: None, limits=LIMITS, **more) -> Received:
    more = {"content_type": KIND, **more}
    return asyncio.run(receive(pieces(content), into=into, limits=limits, check=check, **more))


def parquet(path: Path, sql: str = "SELECT 'a' AS system_id, 1.0 AS power_kw") -> bytes:
    with duckdb.connect() as connection:
        connection.execute(f"COPY ({sql}) TO '{path}' (FORMAT parquet)")
    return path.read_bytes()


def received(folder: Path, *files: tuple[str, str, bytes]) -> list[ReceivedFile]:
    found = []
    for number, (name, file_name, content) in enumerate(files):
        path = folder / str(number)
        path.write_bytes(content)
        found.append(ReceivedFile(name, file_name, path, len(content)))
    return found


def test_a_form_comes_over_as_it_was_sent(came):
    content = b"\r\n--Xyzzy\r\n\0\xff" * 500
    seen = []
    got = take(
        body(
            part("name", "süd".encode()),
            meter_file("a b.csv", content),
            part("systems", b"", ""),
            meter_file("c.parquet"),
        ),
        came,
        check=seen.append,
    )
    assert seen[0]["name"] == got.fields["name"] == "süd"
    assert [(each.field, each.name, each.size) for each in got.files] == [
        ("meters", "a b.csv", len(content)),
        ("meters", "c.parquet", 0),
    ]
    assert got.files[0].path.read_bytes() == content
    take(body(part("token", b"right")), came, check=seen.append)  # without files too
    assert seen[-1] == {"token": "right"}


def test_a_form_is_never_held_in_memory(came):
    block = os.urandom(1024 * 1024)
    limits = UploadLimits(body=10**9, spare=0)

    async def stream() -> AsyncIterator[bytes]:
        head, tail = body(meter_file("a.csv", b"HERE")).split(b"HERE")
        yield head
        for _ in range(64):
            yield block
        yield tail

    async def run() -> Received:
        return await receive(stream(), KIND, into=came, limits=limits, check=lambda _: None)

    tracemalloc.start()
    try:
        got = asyncio.run(run())
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert got.files[0].size == 64 * len(block)
    assert peak < 8 * len(block)


def test_whoever_may_not_upload_writes_no_byte(came):
    def refuse(fields: dict[str, str]) -> None:
        assert fields == {"token": "wrong"}
        raise LookupError

    sent = body(part("token", b"wrong"), meter_file("a.csv", READINGS))
    with pytest.raises(LookupError):
        take(sent, came, check=refuse)
    assert list(came.iterdir()) == []


@pytest.mark.parametrize("announced", [None, 999_999])
def test_a_body_beyond_the_limit_is_refused_on_the_way(came, announced):
    sent = body(meter_file("a.csv", b"x" * 300_000))
    with pytest.raises(UploadTooLarge, match="larger than the 195 kB"):
        take(sent, came, announced=announced)
    assert sum(path.stat().st_size for path in came.iterdir()) <= LIMITS.body


def test_a_disk_without_room_is_told_before_anything_is_written(came):
    with pytest.raises(UploadTooLarge, match="no room"):
        take(body(), came, announced=1, limits=UploadLimits(spare=2**62))


def beside(name: str, content: bytes) -> list[tuple[str, str, bytes]]:
    """Return a file of readings beside a table of systems."""
    return [GOOD, ("meters", name, content)]


def part(name: str, content: bytes, file_name: str | None = None) -> bytes:
    """Return a field of a form, or a file."""
    kind = "\r\nContent-Type: application/octet-stream"
    more = "" if file_name is None else f'; filename="{file_name}"{kind}'
    head = f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="{name}"{more}\r\n\r\n'
    return head.encode() + content + b"\r\n"


def body(*parts: bytes) -> bytes:
    return b"".join(parts) + f"--{BOUNDARY}--\r\n".encode()


def meter_file(name: str, content: bytes = b"") -> bytes:
    return part("meters", content, name)


@pytest.mark.parametrize(
    ("sent", "why"),
    [
        (body(meter_file("a.csv", READINGS))[:-9], "broke off"),
        (b"not a form at all", "broken"),
        (body(part("name", b"x" * 101)), "longer than 100 bytes"),
        (body(*(part(f"f{n}", b"") for n in range(41))), "more than 40 fields"),
        (body(*(meter_file(f"{n}.csv") for n in range(7))), "more than 6 files"),
        (body(meter_file("../a.csv")), "leads out of its folder"),
        (body(meter_file("a*.csv")), "rename it"),
        (body(meter_file("/a.csv")), "absolute path"),
        (body(meter_file("x" * 160 + ".csv")), "rename it"),
        (None, "multipart"),
    ],
)
def test_a_form_that_is_not_right_is_refused_in_one_sentence(came, sent, why):
    with pytest.raises(UploadRefused, match=why):
        take(sent or b"", came, content_type=KIND if sent else "application/json")


def special(name: str, mode: int) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        entry = zipfile.ZipInfo(name)
        entry.external_attr = mode << 16
        archive.writestr(entry, "/etc/passwd")
    return made.getvalue()


def took_in(files: list[ReceivedFile], into: Path, *, place=None, limits=None) -> dict[str, Any]:
    return take_in(files, into, LIMITS, limits or ReadingLimits(), MeterOptions(), place)


def test_what_a_simulation_says_of_itself_is_left_out_with_a_note(came, into):
    sent = received(
        came,
        ("meters", "sim/readings/part-00000.parquet", parquet(came / "p.parquet")),
        ("meters", "sim/systems.csv", SYSTEMS),
        ("meters", "sim/truth.parquet", parquet(came / "t.parquet")),
        ("meters", "sim/fleet.json", b"{}"),
        ("meters", "sim/README.md", b"# Fleet"),
    )
    got = took_in(sent, into)
    assert got["listed"] == 1
    assert got["notes"] == [
        "Left out, since they hold no readings: sim/truth.parquet, sim/fleet.json, sim/README.md."
    ]
    assert [each.name for each in into.rglob("*.*")] == ["systems.csv", "part-00000.parquet"]


def test_systems_at_one_place_need_no_table(came, into, new_folder):
    sent = received(came, CSV, ("meters", "b.csv", READINGS[11:]))
    got = took_in(sent, into, place={"latitude": 40.0, "longitude": -105.0})
    assert got["table"] == "systems.parquet"
    assert (got["listed"], got["place"]) == (1, {"latitude": 40.0, "longitude": -105.0})
    with pytest.raises(ParameterError, match="latitude"):
        took_in(sent, new_folder(), place={"latitude": 91.0, "longitude": 0.0})


def test_a_workbook_can_be_the_table_of_systems(came, into):
    book = openpyxl.Workbook()
    for row in (
        ("system_id", "latitude", "longitude", "since"),
        ("a", 40.5, -105, date(2024, 1, 31)),
    ):
        book.active.append(row)
    book.save(came / "s.xlsx")
    table = ("systems", "s.xlsx", (came / "s.xlsx").read_bytes())
    got = took_in(received(came, table, CSV), into)
    assert (got["listed"], got["table"]) == (1, "systems.xlsx")
    assert got["place"] == {"latitude": 40.5, "longitude": -105.0}


def repeated(path: Path, rows: int) -> bytes:
    """Return a table of systems of which every row is the same: a few kilobytes of runs."""
    name = pa.DictionaryArray.from_arrays(pa.array(np.zeros(rows, np.int32)), ["a" * 200])
    place = pa.array(np.full(rows, 40.0))
    pq.write_table(pa.table({"system_id": name, "latitude": place, "longitude": place}), path)
    return path.read_bytes()


def test_a_table_of_ten_million_rows_is_refused_by_what_its_footer_says(came, into, new_folder):
    sent = ("systems", "s.parquet", repeated(came / "s.parquet", 10_000_000))
    assert len(sent[2]) < 400_000
    with pytest.raises(UploadTooLarge, match=r"10,000,000 rows.*1,000,000.*reading\.systems"):
        took_in(received(came, sent, CSV), into)
    with pytest.raises(UploadTooLarge, match=r"3 columns, and at most 2.*reading\.columns"):
        took_in(received(came, sent, CSV), new_folder(), limits=ReadingLimits(columns=2))
    with pytest.raises(UploadTooLarge, match=r"10,000,000 rows of readings.*reading\.readings"):
        check_rows([came / "s.parquet"], limits=ReadingLimits(readings=9_999_999))


def test_what_takes_too_much_memory_ends_its_own_process_and_is_refused(came, into):
    """No footer is believed: here the limit of rows would let the table pass."""
    sent = ("systems", "s.parquet", repeated(came / "s.parquet", 1_000_000))
    limits = ReadingLimits(memory=300 * MEGABYTE, systems=10**9)
    files = received(came, sent, CSV)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(UploadTooLarge, match=r"300 MB of memory.*reading\.memory"):
        run_guarded(take_in, files, into, LIMITS, limits, MeterOptions(), None, limits=limits)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100 * 1024


def test_what_takes_too_long_is_stopped(tmp_path):
    limits = ReadingLimits(seconds=0.3)
    with pytest.raises(UploadTooLarge, match=r"0 seconds.*reading\.seconds"):
        run_guarded(time.sleep, 60.0, limits=limits)


def test_refused_files_wait_for_the_curator_who_sent_them(tmp_path, came):
    home = tmp_path / "home"
    files = received(came, GOOD, CSV, ("meters", "b.csv", READINGS))
    sent = Received({"title": "Roofs", "csrf": "secret"}, tuple(files))
    token = keep_files(home, sent, who="cora", problem="no")
    kept = find_kept(home, token, who="cora")
    assert kept is not None
    assert kept.fields == {"title": "Roofs"}
    assert [each.name for each in kept.files] == ["s.csv", "a.csv", "b.csv"]
    assert find_kept(home, token, who="carl") is None
    assert find_kept(home, "../" + token, who="cora") is None

    newer = received(came, ("meters", "a.csv", b"newer"), ("systems", "t.csv", SYSTEMS))
    both = with_kept(Received({}, tuple(newer)), kept, into=came)
    assert [(each.name, each.path.read_bytes()) for each in both.files] == [
        ("a.csv", b"newer"), ("t.csv", SYSTEMS), ("b.csv", READINGS)
    ]  # fmt: skip
    drop_kept(home, token)
    assert find_kept(home, token, who="cora") is None


def test_files_that_waited_for_a_day_are_removed(tmp_path, came):
    home = tmp_path / "home"
    old, new = (keep_files(home, Received({}, ()), who="cora", problem="no") for _ in range(2))
    os.utime(home / f".kept-{old}", (0, 0))
    with Staging(home).open():
        assert find_kept(home, old, who="cora") is None
        assert find_kept(home, new, who="cora") is not None


@pytest.mark.parametrize(
    ("files", "why"),
    [
        ([CSV], "no table of systems"),
        ([GOOD], "no readings were sent"),
        ([GOOD, GOOD], "one table of systems"),
        ([GOOD, CSV, CSV], "two files"),
        (beside("a.exe", READINGS), "'a.exe' is no meter file"),
        (beside("a.parquet", READINGS), "'a.parquet' is not Parquet"),
        (beside("a.parquet", b"PAR1 and no more PAR1"), "'a.parquet' is not Parquet"),
        (beside("a.csv", b"PAR1\0\0\0\0PAR1"), "'a.csv' is not Parquet"),
        (beside("a.csv", b"\0\1\2\3 no table"), "'a.csv' is no meter file"),
        (beside("a.xlsx", b"\xd0\xcf\x11\xe0" * 9), "'a.xlsx' is no meter file"),
        (beside("a.csv", ONE), "'a.csv' is no meter file"),
        (beside("a.csv.gz", gzip.compress(b"0" * 2_000_000, mtime=0)), "50 times"),
        (beside("a.csv.bz2", bz2.compress(b"0" * 9_000_000)), "50 times"),
        (beside("a.csv.xz", lzma.compress(READINGS)[:-20]), "broken"),
        (beside("a.csv.gz", gzip.compress(gzip.compress(READINGS))), "packed twice"),
        (beside("a.csv.gz", gzip.compress(zipped([("b.csv", b"")]))), "packed twice"),
        (beside("a.xlsx", zipped([("xl/workbook.xml", b"0" * 2_000_000)])), "50 times"),
        ([("systems", "s.zip", b""), CSV], "CSV, Parquet or .xlsx"),
        ([("systems", "s.csv", b"place,latitude\n1,2\n"), CSV], "no column of systems"),
    ],
)
def test_what_is_not_what_it_says_is_refused_in_one_sentence(came, new_folder, files, why):
    with pytest.raises(SourceError, match=why) as caught:
        took_in(received(came, *files), into := new_folder())
    assert str(tuple(caught.value.args)).count(str(into)) == 0


def test_several_archives_share_one_limit(came, into):
    packed = [zipped([(f"{n}.csv", os.urandom(16) + b"0" * 900_000)]) for n in range(2)]
    files = received(came, GOOD, *(("meters", f"{n}.zip", each) for n, each in enumerate(packed)))
    with pytest.raises(UploadTooLarge, match="unpacks to more"):
        place_files(files, into, limits=UploadLimits(unpacked=1_000_000, ratio=10_000, spare=0))


def test_what_a_killed_service_left_is_swept_and_what_is_being_uploaded_is_not(tmp_path):
    home = tmp_path / "home"
    killed = subprocess.Popen([sys.executable, "-c", HALF, str(home)], stdout=subprocess.PIPE)
    with killed:
        killed.stdout.readline()
        remove_abandoned(home)
        swept = not list(home.glob("*/half"))
        os.kill(killed.pid, signal.SIGKILL)
    assert not swept
    assert len(list(home.glob("*/half"))) == 1
    remove_abandoned(home)
    assert list(home.iterdir()) == []


@pytest.fixture
def new_folder(tmp_path: Path) -> Callable[[], Path]:
    return lambda: Path(tempfile.mkdtemp(dir=tmp_path))


@pytest.fixture
def came(new_folder) -> Path:
    return new_folder()


@pytest.fixture
def into(new_folder) -> Path:
    return new_folder()


@pytest.mark.parametrize(
    ("made", "why"),
    [
        (zipped([("../a.csv", b"")]), "leads out"),
        (zipped([("a/../../b.csv", b"")]), "leads out"),
        (zipped([("..\\a.csv", b"")]), "leads out"),
        (zipped([("/etc/a.csv", b"")]), "absolute"),
        (zipped([("\\a.csv", b"")]), "absolute"),
        (zipped([("C:/a.csv", b"")]), "absolute"),
        (zipped([("a\nb.csv", b"")]), "rename it"),
        (zipped([("a?.csv", b"")]), "rename it"),
        (zipped([("1/2/3/4/5/6/7/8/a.csv", b"")]), "deep"),
        (zipped([("a.csv", b""), ("A.csv", b"")]), "two files named"),
        (zipped([("a.csv", b""), ("a.csv/b.csv", b"")]), "broken"),
        (zipped([("a.zip", zipped([("b.csv", b"")]))]), "another archive"),
        (zipped([("a.tar", b"")]), "another archive"),
        (zipped([("a.py", b"")]), "is no meter file"),
        (zipped([(f"{n}.csv", b"") for n in range(7)]), "7 entries"),
        (zipped([("zeros.csv", b"0" * 2_000_000)]), "50 times"),
        (zipped(BOMBS), "more than the 2.86"),
        (special("a.csv", stat.S_IFLNK | 0o777), "a link or a device"),
        (special("a.csv", stat.S_IFIFO | 0o777), "a link or a device"),
        (changed(ONE, 6, b"\1"), "encrypted"),
        (zipped([("a.csv", READINGS)], zipfile.ZIP_LZMA), "unusual way"),
        (zipped([("a.csv", READINGS * 50)])[:-30], "broken"),
        (b"PK" + b"x" * 100, "broken"),
        (b"", "broken"),
        (LIES, "broken"),
    ],
)
def test_an_archive_that_could_do_harm_is_refused_and_writes_nothing_outside(came, into, made, why):
    path = came / "a.zip"
    path.write_bytes(made)
    with pytest.raises(UploadRefused, match=why):
        unpack(path, into, limits=LIMITS)
    assert set(into.parent.iterdir()) == {came, into}
    assert sum(each.stat().st_size for each in into.rglob("*.csv")) <= LIMITS.unpacked
    assert not any(each.is_symlink() for each in into.rglob("*"))


def test_files_archives_and_folders_are_sorted_into_readings_and_systems(came, into):
    files = received(
        came,
        ("meters", "a.parquet", parquet(came / "x.parquet")),
        ("meters", "more.zip", zipped([("2024/", b""), ("2024/b.csv", READINGS), SHEET, JUNK])),
        ("meters", "fleet/north/a.csv", READINGS),
        ("meters", "fleet/south/a.csv", READINGS),
        ("meters", "fleet/.DS_Store", b"?"),
        ("meters", "c.gz", gzip.compress(READINGS, mtime=0)),
    )
    got = place_files(files, into, limits=LIMITS)
    assert got.systems == into / "systems.csv"
    assert got.systems.read_bytes() == SYSTEMS
    assert sorted(str(p.relative_to(got.meters)) for p in got.meters.rglob("*.*")) == [
        "2024/b.csv", "a.parquet", "c.dat.gz", "fleet/north/a.csv", "fleet/south/a.csv",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.csv", b""),
        ("a.csv", b"time,power_kw\n"),
        ("a.csv", b'time,power_kw\n2024-01-01T00:00Z,\xff\xfe\0"\n'),
        ("a.csv", NEM12),
        ("a.tsv", READINGS.replace(b",", b"\t")),
        ("a.csv.gz", gzip.compress(READINGS, mtime=0)),
        ("a.csv.bz2", bz2.compress(READINGS)),
        ("a.csv.xz", lzma.compress(READINGS)),
        ("a.json", b'[{"time": "2024-01-01T00:00Z", "power_kw": 0}]'),
        ("a.xml", b"<feed/>"),
        ("a.feather", b"ARROW1\0\0"),
    ],
)
def test_what_the_reader_takes_is_taken_whatever_its_cells_hold(came, into, name, content):
    got = place_files(received(came, GOOD, ("meters", name, content)), into, limits=LIMITS)
    assert (got.meters / name).read_bytes() == content
