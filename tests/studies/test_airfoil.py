"""The airfoils' splits: sweeps stay together, the logarithm changes one column."""

import numpy as np

from xsquared.data import load
from xsquared.studies.airfoil import airfoil, sweeps


def test_a_sweep_is_on_one_side_of_the_split() -> None:
    assert np.unique(sweeps()).size == 106
    data = airfoil("sweep", 3)
    parts = [
        set(map(tuple, np.round(getattr(data, part).x[:, 1:], 9)))
        for part in ("train", "validation", "test")
    ]
    assert [len(part) for part in parts] == [68, 17, 21]
    assert len(set.union(*parts)) == 106


def test_rows_held_out_are_those_of_table_1() -> None:
    plain, logarithm, known = (
        airfoil("row", 2),
        airfoil("row-log", 2),
        load("airfoil", 2),
    )
    np.testing.assert_array_equal(plain.test.x, known.test.x)
    np.testing.assert_array_equal(logarithm.test.x[:, 1:], known.test.x[:, 1:])
    frequency = known.train.x[:, 0] * known.feature_scale[0] + known.feature_mean[0]
    expected = (np.log(frequency) - np.log(frequency).mean()) / np.log(frequency).std()
    np.testing.assert_allclose(logarithm.train.x[:, 0], expected, rtol=1e-9, atol=1e-9)
