"""The words for an approximation without a tolerance."""

from tasks.papers.weight_gram.claims.shared.approximations import over_smaller_side


def test_layers_with_an_error_above_the_smaller_side_are_counted():
    words = over_smaller_side({"1": 0.5, "2": 1.7, "3": 0.9})
    assert words.endswith("is 0.50 to 1.70 by layer, and above 1 in 1 of 3 layers")
    assert over_smaller_side({"1": 0.5}).endswith("and above 1 in none of 1 layers")
