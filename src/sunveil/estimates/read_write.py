"""Estimates of a fleet read back: run folder, Parquet, CSV, JSON."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from sunveil._options import check_fields, checked
from sunveil.errors import MeterError, ParameterError, SourceError
from sunveil.estimates.estimates_table import PRIVATE, Estimates, as_numbers, key_texts, number_of
from sunveil.estimates.flags_and_quality import Flag
from sunveil.estimates.planes_and_intervals import Assumptions
from sunveil.household_keys import key_of, keys_of
from sunveil.meters.file_types import read_text_table, sound_text
from sunveil.meters.json_files import parse_json
from sunveil.meters.record import RefusedSystem
from sunveil.site import SkyModel

RUN = "run.json"

SUMMARY = "summary.json"


def table_keys(column: pa.ChunkedArray, name: str, where: str) -> list[str | None]:
    """Return the keys in a column of a table, None where a cell is empty."""
    try:
        return keys_of(column)
    except ParameterError as error:
        raise SourceError(f"the column {name!r} of {where}, {error}") from None


_VALUES = ("surface_azimuth", "surface_tilt", "dc_capacity_kw")

_COLUMNS = ("system_id", *_VALUES)

# What not every file has.
_PLANES, _TRACKER, _FLAGS = "planes", "tracker", "flags"

# What modules stand on. A system of which that is not known has the place behind them.
MOUNTS = ("one plane", "two planes", "tracker")

_PLANE_NUMBERS = ("surface_azimuth", "surface_tilt", "share")

_UNTOLD = Flag.NOT_ONE_PLANE.value


def _no_numbers() -> NDArray[np.float64]:
    return np.empty(0)


@dataclass(frozen=True, slots=True, eq=False)
class FleetPlanes:
    """Planes of a fleet's systems, one entry a plane: private."""

    row: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    surface_azimuth: NDArray[np.float64] = field(default_factory=_no_numbers)  # [degrees]
    surface_tilt: NDArray[np.float64] = field(default_factory=_no_numbers)  # [degrees]
    share: NDArray[np.float64] = field(default_factory=_no_numbers)

    def __post_init__(self) -> None:
        sizes = {len(self.row), *(len(getattr(self, name)) for name in _PLANE_NUMBERS)}
        if len(sizes) != 1:
            raise ParameterError("the columns of a fleet's planes have unequal lengths")

    def __len__(self) -> int:
        return len(self.row)

    def __repr__(self) -> str:
        return f"FleetPlanes({len(self.row)} planes, private)"

    def take(self, chosen: NDArray[Any]) -> FleetPlanes:
        """Return some of the planes, or all of them in another order."""
        return FleetPlanes(
            self.row[chosen], *(getattr(self, name)[chosen] for name in _PLANE_NUMBERS)
        )

    def of_rows(self, kept: NDArray[np.bool_]) -> FleetPlanes:
        """Return the planes of some systems, by their rows among these."""
        chosen = self.take(kept[self.row])
        numbers = (getattr(chosen, name) for name in _PLANE_NUMBERS)
        return FleetPlanes(np.cumsum(kept)[chosen.row] - 1, *numbers)

    def of_several(self, rows: int) -> FleetPlanes:
        """Return the planes of systems with more than one, with shares that add up to 1."""
        # A system with a plane that lacks a number, or has a share below nothing, is dropped as
        # if it had one plane only: whatever a table holds, a system weighs no more than 1.
        known = np.isfinite(self.surface_azimuth) & np.isfinite(self.surface_tilt)
        known &= np.isfinite(self.share) & (self.share >= 0.0)
        total = np.bincount(self.row, np.where(known, self.share, 0.0), minlength=rows)
        usable = np.bincount(self.row, minlength=rows) > 1
        usable &= np.bincount(self.row[~known], minlength=rows) == 0
        usable &= (total > 0.0) & np.isfinite(total)
        chosen = self.take(usable[self.row])
        share = chosen.share / total[chosen.row]
        return FleetPlanes(chosen.row, chosen.surface_azimuth, chosen.surface_tilt, share)


