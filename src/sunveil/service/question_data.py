"""Each kind of question: its plan, errors, answer and files, and the private data it needs."""

from __future__ import annotations

import datetime
import json
import math
import tempfile
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Generic, TypeVar

from sunveil.errors import ParameterError, SourceError
from sunveil.estimates.read_write import MOUNTS, FleetRows, read_fleet
from sunveil.fleet.open import open_fleet
from sunveil.ledger.ledger import Ledger
from sunveil.ledger.promises import Question, SystemHome
from sunveil.meters.schema_files import schema_digest
from sunveil.privacy.discrete_noise import Spending
from sunveil.privacy.guarantees import ConcentratedGuarantee, Guarantee, parse_unit
from sunveil.publication.publication_folder import write_publication
from sunveil.publication.published_tables import (
    LARGEST_KW,
    MARGINS,
    Bins,
    HowMade,
    Publication,
    PublishedTable,
)
from sunveil.publish.account import PublicationAccount
from sunveil.publish.capacity_cap import ClipRule, expected_cut, ladder
from sunveil.publish.fleet_tables import Expected, FleetTables, TableChoices
from sunveil.publish.publisher import Product, Publisher, read_households
from sunveil.publish.synthetic_table import SyntheticTable
from sunveil.publish.system_rows import SystemRows
from sunveil.releases.fleet_releases import ReleaseTerms, SystemsToRelease
from sunveil.releases.release_answer import ExpectedErrors
from sunveil.service.questions import (
    ExpectedError,
    FleetTableQuestion,
    NotServed,
    QuantilesQuestion,
    QuestionPlan,
    SyntheticQuestion,
    SystemsQuestion,
    TotalsQuestion,
)
from sunveil.service.store.database import ReleaseRow, Served
from sunveil.service.upload_checks import meter_options
from sunveil.site import Site

Held = TypeVar("Held")


class DatasetCache(Generic[Held]):
    """What was read of datasets, each as long as it stays as it is."""

    def __init__(self, read: Callable[[Served], Held]) -> None:
        self._read = read
        self._lock = threading.Lock()
        self._known: dict[str, tuple[Served, Held]] = {}

    def get(self, dataset: Served) -> Held:
        stamp = replace(dataset, title="", about="", made="")
        with self._lock:
            found = self._known.get(dataset.name)
            if found is None or found[0] != stamp:
                found = stamp, self._read(dataset)
                self._known[dataset.name] = found
        return found[1]


