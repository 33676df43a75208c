"""Fleets for tests: plain numbers, any of which may be missing or absurd."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from sunveil.estimates.read_write import FleetPlanes, FleetRows
from sunveil.releases.fleet_releases import SystemsToRelease
from sunveil.releases.release_answer import ExpectedErrors, Spread


class PublicSystems(SystemsToRelease):
    """Systems of which only public things are known: nothing can be drawn of them."""

    draws_folder, net = None, 0

    def __init__(self, about=None):
        object.__setattr__(self, "_about", about or {})

    def __len__(self):
        return len(self._about)

    def about(self):
        return self._about

    def listed(self):
        return list(self._about)

    def only(self, names):
        return PublicSystems({name: self._about[name] for name in names})

    def check(self):
        """Refuse none."""

    def expected(self, terms):
        return ExpectedErrors(*(Spread(1.0, 2.0) for _ in range(3)), "by hand")

    def parts(self, terms):
        raise AssertionError("nothing is drawn")


ANY = st.one_of(
    st.floats(-50.0, 400.0), st.floats(), st.sampled_from([0.0, 90.0, 360.0, -1e-20, 1e300])
)
KEYS = ("F1", "F2", "F3")


def fleet(values, groups=None, planes=None, turning=(), unresolved=()) -> FleetRows:
    """Return a fleet from triples of azimuth, tilt and capacity, and lists of planes by row.

    Rows that turn, and rows of which nothing can tell the planes, are given by number.
    """
    table = np.array(values, dtype=np.float64).reshape(-1, 3)
    names = tuple(f"secret-{i}" for i in range(len(table)))
    keys = {} if groups is None else {"feeder": np.array(groups, dtype=np.str_)}
    many = [(row, *plane) for row, each in (planes or {}).items() for plane in each]
    row, *numbers = np.array(many, dtype=np.float64).reshape(-1, 4).T
    marks = (np.isin(np.arange(len(table)), list(each)) for each in (turning, unresolved))
    return FleetRows(names, *table.T, keys, FleetPlanes(row.astype(np.int64), *numbers), *marks)


def random_fleet(count: int, *, seed: int = 1, groups: tuple[str, ...] = KEYS) -> FleetRows:
    rng = np.random.default_rng(seed)
    values = np.column_stack(
        [
            rng.normal(180.0, 60.0, count) % 360.0,
            rng.uniform(0.0, 60.0, count),
            rng.lognormal(1.7, 0.5, count),
        ]
    )
    return fleet(values, rng.choice(groups, count))


PLANES = st.lists(st.tuples(ANY, ANY, st.one_of(st.floats(0.0, 1.0), ANY)), max_size=3)


@st.composite
def neighbours(draw):
    """Draw two fleets that differ in the values, the planes and the tracker of one row."""
    values = draw(st.lists(st.tuples(ANY, ANY, ANY), min_size=1, max_size=12))
    groups = draw(st.lists(st.sampled_from(KEYS), min_size=len(values), max_size=len(values)))
    planes = draw(st.dictionaries(st.integers(0, len(values) - 1), PLANES, max_size=4))
    place = draw(st.integers(0, len(values) - 1))
    other, others = list(values), dict(planes)
    other[place], others[place] = draw(st.tuples(ANY, ANY, ANY)), draw(PLANES)
    marks = [draw(st.sets(st.integers(0, len(values) - 1))) for _ in range(2)]
    turned = [each ^ ({place} if draw(st.booleans()) else set()) for each in marks]
    return fleet(values, groups, planes, *marks), fleet(other, groups, others, *turned)