def every_plane(
    azimuth: NDArray[np.float64], tilt: NDArray[np.float64], several: FleetPlanes
) -> FleetPlanes:
    """Return the planes of all systems by row, each system's shares adding up to 1."""
    several = several.of_several(len(azimuth))
    alone = np.setdiff1d(np.arange(len(azimuth)), several.row)
    planes = FleetPlanes(
        np.concatenate([alone, several.row]),
        np.concatenate([azimuth[alone], several.surface_azimuth]),
        np.concatenate([tilt[alone], several.surface_tilt]),
        np.concatenate([np.ones(len(alone)), several.share]),
    )
    return planes.take(np.argsort(planes.row, kind="stable"))


def planes_of_column(column: pa.ChunkedArray) -> FleetPlanes:
    """Return what a column of lists of planes holds; nothing of a column of another kind."""
    kind = column.type
    if not (pa.types.is_list(kind) or pa.types.is_large_list(kind)):
        return FleetPlanes()
    inner = kind.value_type
    if not pa.types.is_struct(inner) or any(
        inner.get_field_index(name) < 0 for name in _PLANE_NUMBERS
    ):
        return FleetPlanes()
    lists = column.combine_chunks()
    if isinstance(lists, pa.ChunkedArray):  # of no chunk at all
        return FleetPlanes()
    planes = pc.list_flatten(lists)
    row = pc.list_parent_indices(lists).to_numpy(zero_copy_only=False).astype(np.int64)
    numbers = (
        as_numbers(pa.chunked_array([pc.struct_field(planes, name)])) for name in _PLANE_NUMBERS
    )
    return FleetPlanes(row, *numbers)


def trackers_of_column(column: pa.ChunkedArray) -> NDArray[np.bool_]:
    """Return which systems a column of trackers names; none of a column of another kind."""
    if pa.types.is_struct(column.type):
        return np.asarray(pc.is_valid(column).to_numpy(), dtype=bool)
    if pa.types.is_boolean(column.type):
        return np.asarray(pc.fill_null(column, False).to_numpy(), dtype=bool)
    return np.zeros(len(column), dtype=bool)


def unresolved_of_column(flags: pa.ChunkedArray) -> NDArray[np.bool_]:
    """Return which systems have the flag of more than one plane without knowing which."""
    kind = flags.type
    listed = pa.types.is_list(kind) or pa.types.is_large_list(kind)
    if not (listed and pa.types.is_string(kind.value_type)):
        return np.zeros(len(flags), dtype=bool)
    raised = pc.equal(pc.list_flatten(flags), _UNTOLD)
    rows = pc.list_parent_indices(flags).filter(raised).to_numpy()
    return np.isin(np.arange(len(flags)), rows)


def columns_of_objects(systems: Sequence[Mapping[str, Any]]) -> dict[str, pa.Array]:
    """Return what systems of a JSON file name as such columns, each system read by itself."""
    planes = [
        [{name: number_of(plane.get(name)) for name in _PLANE_NUMBERS} for plane in each]
        if all(isinstance(plane, dict) for plane in each)
        else []
        for each in _lists(systems, "planes")
    ]
    turning = [isinstance(system.get("tracker"), dict) for system in systems]
    # other texts are dropped: one that is no Unicode would stop all systems
    flags = [[_UNTOLD] * (_UNTOLD in each) for each in _lists(systems, "flags")]
    numbers = pa.struct([(name, pa.float64()) for name in _PLANE_NUMBERS])
    return {
        "planes": pa.array(planes, pa.list_(numbers)),
        "tracker": pa.array(turning, pa.bool_()),
        "flags": pa.array(flags, pa.list_(pa.string())),
    }


def _lists(systems: Sequence[Mapping[str, Any]], name: str) -> list[list[Any]]:
    """Return the lists of that name, empty where a system has something else there."""
    found = (system.get(name) for system in systems)
    return [each if isinstance(each, list) else [] for each in found]


def _none() -> NDArray[np.bool_]:
    return np.empty(0, dtype=bool)


