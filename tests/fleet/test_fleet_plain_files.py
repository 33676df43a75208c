from __future__ import annotations

from sunveil.fleet.file_layouts import files_together, iter_file_systems
from sunveil.meters import MeterOptions, RefusedSystem
from sunveil.meters.record import UNREAD

OPTIONS = MeterOptions()


def write(folder, name, systems):
    path = folder / name
    path.parent.mkdir(exist_ok=True)
    rows = [f"{each},2024-06-01T{hour:02}:00Z,1.5" for each in systems for hour in range(5)]
    path.write_text("\n".join(["system_id,time,power_kw", *rows]) + "\n")
    return path


def test_files_that_share_a_system_are_together(tmp_path):
    shared = (("a", "b"), ("c",), ("d", "e"), ("b", "d"), ("f",), ("c", "g"))
    paths = [write(tmp_path, f"{n}.csv", names) for n, names in enumerate(shared)]
    assert files_together(paths, OPTIONS) == [0, 1, 0, 0, 4, 1]


def test_files_named_after_their_systems_are_apart_unless_their_names_are_the_same(tmp_path):
    names = ("2023/a.csv", "2023/b.csv", "2024/a.csv", "2024/c.csv")
    paths = [write(tmp_path, name, [name[5]]) for name in names]
    assert files_together(paths, OPTIONS) == [0, 1, 0, 3]


def test_what_cannot_be_read_is_refused_beside_the_others(tmp_path):
    paths = [write(tmp_path, "1.csv", ["a"]), tmp_path / "2.csv", write(tmp_path, "3.csv", ["a"])]
    paths[1].write_text("")
    assert files_together(paths, OPTIONS) == [0, 1, 0]
    refused, found = iter_file_systems(paths, OPTIONS)
    assert isinstance(refused, RefusedSystem)
    assert (refused.system_id, refused.kind) == ("2", UNREAD)
    name, raw, _ = found
    assert (name, len(raw.values)) == ("a", 10)
