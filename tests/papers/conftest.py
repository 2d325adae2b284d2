"""Runs made by hand for the experiments of every paper; this file also puts tests/papers on the import path."""

import pytest
from handmade import HandmadeRun


@pytest.fixture
def handmade(tmp_path):
    """A function that makes a finished training run: ``handmade(key, settings, data)``; see ``HandmadeRun``."""

    def make(key, settings, data, paper="weight_gram", history=()):
        return HandmadeRun(tmp_path, key, settings, data, paper, history)

    return make
