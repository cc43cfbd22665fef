"""How long sessions and remembered browsers last, and what ends them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import pytest
from allauth.mfa.totp.internal.auth import TOTP
from allauth.usersessions.models import UserSession
from django.conf import settings
from django.contrib.sessions.models import Session
from django.db import transaction
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from communities.accounts import lifetimes
from communities.models import Member, User
from communities.services.people import sign_ins
from communities.services.tenants import housekeeping
from tests.factories import CommunityFactory, MemberFactory
from tests.support.browsers import code_of, new_browser, page, person, prove, sign_in, who
from tests.support.concurrency import held_elsewhere

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("redis")]
DAY, MINUTE = timedelta(days=1), timedelta(minutes=1)


@pytest.fixture
def ada() -> User:
    return person()


@pytest.fixture
def browser(ada: User) -> Client:
    client = new_browser()
    sign_in(client)
    return client


def _stored(browser: Client) -> Session:
    return Session.objects.get(pk=browser.session.session_key)


def _let_pass(browser: Client, *, since_beginning: timedelta, since_seen: timedelta) -> None:
    """Move the session's beginning and its last use into the past."""
    now, session = timezone.now(), browser.session
    session[lifetimes.BEGAN] = (now - since_beginning).isoformat()
    session[lifetimes.SEEN] = (now - since_seen).isoformat()
    session.save()
    UserSession.objects.filter(session_key=session.session_key).update(last_seen_at=now - since_seen)


def _lasts(browser: Client) -> timedelta:
    return _stored(browser).expire_date - timezone.now()


def _near(measured: timedelta, expected: timedelta) -> bool:
    return expected - MINUTE < measured <= expected


def test_a_session_lasts_two_weeks_without_a_visit_and_that_of_staff_a_day(browser: Client) -> None:
    person("Grace", "grace@example.org", is_staff=True)
    staff = new_browser()
    sign_in(staff, "grace@example.org")

    assert _near(_lasts(browser), 14 * DAY)
    assert _near(_lasts(staff), DAY)


def test_a_visit_puts_the_end_off_but_not_beyond_ninety_days(browser: Client) -> None:
    _let_pass(browser, since_beginning=30 * DAY, since_seen=DAY)
    browser.get(reverse("account"))
    young = _lasts(browser)
    _let_pass(browser, since_beginning=85 * DAY, since_seen=DAY)
    browser.get(reverse("account"))
    old = _lasts(browser)

    assert _near(young, 14 * DAY)
    assert _near(old, 5 * DAY)


def test_nobody_uses_a_session_whose_time_is_over(browser: Client, ada: User) -> None:
    key = browser.session.session_key
    Session.objects.filter(pk=key).update(expire_date=timezone.now())

    assert browser.get(reverse("account")).status_code == 302
    assert sign_ins.find(session_key=str(key), community_id=1, at=timezone.now()) is None


def test_who_becomes_staff_is_signed_out_once_staff_would_be(browser: Client, ada: User) -> None:
    _let_pass(browser, since_beginning=8 * DAY, since_seen=DAY)
    User.objects.filter(pk=ada.pk).update(is_staff=True)

    browser.get(reverse("account"))

    assert who(browser) is None


def test_the_session_is_seen_at_most_every_quarter_of_an_hour(
    browser: Client, django_assert_num_queries: Any
) -> None:
    row = UserSession.objects.get()
    browser.get(reverse("account"))
    fresh = UserSession.objects.get().last_seen_at
    _let_pass(browser, since_beginning=DAY, since_seen=14 * MINUTE)
    early = UserSession.objects.get().last_seen_at
    browser.get(reverse("account"))
    unseen = UserSession.objects.get().last_seen_at
    _let_pass(browser, since_beginning=DAY, since_seen=16 * MINUTE)
    browser.get(reverse("account"))

    assert fresh == row.last_seen_at
    assert unseen == early
    assert _near(timezone.now() - UserSession.objects.get().last_seen_at + MINUTE, MINUTE + MINUTE)


def test_the_list_of_sessions_says_when_each_was_seen(browser: Client) -> None:
    other = new_browser(HTTP_USER_AGENT="Mozilla/5.0 (iPhone) Version/18.0 Safari/604.1")
    sign_in(other)
    UserSession.objects.filter(session_key=other.session.session_key).update(
        last_seen_at="2026-03-04T05:06:00Z"
    )

    listed = page(browser.get(reverse("usersessions_list")))

    assert "Safari on iPhone" in listed
    assert "Last seen <time" in listed
    assert "4 March 2026, 05:06" in listed


def test_sessions_are_ended_only_by_somebody_who_has_shown_who_they_are(browser: Client) -> None:
    other = new_browser()
    sign_in(other)
    session = browser.session
    session["account_authentication_methods"][-1]["at"] -= 301
    session.save()

    asked = browser.post(reverse("usersessions_list"))
    still = who(other)
    prove(browser)
    browser.post(reverse("usersessions_list"))

    assert asked["Location"].startswith(reverse("account_reauthenticate"))
    assert still is not None
    assert other.get(reverse("account")).status_code == 302


def test_signing_out_ends_the_session_itself(browser: Client) -> None:
    thief, key = new_browser(), browser.session.session_key
    thief.cookies[settings.SESSION_COOKIE_NAME] = str(key)
    before = who(thief)
    browser.post(reverse("account_logout"))

    assert before is not None
    assert thief.get(reverse("account")).status_code == 302
    assert not Session.objects.filter(pk=key).exists()


