"""The key of a claim, which names its files, by its id."""


def claim_key(claim: str) -> str:
    """The key of the claim with this id.

    Examples
    --------
    >>> claim_key("C.tab2.MNIST")
    'c_tab2_mnist'
    """
    return claim.lower().replace(".", "_")
