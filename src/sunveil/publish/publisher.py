"""Households of a publication, and how it was made."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sunveil.errors import SourceError
from sunveil.estimates.read_write import table_keys
from sunveil.fleet.systems_table import SYSTEM_NAMES, read_plain_table
from sunveil.ledger.promises import HOUSEHOLD, METER, SystemHome, distinct_homes
from sunveil.publication.published_tables import LARGEST_KW, Bins, Publication
from sunveil.releases.release_choices import Choices

if TYPE_CHECKING:
    from sunveil.publish.release_card import PublicationAccount


def read_households(path: Path | str, system_column: str | None = None) -> list[SystemHome]:
    """Return the households that a table of systems names; none where it has no such column."""
    table, where = read_plain_table(Path(path)), Path(path).name
    folded = {name.strip().lower(): name for name in reversed(table.column_names)}
    usual = SYSTEM_NAMES if system_column is None else (system_column.strip().lower(),)
    system = next((folded[name] for name in usual if name in folded), None)
    if system is None:
        raise SourceError(f"{where} has no column of systems (system_id)")
    if HOUSEHOLD not in folded and folded.get(METER, system) == system:
        return []
    columns = [
        table_keys(table.column(name), name, where) if name else [None] * len(table)
        for name in (system, folded.get(HOUSEHOLD), folded.get(METER))
    ]
    rows = enumerate(zip(*columns, strict=True), 1)
    return [
        SystemHome(name, household, meter, number)
        for number, (name, household, meter) in rows
        if name is not None
    ]


def published_homes(
    names: Iterable[str], homes: Iterable[SystemHome] = ()
) -> tuple[SystemHome, ...]:
    """Return whose the systems are that are about to be published."""
    asked = [SystemHome(name) for name in names]
    wanted = {home.system_id for home in asked}
    known = distinct_homes(home for home in homes if home.system_id in wanted)
    return tuple(known.get(home.name, home) for home in asked)


DEFAULTS = "Sunveil's own, constants of the program that are the same for all data"


THEIRS = "that this was done without looking at any reading is the curator's to state"


ASKED = "the question named them, and who asks through the service can look at no reading"


ROWS = (
    "Rows of inferred values are taken as they are given: that each was inferred from the readings"
    " of its own system alone is the curator's to state."
)


def is_synthetic(publication: Publication) -> bool:
    """Whether its rows are sampled from a model."""
    return publication.public.get("data_product_type") == "Synthetic data"


def has_systems(publication: Publication) -> bool:
    """Whether it has one row for each system, drawn from that system's readings."""
    return any(column.name == "release_id" for t in publication.tables for column in t.columns)


def statement(publication: Publication) -> str:
    """Return its guarantee, and of how much of it that is."""
    what = "Each row" if has_systems(publication) else "All tables together"
    return f"{what}: {publication.guarantee}."


def mechanisms(publication: Publication) -> str:
    """Return which mechanisms drew it, as a sentence."""
    return f"{publication.mechanism[:1].upper()}{publication.mechanism[1:]}."


def data_domain(publication: Publication) -> str:
    """Return what the data are of which neighbours are."""
    if has_systems(publication):
        return "Meter readings of solar PV systems, one record per system."
    return (
        "Azimuth, tilt and DC capacity inferred of solar PV systems, and whether they stand on one"
        " plane, on two or on a tracker; one row per system."
    )


def unprotected(publication: Publication) -> str:
    """Return what is taken to be public."""
    count = publication.public.get("systems")
    said = "Public: which systems are in the data"
    said += "" if count is None else f", how many ({count})"
    if has_systems(publication):
        return f"{said}, their places, the weather there, and the times of their readings."
    key = publication.public.get("key")
    return f"{said}." if key is None else f"{said}, and which of them are in each {key}."


