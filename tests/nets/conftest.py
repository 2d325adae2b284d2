import pytest
import torch


@pytest.fixture(autouse=True, scope="package")
def one_thread():
    """Small networks train faster on one thread, above all on a busy machine."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)
