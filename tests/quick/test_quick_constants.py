from __future__ import annotations

import numpy as np
import pvlib
import pytest
from scipy.interpolate import PchipInterpolator

from sunveil.quick.constants import modifiers_by_degree
from sunveil.sky import MODIFIERS


@pytest.mark.parametrize("row", range(len(MODIFIERS)))
def test_tabled_modifiers_are_marions_integrals(row: int) -> None:
    tilt, sky, ground = MODIFIERS[row]
    theirs = pvlib.iam.marion_diffuse("physical", float(tilt))
    assert sky == pytest.approx(float(theirs["sky"]), abs=1e-9)
    assert ground == pytest.approx(float(np.nan_to_num(theirs["ground"])), abs=1e-9)


def test_modifiers_by_degree_are_curves_through_the_table() -> None:
    tilts, *columns = MODIFIERS.T
    for found, known in zip(modifiers_by_degree(), columns, strict=True):
        expected = PchipInterpolator(tilts, known)(np.arange(91.0))
        np.testing.assert_allclose(found, expected, atol=1e-12)
