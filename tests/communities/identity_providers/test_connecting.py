"""Connecting accounts of other platforms to a user, merging two users, and disconnecting."""

import dataclasses

import pytest
from allauth.account.models import EmailAddress
from allauth.mfa.models import Authenticator
from django.test import Client

from communities.models import Identity, SourceToken, User
from communities.services.people import identities
from tests.factories import MemberFactory, UserFactory
from tests.support import mails
from tests.support.identity_providers import browser
from tests.support.identity_providers.people import Person
from tests.support.identity_providers.server import Platforms
from tests.support.moments import NOON

OAUTH2 = ["chat", "video", "streaming", "membership"]


ALL = [*OAUTH2, "game_store"]

pytestmark = pytest.mark.django_db


def test_another_source_is_connected_to_the_person_who_is_signed_in(
    platforms: Platforms, client: Client
) -> None:
    browser.sign_in(client, "chat")

    response = browser.sign_in(client, "streaming", process="connect")

    assert response["Location"] == "/account/3rdparty/"
    assert User.objects.count() == 1
    assert {each.provider for each in Identity.objects.all()} == {"chat", "streaming"}
    page = client.get("/account/3rdparty/").content.decode()
    assert "Your Twitch account is connected." in page
    assert "Twitch: Nelly" in page


def test_connecting_asks_who_it_is_first(platforms: Platforms, client: Client) -> None:
    user = UserFactory.create()
    user.set_password("correct horse")
    user.save()
    client.force_login(user, backend="allauth.account.auth_backends.AuthenticationBackend")

    response = client.post("/account/sources/chat/login/", {"process": "connect"})

    assert (response.status_code, response["Location"].split("?")[0]) == (302, "/account/reauthenticate/")


def test_somebody_without_a_password_signs_in_again_before_connecting(
    platforms: Platforms, client: Client
) -> None:
    browser.sign_in(client, "chat")
    session = client.session
    session["account_authentication_methods"][-1]["at"] -= 3600
    session.save()

    refused = client.post("/account/sources/video/login/", {"process": "connect"})
    page = client.get(refused["Location"]).content.decode()
    again = browser.sign_in(client, "chat", process="confirm", next="/account/3rdparty/")

    assert refused["Location"].startswith("/account/sources/again/?next=")
    assert "Continue with Discord" in page
    assert "Continue with YouTube" not in page
    assert again["Location"] == "/account/3rdparty/"
    assert browser.sign_in(client, "video", process="connect")["Location"] == "/account/3rdparty/"


def test_nobody_connects_without_signing_in(platforms: Platforms, client: Client) -> None:
    response = client.post("/account/sources/chat/login/", {"process": "connect"})

    assert response["Location"] == "/account/login/"


def test_an_account_of_another_user_stays_theirs_and_a_page_says_so(
    platforms: Platforms, client: Client
) -> None:
    owner = identities.sign_in(provider="streaming", platform_id="141981764", name="Nelly", at=NOON)
    browser.sign_in(client, "chat")

    response = browser.sign_in(client, "streaming", process="connect")
    page = client.get(response["Location"])

    assert response["Location"] == "/account/sources/merge/"
    assert "You have two accounts" in page.content.decode()
    assert Identity.objects.get(provider="streaming").user_id == owner.user_id != browser.user_of(client)
    assert not SourceToken.objects.filter(identity=owner).exists()


def test_two_accounts_that_both_are_proven_are_merged(platforms: Platforms, client: Client) -> None:
    owner = identities.sign_in(provider="streaming", platform_id="141981764", name="Nelly", at=NOON)
    there = MemberFactory.create(user_id=owner.user_id, community__name="Harbour club")
    browser.sign_in(client, "chat")
    browser.sign_in(client, "streaming", process="connect")

    asked = client.get("/account/sources/merge/").content.decode()
    response = client.post("/account/sources/merge/")

    assert "Harbour club" in asked
    assert response["Location"] == "/account/"
    there.refresh_from_db()
    assert there.user_id == browser.user_of(client)
    assert set(Identity.objects.values_list("user_id", flat=True)) == {browser.user_of(client)}
    assert client.post("/account/sources/merge/")["Location"] == "/account/3rdparty/"


def test_accounts_are_not_merged_past_a_second_factor_of_the_other(
    platforms: Platforms, client: Client
) -> None:
    owner = identities.sign_in(provider="streaming", platform_id="141981764", name="Nelly", at=NOON)
    Authenticator.objects.create(user_id=owner.user_id, type="totp", data={})
    browser.sign_in(client, "chat")
    browser.sign_in(client, "streaming", process="connect")

    page = client.post("/account/sources/merge/").content.decode()

    assert "The other account has a second factor" in page
    assert Identity.objects.get(provider="streaming").user_id == owner.user_id