class Data:
    """Data of datasets, read when first asked for and again when the dataset has changed."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        # the inferred rows of a fleet, and its meters and their weather: private
        self.rows = DatasetCache(self._read_rows).get
        self.systems = DatasetCache(self._read_systems).get
        # who owns the systems, as far as the dataset's table of systems says
        self.homes = DatasetCache(self._read_homes).get

    def _read_homes(self, dataset: Served) -> list[SystemHome]:
        if dataset.table is None:
            return []
        path, options = dataset.path(self._folder, dataset.table), meter_options(dataset)
        return read_households(path, options.system_column)

    def _read_rows(self, dataset: Served) -> FleetRows:
        assert dataset.estimates is not None
        path = dataset.path(self._folder, dataset.estimates)
        return read_fleet(path, keys=list(dataset.keys))

    def _read_systems(self, dataset: Served) -> SystemsToRelease:
        """Return the systems of a dataset as every release reads them."""
        # A system of which no record can be made, for its rows and stamps, is dropped; whatever
        # readings a record holds, it is there.
        assert dataset.meters is not None
        reading = replace(meter_options(dataset), cleaning="each")
        meters, site, table = dataset.path(self._folder, dataset.meters), None, None
        if dataset.table is not None:
            table = dataset.path(self._folder, dataset.table)
        else:
            assert dataset.latitude is not None
            assert dataset.longitude is not None
            site = Site(dataset.latitude, dataset.longitude, dataset.altitude)
        with open_fleet(meters, table, site=site, reading=reading, workers=1) as fleet:
            held = fleet.in_memory()
        try:
            return SystemsToRelease.of(held, workers=1)
        except (ParameterError, SourceError):
            raise SourceError(
                "no system of the dataset has rows and stamps that can be read"
            ) from None


@dataclass(frozen=True, slots=True)
class AnalystQuestion:
    dataset: Served  # the dataset
    question: Any  # what is asked
    analyst: str  # who asks
    data: Data  # where the private data are


def plan(case: AnalystQuestion, ledger: Ledger) -> QuestionPlan:
    """Return what a question would cost, and its expected errors, from what is public."""
    product = product_of(case, ledger)
    planned = _publisher(case, ledger).plan(product)
    expected = _expected(case, ledger, product, planned.expected)
    return QuestionPlan(planned.cost, planned.kept, expected)


def expected_errors(case: AnalystQuestion, ledger: Ledger) -> tuple[ExpectedError, ...]:
    """Return the expected errors of a question, independent of earlier questions and spending."""
    product = product_of(case, ledger)
    found = product.expected(ledger.dataset(case.dataset.name), None)
    return _expected(case, ledger, product, found)


def answer(case: AnalystQuestion, ledger: Ledger) -> Publication:
    """Answer a question: the ledger is charged before anything is drawn."""
    rows = None if isinstance(case.question, SystemsQuestion) else case.data.rows(case.dataset)
    homes = case.data.homes(case.dataset)
    return _publisher(case, ledger, homes).publish(product_of(case, ledger, rows))


def account_of_answer(
    case: AnalystQuestion, ledger: Ledger, publication: Publication
) -> PublicationAccount:
    """Return the ledger's account of an answer: public, and nothing of any analyst's share."""
    read = isinstance(case.question, SystemsQuestion)  # tables are made from inferred rows
    schema = schema_digest(meter_options(case.dataset)) if read else None
    return _publisher(case, ledger).account(publication, schema=schema, interactive=True)


def question_of(case: AnalystQuestion, ledger: Ledger) -> Question:
    """Return what :func:`answer` asks the ledger."""
    synthetic = isinstance(case.question, SyntheticQuestion)
    product = product_of(case, ledger, case.data.rows(case.dataset) if synthetic else None)
    dataset = ledger.dataset(case.dataset.name)
    question = product.question(dataset, (), analyst=case.analyst)
    assert question is not None  # as it is for questions without a series
    return question


def product_of(
    case: AnalystQuestion, ledger: Ledger, rows: FleetRows | None = None
) -> Product[Any]:
    """Return the product that a question asks for; rows of the fleet are needed for its draw."""
    dataset, asked = case.dataset, case.question
    if isinstance(asked, SystemsQuestion):
        promise = ledger.dataset(dataset.name).promise
        terms = ReleaseTerms.of(promise.unit, asked.epsilon, promise=promise)
        # of an edition that is not the first
        edition = dataset.edition if dataset.extra.get("editions") else None
        return SystemRows(case.data.systems(dataset), terms, edition)
    if isinstance(asked, SyntheticQuestion):
        return SyntheticTable(asked.epsilon, rows, dataset.systems, edition=dataset.edition)
    return FleetTables(table_choices(dataset, asked), rows, dataset.systems)


def _publisher(
    case: AnalystQuestion, ledger: Ledger, homes: Sequence[SystemHome] = ()
) -> Publisher:
    return Publisher(ledger, case.dataset.name, analyst=case.analyst, homes=homes)


def _expected(
    case: AnalystQuestion, ledger: Ledger, product: Product[Any], found: Any
) -> tuple[ExpectedError, ...]:
    """Return the errors to expect of a product as the service states them."""
    if isinstance(product, SystemRows):
        return system_errors(found)
    if isinstance(product, SyntheticTable):
        return synthetic_errors(found)
    assert isinstance(product, FleetTables)
    concentrated = ledger.dataset(case.dataset.name).promise.delta > 0.0
    return table_errors(
        found, product.choices, systems=case.dataset.systems, concentrated=concentrated
    )


def table_choices(
    dataset: Served, asked: FleetTableQuestion | TotalsQuestion | QuantilesQuestion
) -> TableChoices:
    group = asked.group_by
    if group is not None and group not in dataset.keys:
        known = ", ".join(dataset.keys) or "none"
        raise NotServed(f"the fleet is divided by: {known}; not by {group!r}")
    made = TableChoices(
        bins=Bins(),
        epsilon=asked.epsilon,
        key=group,
        keys=None if group is None else tuple(dataset.keys[group]),
        edition=dataset.edition,
    )
    clip = None if asked.clip_kw is None else (0.0, asked.clip_kw)
    if isinstance(asked, TotalsQuestion):
        return replace(made, tables=("totals",), clip_kw=clip, quantiles=())
    quantiles = tuple(percent / 100.0 for percent in sorted(set(asked.percents)))
    if isinstance(asked, QuantilesQuestion):
        largest = asked.clip_kw or LARGEST_KW
        return replace(made, tables=("quantiles",), largest_kw=largest, quantiles=quantiles)
    return replace(
        made,
        bins=Bins(sectors=asked.sectors),
        tables=tuple(asked.tables),
        shares=None if asked.shares is None else dict[str, float](asked.shares.items()),
        clip_kw=clip,
        largest_kw=asked.largest_kw or LARGEST_KW,
        quantiles=quantiles,
    )


MOVED = "share of systems that the noise moves to another bin"
OFF = "mean absolute error per system"

CUT_OFF = (
    "mean share of capacity above the cap, for typical fleets; totals are too low by about this"
)

# Of single systems: the unit of each column, and how far off a blind guess is. [unit]
COLUMNS = {
    "surface_azimuth": ("°", 90.0),
    "surface_tilt": ("°", 25.0),
    "dc_capacity_kw": ("%", 100.0),
}

# What an average home is taken to have, where a limit on capacities is given. [kW]
HOME_KW = 5.0


def table_errors(
    found: tuple[Expected, ...], choices: TableChoices, *, systems: int | None, concentrated: bool
) -> tuple[ExpectedError, ...]:
    """Return the errors of a fleet's tables with what each is judged by."""
    group = None if systems is None else systems / len(choices.keys or ("all",))
    expected = []
    for each in found:
        expected.append(_table_error(each, choices, group))
        if each.table == "totals" and choices.clip_kw is None and systems:
            rule = ClipRule(ladder(choices.largest_kw), Spending(each.cost, concentrated), systems)
            cut = 100.0 * expected_cut(rule)
            expected.append(ExpectedError("totals", "cut_kw", cut, "%", CUT_OFF, 0.0))
    return tuple(expected)