def test_disabling_an_account_ends_its_sessions_at_once(browser: Client, ada: User) -> None:
    User.objects.filter(pk=ada.pk).update(is_active=False)

    assert browser.get(reverse("account")).status_code == 302
    assert browser.post(reverse("account_email"), {"email": "x@example.org", "action_add": "1"})[
        "Location"
    ].startswith("/account/login/")


def test_an_admin_who_is_one_no_more_is_refused_at_once(ada: User) -> None:
    User.objects.filter(pk=ada.pk).update(is_staff=True)
    member = MemberFactory.create(user=ada, community=CommunityFactory.create(), access="admin")
    browser = new_browser()
    sign_in(browser)
    before = page(browser.get(reverse("account_keys")))
    Member.objects.filter(pk=member.pk).update(access="member")

    after = page(browser.get(reverse("account_keys")))

    assert reverse("account_key_new") in before
    assert reverse("account_key_new") not in after


# --- Remembered browsers ------------------------------------------------------------------------------


def _remember(browser: Client, user: User) -> None:
    sign_in(browser)
    browser.post(reverse("mfa_authenticate"), {"code": code_of(user)})
    browser.post(reverse("mfa_trust"), {"action": "trust"})
    browser.post(reverse("account_logout"))


def test_all_remembered_browsers_are_forgotten_with_one_button(ada: User) -> None:
    TOTP.activate(ada, "JBSWY3DPEHPK3PXP")
    remembered = new_browser()
    _remember(remembered, ada)
    User.objects.filter(pk=ada.pk).update(browsers_forgotten_at=timezone.now() - DAY)
    known = sign_in(remembered)
    shown = page(remembered.get(reverse("mfa_index")))
    done = remembered.post(reverse("account_forget_browsers"), follow=True)
    remembered.post(reverse("account_logout"))

    asked = sign_in(remembered)

    assert known["Location"] == "/account/"
    assert re.search("Forget all remembered browsers</button>", shown)
    assert "All remembered browsers are forgotten." in page(done)
    assert "You had all of them forgotten on" in page(done)
    assert asked["Location"] == reverse("mfa_authenticate")
    assert who(remembered) is None


def test_a_browser_remembered_for_one_person_is_not_for_another(ada: User) -> None:
    TOTP.activate(ada, "JBSWY3DPEHPK3PXP")
    eve = person("Eve", "eve@example.org")
    TOTP.activate(eve, "KRSXG5CTMVRXEZLU")
    browser = new_browser()
    _remember(browser, ada)

    assert sign_in(browser, "eve@example.org")["Location"] == reverse("mfa_authenticate")


def test_nothing_that_a_signed_in_person_saw_is_kept_by_the_browser(browser: Client, ada: User) -> None:
    User.objects.filter(pk=ada.pk).update(is_staff=True)
    MemberFactory.create(user=ada, community=CommunityFactory.create(), access="admin")

    for address in ("/account/", "/account/sessions/", "/admin/", "/admin/surveys/project/"):
        answer = browser.get(address)
        assert answer.status_code == 200, address
        assert "no-store" in answer["Cache-Control"], address


def _expire(*keys: str | None) -> None:
    Session.objects.filter(pk__in=keys).update(expire_date=timezone.now() - MINUTE)


def test_sessions_whose_time_is_over_are_deleted_with_their_listing(ada: User, browser: Client) -> None:
    others = [new_browser() for _ in range(5)]
    for each in others:
        sign_in(each)
    keys = [each.session.session_key for each in others]
    _expire(*keys)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("communities.services.tenants.housekeeping.BATCH_SIZE", 2)
        deleted = [housekeeping.delete_ended_sessions(at=timezone.now()) for _ in range(2)]

    assert deleted == [5, 0]
    assert Session.objects.filter(pk__in=keys).count() == 0
    assert list(UserSession.objects.values_list("session_key", flat=True)) == [browser.session.session_key]
    assert who(browser) == str(ada.pk)


def test_a_listing_without_its_session_goes_unless_it_may_be_getting_another_key(browser: Client) -> None:
    kept, gone, recent = browser, new_browser(), new_browser()
    for each in (gone, recent):
        sign_in(each)
    keys = {name: each.session.session_key for name, each in (("gone", gone), ("recent", recent))}
    Session.objects.filter(pk__in=keys.values()).delete()
    UserSession.objects.exclude(session_key=keys["recent"]).update(last_seen_at=timezone.now() - 2 * DAY)

    housekeeping.delete_ended_sessions(at=timezone.now())

    left = set(UserSession.objects.values_list("session_key", flat=True))
    assert left == {kept.session.session_key, keys["recent"]}


@contextmanager
def _locking(key: str) -> Iterator[None]:
    with transaction.atomic():
        Session.objects.select_for_update().get(pk=key)
        yield


@pytest.mark.django_db(transaction=True)
def test_a_session_that_a_request_holds_is_left_for_the_next_day(ada: User) -> None:
    held, other = new_browser(), new_browser()
    for each in (held, other):
        sign_in(each)
    key = str(held.session.session_key)
    _expire(key, other.session.session_key)

    with held_elsewhere(lambda: _locking(key)):
        deleted = housekeeping.delete_ended_sessions(at=timezone.now())

    assert deleted == 1
    assert list(Session.objects.values_list("pk", flat=True)) == [key]