def test_merging_asks_who_it_is_if_that_was_not_proven_lately(platforms: Platforms, client: Client) -> None:
    owner = identities.sign_in(provider="streaming", platform_id="141981764", name="Nelly", at=NOON)
    browser.sign_in(client, "chat")
    browser.sign_in(client, "streaming", process="connect")
    session = client.session
    session["account_authentication_methods"][-1]["at"] -= 301
    session.save()

    response = client.post("/account/sources/merge/")

    assert response["Location"] == "/account/sources/again/?next=%2Faccount%2Fsources%2Fmerge%2F"
    assert Identity.objects.get(provider="streaming").user_id == owner.user_id


def test_an_account_of_somebody_else_confirms_nothing_and_changes_nobody(
    platforms: Platforms, nelly: Person, client: Client
) -> None:
    platforms.people.append(dataclasses.replace(nelly, name="Bo", chat_id="90351110224678913"))
    browser.sign_in(client, "chat")
    session = client.session
    session["account_authentication_methods"][-1]["at"] -= 3600
    session.save()
    own = browser.user_of(client)

    response = browser.sign_in(client, "chat", person=1, process="confirm", next="/account/data/")

    assert response["Location"] == "/account/sources/again/?next=%2Faccount%2Fdata%2F"
    assert (browser.user_of(client), User.objects.count()) == (own, 1)
    assert client.get("/account/data/erase/")["Location"].startswith("/account/sources/again/")


def test_who_confirms_goes_on_where_they_were(platforms: Platforms, client: Client) -> None:
    browser.sign_in(client, "chat")
    session = client.session
    session["account_authentication_methods"][-1]["at"] -= 3600
    session.save()

    asked = client.get("/account/data/erase/")
    key = client.session.session_key
    back = browser.sign_in(client, "chat", process="confirm", next="/account/data/erase/")

    assert asked["Location"] == "/account/sources/again/?next=%2Faccount%2Fdata%2Ferase%2F"
    assert back["Location"] == "/account/data/erase/"
    assert client.get(back["Location"]).status_code == 200
    assert client.session.session_key != key


def test_the_proof_of_two_accounts_ends_after_ten_minutes(platforms: Platforms, client: Client) -> None:
    identities.sign_in(provider="streaming", platform_id="141981764", name="Nelly", at=NOON)
    browser.sign_in(client, "chat")
    browser.sign_in(client, "streaming", process="connect")
    session = client.session
    session["account_merge"] |= {"at": NOON.isoformat()}
    session.save()

    response = client.get("/account/sources/merge/")

    assert response["Location"] == "/account/3rdparty/"
    assert "account_merge" not in client.session


def test_an_account_is_disconnected_by_its_owner(platforms: Platforms, client: Client) -> None:
    browser.sign_in(client, "chat")
    browser.sign_in(client, "streaming", process="connect")
    chat = Identity.objects.get(provider="chat")

    client.post("/account/3rdparty/", {"account": chat.pk})
    last = client.post("/account/3rdparty/", {"account": Identity.objects.get().pk}, follow=True)

    assert [each.provider for each in Identity.objects.all()] == ["streaming"]
    assert "only way to sign in" in last.content.decode()


def test_the_owner_hears_of_each_account_that_is_connected_and_disconnected(
    platforms: Platforms, client: Client
) -> None:
    browser.sign_in(client, "chat")
    user = User.objects.get(pk=browser.user_of(client))
    User.objects.filter(pk=user.pk).update(email="nelly@example.org")
    EmailAddress.objects.create(user=user, email="nelly@example.org", verified=True, primary=True)

    browser.sign_in(client, "streaming", process="connect")
    client.post("/account/3rdparty/", {"account": Identity.objects.get(provider="streaming").pk})

    assert mails.subjects("nelly@example.org") == [
        "A Twitch account was connected",
        "A Twitch account was disconnected",
    ]


def test_an_account_of_somebody_else_is_not_disconnected(platforms: Platforms, client: Client) -> None:
    other = identities.sign_in(provider="chat", platform_id="5", name="Omar", at=NOON)
    browser.sign_in(client, "chat")

    response = client.post("/account/3rdparty/", {"account": other.pk}, follow=True)

    assert "There is no such account." in response.content.decode()
    assert Identity.objects.count() == 2
