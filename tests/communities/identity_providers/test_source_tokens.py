"""Tokens at rest, and refreshing them when several do it at once."""

from datetime import timedelta

import pytest
from django.db import connection
from pytest_django import Settings

from communities.identity_providers import chat, oauth2
from communities.identity_providers.failures import PlatformUnavailable
from communities.models import SourceToken
from communities.services.people import source_tokens
from tests.factories import IdentityFactory
from tests.support.concurrency import run_together
from tests.support.identity_providers import visits
from tests.support.identity_providers.people import Person
from tests.support.identity_providers.server import Platforms
from tests.support.moments import NOON

LATER = NOON + timedelta(hours=2)  # the tokens of noon have expired


@pytest.mark.django_db
def test_tokens_are_unreadable_in_the_database() -> None:
    identity = IdentityFactory.create()
    source_tokens.save(identity_id=identity.pk, access="secret-access", refresh="secret-re", expires_at=None)

    with connection.cursor() as cursor:
        cursor.execute("SELECT row_to_json(t)::text, sealed FROM communities_sourcetoken t")
        text, sealed = cursor.fetchone()

    assert "secret" not in text
    assert b"secret" not in bytes(sealed)
    assert source_tokens.usable(identity_id=identity.pk, at=NOON) == "secret-access"


@pytest.mark.django_db
def test_a_token_that_was_moved_to_another_identity_cannot_be_used() -> None:
    mine, theirs = IdentityFactory.create(), IdentityFactory.create()
    source_tokens.save(identity_id=theirs.pk, access="a", refresh="r", expires_at=None)
    sealed = SourceToken.objects.get(pk=theirs.pk).sealed

    SourceToken.objects.create(identity=mine, sealed=sealed)

    assert source_tokens.usable(identity_id=mine.pk, at=NOON) is None


@pytest.mark.django_db
def test_without_a_new_refresh_token_the_present_one_stays(platforms: Platforms, nelly: Person) -> None:
    identity = visits.signed_in("chat", nelly)

    source_tokens.save(identity_id=identity.pk, access="newer", refresh="", expires_at=NOON)

    token = source_tokens.usable(identity_id=identity.pk, at=NOON)
    assert token not in (None, "newer")
    assert chat.profile(str(token)).platform_id == nelly.chat_id


@pytest.mark.django_db
def test_a_token_is_refreshed_before_it_expires_and_not_earlier(platforms: Platforms, nelly: Person) -> None:
    identity = visits.signed_in("chat", nelly)
    expires_at = NOON + timedelta(hours=1)

    first = source_tokens.usable(identity_id=identity.pk, at=expires_at - timedelta(minutes=6))
    second = source_tokens.usable(identity_id=identity.pk, at=expires_at - timedelta(minutes=4))
    third = source_tokens.usable(identity_id=identity.pk, at=expires_at - timedelta(minutes=4))

    assert platforms.grants.refreshes == 1
    assert first != second
    assert second == third


@pytest.mark.django_db
def test_rotated_refresh_tokens_are_kept(platforms: Platforms, nelly: Person) -> None:
    identity = visits.signed_in("chat", nelly)

    for hours in (2, 4, 6):
        assert source_tokens.usable(identity_id=identity.pk, at=NOON + timedelta(hours=hours))

    assert platforms.grants.refreshes == 3


@pytest.mark.django_db
def test_a_refused_refresh_token_is_forgotten(platforms: Platforms, nelly: Person) -> None:
    identity = visits.signed_in("chat", nelly)
    platforms.grants.revoke_all()

    assert source_tokens.usable(identity_id=identity.pk, at=LATER) is None
    assert not SourceToken.objects.exists()


@pytest.mark.django_db
def test_while_the_platform_is_down_a_valid_token_is_used_and_an_expired_one_waits(
    platforms: Platforms, nelly: Person
) -> None:
    identity = visits.signed_in("chat", nelly)
    platforms.scripted["/api/oauth2/token"] = (503, "", {})

    assert source_tokens.usable(identity_id=identity.pk, at=NOON + timedelta(minutes=57))
    with pytest.raises(PlatformUnavailable):
        source_tokens.usable(identity_id=identity.pk, at=LATER)
    platforms.scripted.clear()
    assert source_tokens.usable(identity_id=identity.pk, at=LATER)


@pytest.mark.django_db
def test_an_expired_token_that_cannot_be_refreshed_is_forgotten() -> None:
    identity = IdentityFactory.create()
    source_tokens.save(identity_id=identity.pk, access="a", refresh="", expires_at=NOON)

    assert source_tokens.usable(identity_id=identity.pk, at=NOON - timedelta(seconds=1)) == "a"
    assert source_tokens.usable(identity_id=identity.pk, at=NOON) is None
    assert not SourceToken.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_two_who_refresh_at_once_ask_once_and_both_have_the_new_token(
    platforms: Platforms, nelly: Person
) -> None:
    identity = visits.signed_in("chat", nelly)

    def use() -> str | None:
        return source_tokens.usable(identity_id=identity.pk, at=LATER)

    results = run_together(use, use, use)

    assert len(set(results)) == 1
    assert chat.profile(results[0]).platform_id == nelly.chat_id
    assert platforms.grants.refreshes == 1


@pytest.mark.django_db(transaction=True)
def test_a_sign_in_during_a_refresh_wins(
    platforms: Platforms, nelly: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    identity = visits.signed_in("chat", nelly)
    refresh = oauth2.refresh

    def refresh_after_a_sign_in(*args: object, **kwargs: object) -> oauth2.Tokens:
        source_tokens.save(identity_id=identity.pk, access="signed in", refresh="new", expires_at=None)
        return refresh(*args, **kwargs)  # type: ignore[arg-type]

    monkeypatch.setattr(oauth2, "refresh", refresh_after_a_sign_in)

    assert source_tokens.usable(identity_id=identity.pk, at=LATER) == "signed in"
    assert source_tokens.usable(identity_id=identity.pk, at=LATER) == "signed in"


@pytest.mark.django_db(transaction=True)
def test_the_lease_of_a_process_that_died_ends(platforms: Platforms, nelly: Person) -> None:
    identity = visits.signed_in("chat", nelly)
    SourceToken.objects.update(refreshing_until=LATER)

    assert source_tokens.usable(identity_id=identity.pk, at=LATER)


@pytest.mark.django_db
def test_a_lease_that_does_not_end_is_told(
    platforms: Platforms, nelly: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(source_tokens, "SECONDS_TO_WAIT", 0.2)
    identity = visits.signed_in("chat", nelly)
    SourceToken.objects.update(refreshing_until=LATER + timedelta(seconds=30))

    with pytest.raises(PlatformUnavailable):
        source_tokens.usable(identity_id=identity.pk, at=LATER)

    assert platforms.grants.refreshes == 0


@pytest.mark.django_db
def test_a_new_secret_key_ends_all_tokens(settings: Settings) -> None:
    identity = IdentityFactory.create()
    source_tokens.save(identity_id=identity.pk, access="a", refresh="r", expires_at=None)
    settings.SECRET_KEY = "another" * 10

    assert source_tokens.usable(identity_id=identity.pk, at=NOON) is None
