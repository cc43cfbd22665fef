import pytest

from communities.ground.sealing import Unreadable
from webhooks.services import sealed_secrets

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwrTb5Y0mQ3nA="


def test_a_sealed_secret_can_be_unsealed() -> None:
    sealed = sealed_secrets.seal(SECRET, community_id=5)

    assert SECRET.encode()[6:] not in sealed
    assert sealed_secrets.unseal(sealed, community_id=5) == SECRET


def test_the_same_secret_is_never_sealed_to_the_same_bytes() -> None:
    assert sealed_secrets.seal(SECRET, community_id=5) != sealed_secrets.seal(SECRET, community_id=5)


def test_another_community_cannot_unseal_it() -> None:
    sealed = sealed_secrets.seal(SECRET, community_id=5)

    with pytest.raises(Unreadable):
        sealed_secrets.unseal(sealed, community_id=6)


def test_changed_bytes_cannot_be_unsealed() -> None:
    sealed = bytearray(sealed_secrets.seal(SECRET, community_id=5))
    sealed[-1] ^= 1

    with pytest.raises(Unreadable):
        sealed_secrets.unseal(bytes(sealed), community_id=5)