@dataclass(frozen=True, slots=True, eq=False)
class FleetRows:
    """The inferred metadata of a fleet, one row per system: private."""

    system_ids: tuple[str, ...]  # the curator's names of the systems, distinct
    # inferred planes, NaN for systems that were refused. [degrees]
    surface_azimuth: NDArray[np.float64]
    surface_tilt: NDArray[np.float64]
    # inferred capacities, NaN for systems that were refused. [kW]
    dc_capacity_kw: NDArray[np.float64]
    # public columns such as feeder or ZIP, as texts, ``""`` where blank: which group a system
    # belongs to is no secret, what its panels are is
    keys: dict[str, NDArray[Any]] = field(default_factory=dict)
    # the planes of the systems that stand on more than one
    several: FleetPlanes = field(default_factory=FleetPlanes)
    # which systems follow the sun; none by default
    turning: NDArray[np.bool_] = field(default_factory=_none)
    # which stand on more than one plane, and nothing can tell which; none by default
    unresolved: NDArray[np.bool_] = field(default_factory=_none)

    def __post_init__(self) -> None:
        check_fields(self)
        for name in ("turning", "unresolved"):
            if not len(getattr(self, name)):
                object.__setattr__(self, name, np.zeros(len(self.system_ids), dtype=bool))
        sizes = {
            len(self.system_ids),
            len(self.surface_azimuth),
            len(self.surface_tilt),
            len(self.dc_capacity_kw),
            len(self.turning),
            len(self.unresolved),
            *(len(column) for column in self.keys.values()),
        }
        if len(sizes) != 1:
            raise ParameterError("the columns of a fleet have unequal lengths")
        names = tuple(key_of(name) for name in self.system_ids)
        if None in names:
            raise ParameterError("a system of a fleet has no name; give each an id")
        object.__setattr__(self, "system_ids", names)
        if len(set(names)) != len(names):
            raise ParameterError("a system_id occurs twice; give one row for each system")

    def __len__(self) -> int:
        return len(self.system_ids)

    def __repr__(self) -> str:
        return f"FleetRows({len(self.system_ids)} systems, private)"

    @property
    def planes(self) -> FleetPlanes:
        """The planes of all systems by row, the shares of each system adding up to 1.

        A system without several has its one plane, a tracker its modules at rest, and a system
        that was refused one plane that is unknown.
        """
        return every_plane(self.surface_azimuth, self.surface_tilt, self.several)

    @property
    def mounts(self) -> NDArray[np.int64]:
        """What each system stands on, as its place in :data:`MOUNTS`, or behind them: unknown.

        It is unknown of a system without azimuth, tilt or capacity, and of one that stands on more
        than one plane without knowing which. Two planes are two or more, where a table lists
        more.
        """
        numbers = (self.surface_azimuth, self.surface_tilt, self.dc_capacity_kw)
        lacking = ~np.isfinite(numbers).all(axis=0)
        several = np.isin(np.arange(len(self)), self.several.of_several(len(self)).row)
        unknown = len(MOUNTS)
        found = np.select(
            [lacking, self.turning, several, self.unresolved],
            [unknown, 2, 1, unknown],
            default=0,
        )
        return found.astype(np.int64)

    def kept(self, which: NDArray[np.bool_]) -> FleetRows:
        """Return some of the systems."""
        return FleetRows(
            tuple(name for name, keep in zip(self.system_ids, which, strict=True) if keep),
            self.surface_azimuth[which],
            self.surface_tilt[which],
            self.dc_capacity_kw[which],
            {name: column[which] for name, column in self.keys.items()},
            self.several.of_rows(which),
            self.turning[which],
            self.unresolved[which],
        )


def is_fleet(folder: Path | str) -> bool:
    """Whether a folder holds a run over a fleet that has come to its end."""
    folder = Path(folder)
    return (folder / RUN).is_file() and (folder / SUMMARY).is_file()


