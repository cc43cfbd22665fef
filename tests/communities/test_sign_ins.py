"""The signed-in person, read by one statement, for exactly the sessions that Django accepts."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest
from allauth.usersessions.models import UserSession
from django.conf import settings
from django.contrib.auth import BACKEND_SESSION_KEY, get_user
from django.contrib.sessions.models import Session
from django.http import HttpRequest
from django.test import Client
from django.utils import timezone

from communities.models import User
from communities.services.people import sign_ins
from communities.services.people.sign_ins import SignedIn
from tests.factories import CommunityFactory, MemberFactory, UserFactory

pytestmark = pytest.mark.django_db


@pytest.fixture(params=[True, False], ids=["listed", "not listed"])
def client(request: pytest.FixtureRequest) -> Client:
    """A browser in which Ann is signed in, with or without an entry in django-allauth's list."""
    client, user = Client(), UserFactory.create()
    client.force_login(user)
    if request.param:
        UserSession.objects.create(user=user, ip="127.0.0.1", session_key=_key(client))
    return client


def _key(client: Client) -> str:
    return client.cookies[settings.SESSION_COOKIE_NAME].value


def _found(client: Client, *, community_id: int = 1) -> SignedIn | None:
    return sign_ins.find(session_key=_key(client), community_id=community_id, at=timezone.now())


def _is_accepted_by_django(client: Client) -> bool:
    request = HttpRequest()
    request.session = client.session
    return get_user(request).is_authenticated


def test_a_member_is_found_by_their_session(client: Client) -> None:
    member = MemberFactory.create(user=User.objects.get(), nick="Rook")

    found = _found(client, community_id=member.community_id)

    assert found is not None
    assert (found.person.user_id, found.person.member_id, found.person.name, found.provider) == (
        *(member.user_id, member.pk),
        "Rook",
        None,
    )


def test_somebody_of_no_community_is_found_as_no_member(client: Client) -> None:
    found = _found(client, community_id=CommunityFactory.create().pk)

    assert found is not None
    assert found.person.member_id is None


def _expire(_client: Client) -> None:
    Session.objects.update(expire_date=timezone.now() - timedelta(seconds=1))


def _end(_client: Client) -> None:
    Session.objects.all().delete()


def _lock_out(_client: Client) -> None:
    User.objects.update(is_active=False)


def _change_the_password(_client: Client) -> None:
    user = User.objects.get()
    user.set_password("another one")
    user.save()


def _delete(_client: Client) -> None:
    UserSession.objects.all().delete()
    User.objects.all().delete()


def _switch_the_backend_off(client: Client) -> None:
    session = client.session
    session[BACKEND_SESSION_KEY] = "django.contrib.auth.backends.ModelBackend"
    session.save()


def _sign_out(client: Client) -> None:
    session = client.session
    for name in list(session.keys()):
        del session[name]
    session.save()


def _become_somebody_else(client: Client) -> None:
    """The list of sessions proves nothing; only the session itself identifies its user."""
    UserSession.objects.update(user=UserFactory.create(name="Bo"))
    _sign_out(client)


@pytest.mark.parametrize(
    "spoil",
    [
        *(_expire, _end, _lock_out, _change_the_password, _delete, _switch_the_backend_off, _sign_out),
        _become_somebody_else,
    ],
)
def test_a_session_that_django_refuses_is_nobodys(client: Client, spoil: Callable[[Client], None]) -> None:
    before = _found(client) is not None and _is_accepted_by_django(client)

    spoil(client)

    assert before
    assert not _is_accepted_by_django(client)
    assert _found(client) is None


def test_the_source_is_the_one_of_the_latest_proof(client: Client) -> None:
    session = client.session
    session[sign_ins.METHODS] = [
        {"method": "socialaccount", "provider": "chat"},
        {"method": "socialaccount", "provider": "video"},
        {"method": "mfa", "type": "totp"},
    ]
    session.save()

    found = _found(client)

    assert found is not None
    assert found.provider == "video"


@pytest.mark.parametrize("key", ["nonsense", "", "\x00", "a" * 500])
def test_an_unknown_key_is_nobodys(key: str) -> None:
    assert sign_ins.find(session_key=key, community_id=1, at=timezone.now()) is None
