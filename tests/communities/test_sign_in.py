"""Signing in with a password: refusals before the hashing, and people who are never locked out.

Rule 12.11.
"""

from functools import partial
from threading import Event, Lock
from typing import Any

import pytest
from django.conf import settings
from django.contrib.auth.hashers import MD5PasswordHasher
from django.test import Client
from django.urls import reverse

from communities import sign_in
from communities.models import User
from tests.factories import StaffFactory, UserFactory
from tests.support.api_requests import new_address
from tests.support.concurrency import run_together
from tests.support.redis import without_redis

pytestmark = pytest.mark.usefixtures("redis")
RIGHT, WRONG = "the right one", "a wrong one"


@pytest.fixture
def staff(db: None) -> User:
    """A superuser."""
    user: User = StaffFactory.create()
    user.set_password(RIGHT)
    user.save()
    return user


def attempt(user: User | str, password: str, *, address: str, browser: Client | None = None) -> Any:
    name = user if isinstance(user, str) else user.username
    values = {"login": name, "password": password}
    browser = browser or Client()
    browser.cookies.pop(settings.SESSION_COOKIE_NAME, None)  # who is signed in is led on
    return browser.post(reverse("account_login"), values, REMOTE_ADDR=address)


def statuses(user: User | str, password: str, times: int, **where: Any) -> list[int]:
    return [attempt(user, password, **where).status_code for _ in range(times)]