@checked
def read_fleet(path: Path | str, *, keys: Sequence[str] = ()) -> FleetRows:
    """Return the rows of a fleet, with public columns beside them.

    Systems that were refused stay as rows without values: which of them could not be inferred is
    as private as their readings. Each cell becomes a number, or a missing value where it is none,
    by itself: no other cell has a say in how it is read.

    A folder that ``infer_fleet`` wrote has the rows of the table of systems, refused or not, in the
    order of their names; JSON is as ``sunveil infer --json`` writes it; a CSV or Parquet table has
    ``system_id``, ``surface_azimuth``, ``surface_tilt`` and ``dc_capacity_kw``. JSON and Parquet
    tables may have ``planes``, ``tracker`` and ``flags``.

    Privacy
    -------
    No protection: the rows are as private as the readings.
    """
    path = Path(path)
    inferred = sorted(PRIVATE & set(keys))
    if inferred:
        raise ParameterError(
            f"{inferred[0]} is inferred from readings, and divides no fleet in public; name a"
            " column of the table of systems"
        )
    if path.is_dir():
        table = _from_folder(path, tuple(keys))
    elif not path.is_file():
        raise SourceError(f"there is no file {path}; give what sunveil infer wrote")
    elif path.suffix.lower() == ".json":
        table = _from_json(path, tuple(keys))
    else:
        table = _from_table(path, tuple(keys))
    if not table.num_rows:
        raise SourceError(f"{path} has no system")
    names = table.column("system_id")
    if names.null_count:
        raise SourceError(f"{path} has a row without a system_id; name its system or remove it")
    return FleetRows(
        system_ids=tuple(each or "" for each in table_keys(names, "system_id", str(path))),
        keys={key: _texts(table.column(key)) for key in keys},
        several=_several(table),
        turning=_marked(table, _TRACKER, trackers_of_column),
        unresolved=_marked(table, _FLAGS, unresolved_of_column),
        **{name: as_numbers(table.column(name)) for name in _VALUES},
    )


def read_assumptions(folder: Path | str) -> Assumptions:
    """Return what the estimates of a run over a fleet assume, from what the run wrote of itself."""
    path = Path(folder) / RUN
    try:
        settings = json.loads(path.read_text(encoding="utf-8"))["settings"]
        return Assumptions.from_dict(
            {"sky_model": SkyModel.PEREZ.value, "method": "default", **settings}
        )
    except (OSError, ValueError, KeyError, TypeError):
        raise SourceError(f"{path} does not say what its estimates assume") from None


@checked
def read_estimates(folder: Path | str) -> Estimates:
    """Return the estimates that ``infer_fleet`` wrote, in the order of the systems' names.

    ``refused`` has the systems without one, each with its reason.

    Parameters
    ----------
    folder
        What was given to ``infer_fleet`` as ``out``, once its run is over.

    Privacy
    -------
    No protection: the estimates are as private as the readings.
    """
    folder = Path(folder)
    parts, assumptions = _parts(folder), read_assumptions(folder)
    try:
        rows = [row for part in parts for row in pq.read_table(part).to_pylist()]
        none = pq.read_table(folder / "refused.parquet").to_pylist()
        rows.sort(key=lambda row: str(row["system_id"]))
        refused = [RefusedSystem(row["system_id"], row["kind"], row["reason"]) for row in none]
        return Estimates.concat([Estimates.from_rows(rows, assumptions)], refused)
    except (pa.ArrowException, OSError, KeyError, ValueError):
        raise SourceError(
            f"the estimates in {folder} cannot be read: they are damaged, or another version of"
            " Sunveil wrote them; infer its systems again"
        ) from None


def _parts(folder: Path) -> list[Path]:
    """Return the files of estimates of a run that is over."""
    if not is_fleet(folder):
        raise SourceError(
            f"{folder} is not what sunveil infer --systems wrote, or its run is not over; start the"
            " same command again to finish it"
        )
    return sorted((folder / "estimates").glob("part-*.parquet"))


