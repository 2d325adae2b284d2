"""A law of many is held against chance at a stricter level than a law alone: Bonferroni's correction."""

import numpy as np
import pytest
from scipy import stats

from tasks.atlas.judging.contest import judge


@pytest.mark.parametrize(("others", "above"), [(0, True), (9, False)])
def test_one_law_of_ten_needs_more_than_one_alone(others, above):
    differences = 0.3 + 0.2 * np.array([-1.0, -0.5, 0.0, 0.5, 1.0])
    p = stats.ttest_1samp(differences, 0).pvalue
    assert 0.05 / 10 < p < 0.05
    nulls = {f"law {number}": np.full(5, 0.4) for number in range(1 + others)}
    laws = {**{name: np.array([0.39, 0.41, 0.4, 0.38, 0.42]) for name in nulls}, "law 0": 0.4 + differences}
    assert judge(laws, nulls, {}, {}).above_chance["law 0"] is above