def test_the_right_password_does_not_go_through_after_many_wrong_ones(
    staff: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = new_address()
    wrong = statuses(staff, WRONG, 6, address=address)
    monkeypatch.setattr(User, "check_password", pytest.fail)  # no hashing from here on

    answer = attempt(staff, RIGHT, address=address)

    assert wrong == [200] * 6
    assert answer.status_code == 429
    assert 1 <= int(answer["Retry-After"]) <= sign_in.WINDOW
    page = answer.content.decode()
    assert "There were too many attempts to sign in. Please wait 10 minutes, then try again." in page
    assert statuses(staff.username.upper(), RIGHT, 1, address=address) == [429]  # the same account


def test_others_sign_in_meanwhile(staff: User) -> None:
    address = new_address()
    other: User = StaffFactory.create()
    other.set_password(RIGHT)
    other.save()
    statuses(staff, WRONG, 7, address=address)

    assert statuses(other, RIGHT, 1, address=address) == [302]
    assert statuses(staff, RIGHT, 1, address=new_address()) == [302]


def test_a_success_forgets_the_attempts_before_it(staff: User) -> None:
    address = new_address()

    for _ in range(2):
        assert statuses(staff, WRONG, 5, address=address) == [200] * 5
        assert statuses(staff, RIGHT, 1, address=address) == [302]


def test_an_address_that_tries_many_accounts_is_limited(staff: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sign_in, "ATTEMPTS_OF_ADDRESS", 5)
    network = "2001:db8:77:1::"
    tried = [attempt(f"somebody-{n}", WRONG, address=f"{network}{n}").status_code for n in range(5)]

    assert tried == [200] * 5
    assert statuses(staff, RIGHT, 1, address=f"{network}ffff") == [429]  # of the same /64
    assert statuses(staff, RIGHT, 1, address="2001:db8:77:2::1") == [302]


def test_a_hall_of_people_behind_one_address_signs_in(staff: User, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody's success counts against the address, and somebody who mistypes has attempts left."""
    monkeypatch.setattr(sign_in, "ATTEMPTS_OF_ADDRESS", 5)
    address = new_address()
    people = [UserFactory.create(username=f"person-{n}", password=staff.password) for n in range(7)]

    told = [statuses(each, RIGHT, 1, address=address) for each in people]

    assert told == [[302]] * 7
    assert statuses(people[0], WRONG, 1, address=address) == [200]
    assert statuses(staff, RIGHT, 1, address=address) == [302]


def test_signing_in_to_ones_own_account_wins_no_guesses(staff: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sign_in, "ATTEMPTS_OF_ADDRESS", 5)
    address, own = new_address(), Client()
    told = []
    for n in range(6):
        told += statuses(f"somebody-{n}", WRONG, 1, address=address)
        statuses(staff, RIGHT, 1, address=address, browser=own)

    assert told == [200] * 5 + [429]


def test_without_redis_a_success_is_given_back_too(staff: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sign_in, "ATTEMPTS_OF_ADDRESS", 2)
    address = new_address()
    with without_redis():
        assert [statuses(staff, RIGHT, 1, address=address) for _ in range(3)] == [[302]] * 3
        assert statuses("somebody", WRONG, 2, address=address) == [200] * 2
        assert statuses(staff, RIGHT, 1, address=address) == [429]


def test_many_addresses_cannot_lock_out_a_browser_that_has_signed_in_before(
    staff: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sign_in, "ATTEMPTS_OF_ACCOUNT", 18)
    home, browser = new_address(), Client()
    assert attempt(staff, RIGHT, address=home, browser=browser).status_code == 302
    cookie = browser.cookies[settings.KNOWN_BROWSER_COOKIE_NAME]
    assert (cookie["path"], cookie["httponly"], cookie["samesite"]) == ("/", True, "Lax")

    attack = [statuses(staff, WRONG, 6, address=new_address()) for _ in range(3)]

    assert {status for each in attack for status in each} == {200, 429}
    assert statuses(staff, RIGHT, 1, address=new_address()) == [429]
    assert statuses(staff, RIGHT, 1, address=new_address(), browser=browser) == [302]
    # The cookie is good for its own account, unchanged, and for so many attempts.
    assert statuses("somebody", WRONG, 7, address=home, browser=browser)[-1] == 429
    forged = Client()
    forged.cookies[settings.KNOWN_BROWSER_COOKIE_NAME] = cookie.value[:-1] + "x"
    assert statuses(staff, RIGHT, 1, address=new_address(), browser=forged) == [429]
    stolen = Client()
    stolen.cookies[settings.KNOWN_BROWSER_COOKIE_NAME] = cookie.value
    assert statuses(staff, WRONG, 13, address=new_address(), browser=stolen)[-1] == 429


def test_without_redis_each_process_counts_for_itself(staff: User) -> None:
    address = new_address()
    with without_redis():
        assert statuses(staff, WRONG, 6, address=address) == [200] * 6
        assert statuses(staff, RIGHT, 1, address=address) == [429]
        assert statuses(staff, RIGHT, 1, address=new_address()) == [302]


def test_nothing_is_counted_for_forms_without_a_password(staff: User) -> None:
    address = new_address()

    assert statuses(staff, "", 9, address=address) == [200] * 9
    assert statuses(staff, RIGHT, 1, address=address) == [302]


def test_nobody_gets_new_attempts_by_signing_in_again(staff: User, monkeypatch: pytest.MonkeyPatch) -> None:
    address, browser = new_address(), Client()
    assert statuses(staff, RIGHT, 1, address=address, browser=browser) == [302]

    right = statuses(staff, RIGHT, 3, address=address, browser=browser)
    wrong = statuses(staff, WRONG, 10, address=address, browser=browser)

    assert right == [302] * 3
    assert wrong == [200] * 9 + [429]
    monkeypatch.setattr(sign_in, "ATTEMPTS_OF_ACCOUNT", 15)
    others = [Client() for _ in range(4)]
    for other in others:
        assert statuses(staff, RIGHT, 1, address=new_address(), browser=other) == [302]
    told = [statuses(staff, WRONG, 1, address=address, browser=other) for other in others]
    assert told == [[200]] * 3 + [[429]]


def test_a_stolen_session_does_not_find_out_the_password(
    staff: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    browser = Client()
    browser.force_login(staff)
    new = {"password1": "a new secret 1", "password2": "a new secret 1"}

    def change(old: str) -> Any:
        return browser.post(reverse("account_change_password"), {"oldpassword": old, **new})

    wrong = [change(WRONG).status_code for _ in range(6)]
    monkeypatch.setattr(User, "check_password", pytest.fail)  # no hashing from here on
    answer = change(RIGHT)

    assert (wrong, answer.status_code) == ([200] * 6, 429)
    assert 1 <= int(answer["Retry-After"]) <= sign_in.WINDOW
    assert "There were too many attempts." in answer.content.decode()
    assert browser.get(reverse("account_change_password")).status_code == 200


@pytest.mark.django_db(transaction=True)
def test_of_sixteen_at_once_one_is_hashed_and_one_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    staff: User = StaffFactory.create(password="md5$salt$hash")
    lock, released = Lock(), Event()
    hashing, most, refused = 0, 0, 0

    def verify(*_: object) -> bool:
        nonlocal hashing, most
        with lock:
            hashing += 1
            most = max(most, hashing)
        assert released.wait(30)
        with lock:
            hashing -= 1
        return False

    def sign_in_once(_: int) -> Any:
        nonlocal refused
        answer = attempt(staff, WRONG, address=new_address())
        with lock:
            refused += answer.status_code == 429
            if refused == 14:  # all others have their answer, while these two are still at work
                released.set()
        return answer

    monkeypatch.setattr(MD5PasswordHasher, "verify", verify)
    monkeypatch.setattr(MD5PasswordHasher, "must_update", lambda *_: False)
    monkeypatch.setattr(sign_in, "SECONDS_TO_WAIT", 30)

    answers = run_together(*[partial(sign_in_once, number) for number in range(16)])

    assert most == 1
    assert sorted(answer.status_code for answer in answers) == [200] * 2 + [429] * 14
    told = next(answer for answer in answers if answer.status_code == 429)
    assert told["Retry-After"] == "2"
    assert "Many people are signing in at this moment." in told.content.decode()


def test_what_is_refused_because_others_sign_in_is_no_attempt(
    staff: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sign_in, "SECONDS_TO_WAIT", 0)
    address = new_address()

    with sign_in.hashing_slot():
        busy = statuses(staff, RIGHT, 10, address=address)

    assert busy == [429] * 10
    assert statuses(staff, WRONG, 7, address=address) == [200] * 6 + [429]  # as many as without these


def test_a_password_that_is_not_looked_at_is_no_attempt_later_either(
    staff: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sign_in, "SECONDS_TO_WAIT", 0)
    browser = Client()
    browser.force_login(staff)
    new = {"password1": "a new secret 1", "password2": "a new secret 1"}

    def change(old: str) -> int:
        status: int = browser.post(
            reverse("account_change_password"), {"oldpassword": old, **new}
        ).status_code
        return status

    with sign_in.hashing_slot():
        busy = [change(RIGHT) for _ in range(10)]

    assert busy == [429] * 10
    assert [change(WRONG) for _ in range(7)] == [200] * 6 + [429]


def test_who_has_signed_in_before_does_not_wait_for_strangers(
    staff: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sign_in, "SECONDS_TO_WAIT", 0)
    browser = Client()
    assert statuses(staff, RIGHT, 1, address=new_address(), browser=browser) == [302]

    with sign_in.hashing_slot():
        known = statuses(staff, RIGHT, 1, address=new_address(), browser=browser)
        stranger = statuses(staff, RIGHT, 1, address=new_address())

    assert (known, stranger) == ([302], [429])
