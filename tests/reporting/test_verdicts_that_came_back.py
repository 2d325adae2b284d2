"""A verdict comes back at a root where it is the same verdict, and nowhere else."""

from tasks.reporting.fresh import came_back


def test_an_inconclusive_root_has_not_come_back():
    by_root = {"1": "holds", "2": "inconclusive", "3": "fails", "4": "holds"}
    assert came_back("holds", by_root) == {"came back": 2, "runs": 4, "share": 0.5, "fragile": True}
    assert came_back("inconclusive", by_root)["came back"] == 1


def test_nine_of_ten_are_steady():
    nine = {str(root): "holds" if root else "inconclusive" for root in range(10)}
    assert not came_back("holds", nine)["fragile"]
    assert came_back("holds", {**nine, "1": "inconclusive"})["fragile"]
