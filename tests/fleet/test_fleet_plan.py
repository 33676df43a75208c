from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from itertools import pairwise

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sunveil.estimates.inference_options import InferOptions
from sunveil.fleet import run_plan
from sunveil.fleet.file_layouts import (
    Columns,
    FileLayout,
    FileOrder,
    FleetSource,
    RowGroup,
    SourceFile,
    files_together,
    iter_file_systems,
    look_at,
)
from sunveil.fleet.open import plan_fleet
from sunveil.fleet.run_plan import (
    IDENTITY,
    SKIES_KEPT,
    FleetOrder,
    find_cells,
    find_order,
    fingerprint,
    make_plan,
    run_settings,
)
from sunveil.fleet.systems_table import read_systems
from sunveil.meters import MeterOptions, RefusedSystem
from sunveil.meters.record import UNREAD
from sunveil.site import Site

COLUMNS = Columns(FileLayout.LONG, "system_id", "time", "power_kw")
YEAR = 8760


def systems_of(tmp_path, count, *, across=False):
    """Return a table of systems: ten per cell in the order of names, or neighbours far apart."""
    cell = [i % (count // 10) if across else i // 10 for i in range(count)]
    rows = [
        f"s{i:05d},{30 + 0.1 * (c // 50):.2f},{-100 + 0.1 * (c % 50):.2f}"
        for i, c in enumerate(cell)
    ]
    path = tmp_path / "systems.csv"
    path.write_text("\n".join(["system_id,latitude,longitude", *rows]) + "\n")
    return read_systems(path)


def source_of(count, each, *, groups=1):
    """Return the footers of files with so many systems each."""
    files = []
    for start in range(0, count, each):
        wide = each // groups
        made = [
            RowGroup(wide * YEAR, f"s{s:05d}", f"s{s + wide - 1:05d}")
            for s in range(start, start + each, wide)
        ]
        files.append(SourceFile(f"p{start:05d}.parquet", 1, 1, tuple(made), (0, 1)))
    return FleetSource("/fleet", COLUMNS, tuple(files))


def plan_of(tmp_path, source, count, *, order=FileOrder.SORTED, across=False, **settings):
    systems = systems_of(tmp_path, count, across=across)
    assumed = run_settings(MeterOptions(), InferOptions(), **settings)
    cells = find_cells(systems, assumed["cell_degrees"])
    return make_plan(source, systems, assumed, ordering=FleetOrder(order), cells=cells)


def test_a_cells_sky_is_that_of_the_middle_of_its_places(tmp_path):
    path = tmp_path / "systems.csv"
    path.write_text(
        "system_id,latitude,longitude,altitude\n"
        "a,39.74,-104.99,1609\nb,39.74,-104.99,1609\n"
        "c,50.01,8.02,100\nd,50.03,8.04,120\n"
        "e,-17.01,179.96,5\nf,-17.03,-179.98,5\n"
        "g,10.01,20.02,\nh,10.01,20.02,\n"
    )
    systems = read_systems(path)
    cells = find_cells(systems, 0.1)
    site = {name: cells.sites[cells.of[k]] for k, name in enumerate("abcdefgh")}
    # to the last digit, so that one system alone sees the very same sky
    assert site["a"] is site["b"]
    assert site["a"] == Site(39.74, -104.99, 1609.0)
    assert site["g"] == site["h"] == Site(10.01, 20.02)
    assert site["c"].latitude == pytest.approx(50.02)
    assert site["c"].longitude == pytest.approx(8.03)
    assert site["c"].altitude == pytest.approx(110.0)
    assert site["e"] is site["f"]
    assert site["e"].longitude == pytest.approx(179.99)


def test_small_files_are_taken_together_and_every_system_is_in_one_part(tmp_path):
    plan = plan_of(tmp_path, source_of(1000, 20), 1000)
    assert plan.bucket is None
    assert sum(len(part.cells) for part in plan.parts) <= 100 + len(plan.parts)
    assert sorted(part.systems for part in plan.parts) == [160, 280, 280, 280]
    files = [name for part in plan.parts for name in part.files]
    assert sorted(files) == sorted(set(files))
    assert [part.number for part in plan.parts] == list(range(len(plan.parts)))


def test_the_last_parts_of_a_long_plan_are_smaller_and_nobody_is_left_out(tmp_path):
    plan = plan_of(tmp_path, source_of(6000, 20), 6000)
    sizes = [part.systems for part in plan.parts]
    assert len(sizes) > 16
    assert set(sizes[:-8]) == {280}
    assert all(120 <= size <= 160 for size in sizes[-8:-2])
    assert sum(sizes) == 6000
    files = [name for part in plan.parts for name in part.files]
    assert len(files) == len(set(files)) == 300
    assert sum(part.rows for part in plan.parts) == 6000 * YEAR
    firsts = [part.cells[0][:2] for part in plan.parts]
    assert firsts == sorted(firsts)


def test_files_that_share_a_system_stay_together_at_the_end_too(tmp_path):
    source = source_of(6000, 20)
    # the last name of each file is the first of the next, but for every fourteenth
    files = [
        replace(file, groups=(replace(file.groups[0], high=after.groups[0].low),))
        if (place + 1) % 14
        else file
        for place, (file, after) in enumerate(pairwise(source.files))
    ]
    shared = replace(source, files=(*files, source.files[-1]))
    plan = plan_of(tmp_path, shared, 6000)
    assert len(plan.parts) == 22
    assert all(len(part.files) == 14 for part in plan.parts[:-1])


def test_large_files_are_cut_into_ranges_that_leave_nobody_out(tmp_path):
    plan = plan_of(tmp_path, source_of(4000, 4000, groups=100), 4000)
    assert len(plan.parts) > 10
    assert sum(part.systems for part in plan.parts) == 4000
    ranges = sorted((part.low or "", part.high or "z") for part in plan.parts)
    assert all(before[1] == after[0] for before, after in pairwise(ranges))


def test_neighbours_that_lie_far_apart_are_brought_together_first(tmp_path):
    count = 20 * (SKIES_KEPT + 40)
    plan = plan_of(tmp_path, source_of(count, 100), count, across=True)
    assert plan.bucket is not None
    cells = len(find_cells(systems_of(tmp_path, count, across=True), 0.1).cells)
    assert sum(len(part.cells) for part in plan.parts) <= cells + len(plan.parts)
    together = plan_of(tmp_path, source_of(count, 100), count)
    assert together.bucket is None


def test_systems_in_several_files_are_brought_together_first(tmp_path):
    plan = plan_of(tmp_path, source_of(1000, 50), 1000, order=FileOrder.SPREAD)
    assert plan.bucket is not None
    np.testing.assert_array_equal(np.bincount(plan.bucket), [part.systems for part in plan.parts])


def test_the_fingerprint_changes_with_all_that_decides_the_result(tmp_path, monkeypatch):
    source, systems = source_of(100, 10), systems_of(tmp_path, 100)
    settings = run_settings(MeterOptions(), InferOptions())
    mark = fingerprint(source, systems, settings)
    assert mark == fingerprint(source, systems, run_settings(MeterOptions(), InferOptions()))
    albedo = run_settings(MeterOptions(), InferOptions(albedo=0.3))
    label = run_settings(MeterOptions(label="end"), InferOptions())
    newer = replace(source, files=(replace(source.files[0], modified=2), *source.files[1:]))
    others = [
        fingerprint(newer, systems, settings),
        fingerprint(replace(source, files=source.files[1:]), systems, settings),
        fingerprint(source, systems_of(tmp_path, 90), settings),
        fingerprint(source, systems, albedo),
        fingerprint(source, systems, label),
    ]
    for identity in (("0.0.0", "1"), (IDENTITY[0], "another")):
        monkeypatch.setattr(run_plan, "IDENTITY", identity)
        others.append(fingerprint(source, systems, settings))
    assert len({mark, *others}) == 8


def test_planning_looks_at_footers_alone(readings, systems_file, tmp_path):
    path = tmp_path / "fleet.parquet"
    readings.to_parquet(path, index=False)
    whole = bytearray(path.read_bytes())
    footer = int.from_bytes(whole[-8:-4], "little") + 8
    # without a single page left, everything that a plan needs is still there
    whole[4:-footer] = bytes(len(whole) - footer - 4)
    path.write_bytes(bytes(whole))
    fleet = plan_fleet(path, systems_file, tmp_path, reading=MeterOptions(), workers=1)
    source = fleet.context.job.source
    assert (source.rows, fleet.parts[0].systems) == (len(readings), 6)
    assert find_order(source, fleet.context.systems).order is FileOrder.SORTED


@pytest.mark.parametrize(
    ("layout", "order"),
    [("files", "sorted"), ("folders", "sorted"), ("months", "spread"), ("csv", "whole")],
)
def test_how_systems_lie_in_files_is_told(layout, order, layouts, systems_file):
    source = look_at(layouts[layout], MeterOptions())
    assert find_order(source, read_systems(systems_file)).order == order


def test_files_whose_ranges_overlap_may_still_hold_whole_systems(readings, systems_file, tmp_path):
    for number, names in enumerate((["a1", "b3"], ["a2", "b1"], ["a3", "b2"])):
        part = readings[readings["system_id"].isin(names)]
        part.to_parquet(tmp_path / f"{number}.parquet", index=False)
    source = look_at(tmp_path, MeterOptions())
    ordering = find_order(source, read_systems(systems_file), workers=2)
    assert ordering.order is FileOrder.WHOLE
    assert {name: rows.tolist() for name, rows in ordering.members.items()} == {
        "0.parquet": [0, 5],
        "1.parquet": [1, 3],
        "2.parquet": [2, 4],
    }


def test_what_is_no_reading_is_not_looked_at(readings, systems_file, tmp_path):
    readings.to_parquet(tmp_path / "fleet.parquet", index=False)
    pd.DataFrame({"system_id": ["a1"]}).to_parquet(tmp_path / "systems.parquet")
    (tmp_path / "_SUCCESS").write_text("")
    (tmp_path / "notes.txt").write_text("notes")
    (tmp_path / "out").mkdir()
    readings.to_parquet(tmp_path / "out" / "old.parquet", index=False)
    aside = [tmp_path / "systems.parquet", tmp_path / "out"]
    source = look_at(tmp_path, MeterOptions(), aside=aside)
    assert [file.name for file in source.files] == ["fleet.parquet"]
    assert source.unreadable == ()


def write_times(path, times):
    power = [0.0] * len(times)
    pq.write_table(
        pa.table({"system_id": ["a"] * len(times), "time": times, "power_kw": power}), path
    )


@pytest.mark.parametrize("unit", ["ms", "us", "ns"])
@pytest.mark.parametrize("zone", [None, "UTC", "America/Denver"])
def test_footers_tell_times_in_every_unit(unit, zone, tmp_path):
    first, last = (datetime(2019, 3, day, 6, 30, tzinfo=UTC) for day in (1, 4))
    micros = [int(when.timestamp()) * 1_000_000 for when in (first, last)]
    times = pa.array(micros, pa.timestamp("us")).cast(pa.timestamp(unit))
    write_times(tmp_path / "one.parquet", times.cast(pa.timestamp(unit, zone)) if zone else times)
    source = look_at(tmp_path, MeterOptions())
    assert source.columns.layout is FileLayout.LONG
    assert source.files[0].span == tuple(micros)


def test_times_beyond_any_calendar_tell_no_span(tmp_path):
    write_times(tmp_path / "one.parquet", pa.array([0, 2**62], pa.timestamp("us")))
    assert look_at(tmp_path, MeterOptions()).files[0].span is None


def write(folder, name, systems):
    path = folder / name
    path.parent.mkdir(exist_ok=True)
    rows = [f"{each},2024-06-01T{hour:02}:00Z,1.5" for each in systems for hour in range(5)]
    path.write_text("\n".join(["system_id,time,power_kw", *rows]) + "\n")
    return path


def test_files_that_share_a_system_are_together(tmp_path):
    shared = (("a", "b"), ("c",), ("d", "e"), ("b", "d"), ("f",), ("c", "g"))
    paths = [write(tmp_path, f"{n}.csv", names) for n, names in enumerate(shared)]
    assert files_together(paths, MeterOptions()) == [0, 1, 0, 0, 4, 1]
    # those named after their systems are apart, unless their names are the same
    names = ("2023/a.csv", "2023/b.csv", "2024/a.csv", "2024/c.csv")
    paths = [write(tmp_path, name, [name[5]]) for name in names]
    assert files_together(paths, MeterOptions()) == [0, 1, 0, 3]


def test_what_cannot_be_read_is_refused_beside_the_others(tmp_path):
    paths = [write(tmp_path, "1.csv", ["a"]), tmp_path / "2.csv", write(tmp_path, "3.csv", ["a"])]
    paths[1].write_text("")
    assert files_together(paths, MeterOptions()) == [0, 1, 0]
    refused, found = iter_file_systems(paths, MeterOptions())
    assert isinstance(refused, RefusedSystem)
    assert (refused.system_id, refused.kind) == ("2", UNREAD)
    name, raw, _ = found
    assert (name, len(raw.values)) == ("a", 10)
