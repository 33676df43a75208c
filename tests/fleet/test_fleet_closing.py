from __future__ import annotations

import pyarrow as pa

from plot_makers import estimate_of, pair_of, tracker_of
from sunveil.estimates import Estimate, Flag
from sunveil.inference.run_summary import fixed_planes, plane_kinds


def table(*estimates: Estimate) -> pa.Table:
    """Estimates as parts of one row each, as a run leaves them."""
    schema = pa.Table.from_pylist([pair_of().to_row(), tracker_of().to_row()]).schema
    parts = [pa.Table.from_pylist([each.to_row()], schema=schema) for each in estimates]
    return pa.concat_tables(parts)


def test_systems_are_counted_by_what_their_modules_stand_on():
    untold = estimate_of(flags=(Flag.CLIPPING, Flag.NOT_ONE_PLANE))
    found = table(estimate_of(), pair_of(), untold, tracker_of(), estimate_of())
    kinds = {kind: which.tolist() for kind, which in plane_kinds(found).items()}
    assert kinds == {
        "one": [True, False, False, False, True],
        "two": [False, True, False, False, False],
        "tracker": [False, False, False, True, False],
        "unresolved": [False, False, True, False, False],
    }


def test_planes_count_by_their_shares_and_trackers_not_at_all():
    found = table(estimate_of(), tracker_of(), pair_of())
    planes = fixed_planes(found, plane_kinds(found)["tracker"])
    assert planes.row.tolist() == [0, 2, 2]
    assert planes.surface_azimuth.tolist() == [200.0, 92.0, 271.0]
    assert planes.share.tolist() == [1.0, 0.6, 0.4]
