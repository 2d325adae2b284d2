import pytest
import torch


@pytest.fixture(autouse=True, scope="package")
def one_thread():
    """Small networks: threads cost more than they give, and most where others use the machine too."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)