def _from_folder(folder: Path, keys: tuple[str, ...]) -> pa.Table:
    parts = _parts(folder)
    try:
        names = list(dict.fromkeys((*_COLUMNS, *keys)))
        own = {*names, _PLANES, _TRACKER, _FLAGS} - set(keys)
        complete = all(own <= set(pq.read_schema(part).names) for part in parts)
        found = [_read_parquet(part, names) for part in parts]
        # lists of nothing have no type
        estimates = pa.concat_tables(found, promote_options="permissive")
        refused = pq.read_table(
            folder / "refused.parquet", columns=["system_id", "in_systems", *keys]
        )
    except (pa.ArrowException, OSError, KeyError, ValueError):
        listed = f" with the columns {', '.join(keys)}" if keys else ""
        raise SourceError(f"the estimates in {folder} cannot be read{listed}") from None
    if not complete:
        raise SourceError(f"another version of Sunveil wrote {folder}; infer its systems again")
    missing = [key for key in keys if key not in estimates.column_names]
    if missing:
        raise SourceError(f"the systems of {folder} have no column {missing[0]!r}")
    refused = refused.filter(refused.column("in_systems")).drop_columns(["in_systems"])
    both = pa.concat_tables([estimates, refused], promote_options="permissive")
    return both.sort_by("system_id")


def _from_json(path: Path, keys: tuple[str, ...]) -> pa.Table:
    try:
        found = parse_json(path.read_bytes(), where=str(path))
    except MeterError:
        found = None
    if not isinstance(found, list):
        raise SourceError(f"{path} is not what sunveil infer --json writes")
    rows = [each for each in found if isinstance(each, dict) and "system_id" in each]
    for name in (*_COLUMNS, *keys):
        unknown = name in _VALUES and any("error" in each for each in rows)
        if not unknown and not any(name in each for each in rows):
            raise SourceError(f"{path} has no system with {name}")
    texts = {name: [_text(each.get(name)) for each in rows] for name in (*_COLUMNS, *keys)}
    columns = {
        name: pa.array(map(number_of, column), pa.float64())
        if name in _VALUES
        else pa.array(column, pa.string())
        for name, column in texts.items()
    }
    return pa.table({**columns_of_objects(rows), **columns})


def _from_table(path: Path, keys: tuple[str, ...]) -> pa.Table:
    names = list(dict.fromkeys((*_COLUMNS, *keys)))
    read = _read_parquet if path.suffix.lower() in (".parquet", ".pq") else _read_csv
    try:
        found = read(path, names)
    except KeyError:
        raise SourceError(f"{path} lacks one of the columns {', '.join(names)}") from None
    except (pa.ArrowException, OSError, ValueError, MeterError):
        raise SourceError(f"{path} cannot be read as a table of estimates") from None
    if not set(names) <= set(found.column_names):
        raise SourceError(f"{path} lacks one of the columns {', '.join(names)}")
    return found


def _read_parquet(path: Path, columns: list[str]) -> pa.Table:
    """Return columns of a Parquet file, and of planes, trackers and flags those that it has."""
    names = set(pq.read_schema(path).names) - set(columns)
    more = [name for name in (_PLANES, _TRACKER, _FLAGS) if name in names]
    return pq.read_table(path, columns=[*columns, *more])


def _read_csv(path: Path, columns: list[str]) -> pa.Table:
    """Return columns of a CSV file as texts, each line read by itself."""
    found = read_text_table(path, where=str(path), private=_VALUES)
    places = [at for at, name in enumerate(found) if name in _VALUES]
    between = list(found)[places[0] : places[-1]] if places else []
    if parted := [name for name in between if name in columns and name not in _VALUES]:
        raise SourceError(
            f"{path} has the column {parted[0]!r} between those of the estimates; put it before or"
            " behind them"
        )
    return pa.table({name: found[name] for name in columns})


def _several(table: pa.Table) -> FleetPlanes:
    """Return the planes that a table lists; those of somebody else may list none."""
    named = _PLANES in table.column_names
    return planes_of_column(table.column(_PLANES)) if named else FleetPlanes()


def _marked(
    table: pa.Table, name: str, mark: Callable[[pa.ChunkedArray], NDArray[np.bool_]]
) -> NDArray[np.bool_]:
    """Return which systems a column marks; none where a table lacks it."""
    return mark(table.column(name)) if name in table.column_names else _none()


def _text(value: Any) -> str | None:
    return None if value is None else sound_text(str(value))


def _texts(column: pa.ChunkedArray) -> NDArray[np.str_]:
    try:
        return np.asarray(key_texts(column).to_pylist(), dtype=np.str_)
    except pa.ArrowException:
        raise SourceError("a key column of the fleet holds lists or bytes, not texts") from None