def preprocessing(publication: Publication, account: PublicationAccount | None) -> str | None:
    """Return what was chosen before the draw, and by whom; None where it is not known."""
    whose = ASKED if account is not None and account.interactive else THEIRS
    if has_systems(publication):
        said = "Each reading is taken by itself: no rule looks at a record as a whole."
        if account is not None and account.schema is not None:
            said += (
                " Files were read by their headers and by declarations whose schema digest is"
                f" {account.schema}."
            )
        return f"{said} {_choices(publication.public, whose)}"
    if is_synthetic(publication):
        return f"{ROWS} Bins are public."
    if "tilt_edges" in publication.public:
        return f"{ROWS} {_bins(publication.public, whose)}"
    return None


def _choices(public: dict[str, Any], whose: str) -> str:
    """Return whose the choices of releases of systems are."""
    made = public.get("choices")
    if made is None:
        return "What rows were drawn with stands in the README, under its public choices."
    usual = {name: json.dumps(value) for name, value in Choices().to_dict().items()}
    other = sorted(name for name, value in made.items() if json.dumps(value) != usual.get(name))
    if not other:
        return f"Grid, tolerance and votes are {DEFAULTS}."
    return f"Chosen for it: {', '.join(other)}; {whose}. All other choices are {DEFAULTS}."


def _bins(public: dict[str, Any], whose: str) -> str:
    """Return whose the bins and bounds of a fleet's tables are."""
    usual = Bins()
    given = (public["sectors"], *map(tuple, (public["tilt_edges"], public["capacity_edges_kw"])))
    defaults = given == (usual.sectors, usual.tilt_edges, usual.capacity_edges_kw)
    said = [f"Bins are {DEFAULTS}." if defaults else f"Bins were chosen for it; {whose}."]
    parts, clip = public.get("parts", {}), public.get("clip_kw")
    if "totals" in parts and clip is not None:
        said.append(f"Bounds of capacity in totals were given; {whose}.")
    elif "totals" in parts:
        said.append(
            "What capacities are held at in totals was drawn privately from a public ladder, and"
            " paid for out of what totals cost."
        )
    if public.get("largest_kw", LARGEST_KW) != LARGEST_KW:
        said.append(f"The largest capacity of a system was given; {whose}.")
    return " ".join(said)


def post_processing(publication: Publication) -> str:
    """Return what was done with what had been drawn."""
    if is_synthetic(publication):
        return "A graphical model was fitted to the noisy counts, and the rows sampled from it."
    if has_systems(publication):
        return "None: rows are as they were drawn, in the order of their random names."
    done = []
    names = {table.name for table in publication.tables}
    noisy = {t.name for t in publication.tables for column in t.columns if column.name == "noisy"}
    if noisy - {"mounts"}:
        done.append(
            "Counts were made to agree with each other and with the public number of systems, whole"
            " and not negative; the column noisy has them as they were drawn."
        )
    if "mounts" in noisy:
        done.append(
            "Counts by mount were made to agree with the public number of systems alone, whole and"
            " not negative; the column noisy has them as they were drawn."
        )
    if "totals" in names:
        done.append("Means are totals divided by public numbers of systems.")
    if "quantiles" in names:
        done.append("Quantiles of one quantity were put in order.")
    return " ".join(done) or "None beyond what the tables say of themselves."


def composition(publication: Publication, account: PublicationAccount | None) -> str:
    """Return how the losses of a publication, and of all of them, add up."""
    if has_systems(publication):
        within = (
            "Each row depends on the record of one system alone, so that a household loses what its"
            " own rows cost."
        )
    else:
        within = "The parts of a publication add up to what it costs."
    if account is None:
        return f"{within} {NO_ACCOUNT}"
    if account.promise.delta == 0.0:
        return f"{within} Over all releases of a household's records, ε is added up."
    return (
        f"{within} Over all releases of a household's records, ρ of zero-concentrated DP is added"
        f" up, and turned into ε at δ by the tight conversion."
    )


NO_ACCOUNT = (
    "No ledger's account was given with this publication: nothing here says that it was recorded,"
    " or what else was spent on the same systems."
)