def _table_error(each: Expected, choices: TableChoices, group: float | None) -> ExpectedError:
    if each.unit != "ranks":
        of = _compared(each, choices, group)
        return ExpectedError(
            each.table, each.value, each.error, each.unit, each.meaning, each.cost, of
        )
    # nothing is further off than the whole list is long
    error = each.error if group is None else min(each.error, group)
    return ExpectedError(each.table, each.value, error, "places", each.meaning, each.cost, group)


def _compared(each: Expected, choices: TableChoices, group: float | None) -> float | None:
    """Return what an error is judged by: what a cell holds on average, or the whole in percent."""
    if each.unit == "%":
        return 100.0
    if group is None:
        return None
    if each.unit == "kW":
        assert choices.clip_kw is not None
        return group * min(HOME_KW, choices.clip_kw[1])
    return group / cells_of(each.table, choices.bins)


def cells_of(table: str, bins: Bins) -> int:
    """Return into how many cells a table of counts divides a group, but for the unknown one."""
    if table == "mounts":
        return len(MOUNTS)
    return math.prod(bins.shape[axis] for axis in MARGINS[table])


def synthetic_errors(noise: dict[str, float]) -> tuple[ExpectedError, ...]:
    found = {name: min(100.0 * each, 100.0) for name, each in noise.items()}
    return tuple(
        ExpectedError("synthetic-systems", name, percent, "% of systems", MOVED, None, 100.0)
        for name, percent in found.items()
    )


def system_errors(errors: ExpectedErrors) -> tuple[ExpectedError, ...]:
    assert errors.capacity is not None
    means = (errors.azimuth.mean, errors.tilt.mean, errors.capacity.mean)
    return tuple(
        ExpectedError("systems", column, mean, sign, OFF, compared_with=guess)
        for (column, (sign, guess)), mean in zip(COLUMNS.items(), means, strict=True)
    )


def publication_of(body: dict[str, Any]) -> Publication:
    return Publication(
        title=body["title"],
        tables=tuple(PublishedTable.from_dict(table) for table in body["tables"]),
        guarantee=_guarantee_of(body),
        mechanism=body["mechanism"],
        public=body["public"],
        how=HowMade(**body["how"]),
    )


def _guarantee_of(body: dict[str, Any]) -> Guarantee | ConcentratedGuarantee:
    unit, given = parse_unit(body["unit"]), body["guarantee"]
    if given["kind"] == "concentrated":
        return ConcentratedGuarantee(unit, given["rho"], given["proof"])
    return Guarantee(unit, given["epsilon"], given["delta"], given["proof"])


def files_of(release: ReleaseRow) -> dict[str, bytes]:
    """Return the files of a release by name; the same release gives the same bytes."""
    body, day = release.body, datetime.datetime.fromisoformat(release.made).date()
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "files"
        account = PublicationAccount.from_dict(body["account"])
        written = write_publication(target, publication_of(body), account=account, published=day)
        files = {path.name: path.read_bytes() for path in written}
    return files | {f"{each['name']}.json": table_json(release.id, each) for each in body["tables"]}


def table_json(release: str, table: dict[str, Any]) -> bytes:
    names = [name for name, _, _ in table["columns"]]
    fields = {
        "release": release,
        "name": table["name"],
        "about": table["about"],
        "columns": [
            {"name": name, "kind": kind, "about": about} for name, kind, about in table["columns"]
        ],
        "rows": [dict(zip(names, row, strict=True)) for row in table["rows"]],
    }
    return json.dumps(fields, ensure_ascii=False, allow_nan=False).encode()
