import pytest
from cryptography.exceptions import InvalidTag

from webhooks.services import sealing

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwrTb5Y0mQ3nA="


def test_what_is_sealed_can_be_opened() -> None:
    sealed = sealing.seal(SECRET, community_id=5)

    assert SECRET.encode()[6:] not in sealed
    assert sealing.unseal(sealed, community_id=5) == SECRET


def test_the_same_secret_never_looks_the_same() -> None:
    assert sealing.seal(SECRET, community_id=5) != sealing.seal(SECRET, community_id=5)


def test_another_community_cannot_open_it() -> None:
    sealed = sealing.seal(SECRET, community_id=5)

    with pytest.raises(InvalidTag):
        sealing.unseal(sealed, community_id=6)


def test_what_was_changed_does_not_open() -> None:
    sealed = bytearray(sealing.seal(SECRET, community_id=5))
    sealed[-1] ^= 1

    with pytest.raises(InvalidTag):
        sealing.unseal(bytes(sealed), community_id=5)
