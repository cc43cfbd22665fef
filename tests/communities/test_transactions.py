"""Services join their caller's transaction; an error they catch is caught with an Idempotency-Key too."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from django.db import IntegrityError, OperationalError, connection, transaction
from django.db.transaction import TransactionManagementError
from django.test.utils import CaptureQueriesContext

from communities.ground.errors import Conflict, InvalidRequest
from communities.ground.transactions import again_after_deadlock, in_transaction
from communities.models import ApiKey, IdempotentRequest, User
from communities.services.api_keys import keys
from communities.services.api_keys.keys import create_key
from communities.services.people import identities
from tests.factories import UserFactory
from tests.support.caller import Caller, refusal
from tests.support.concurrency import run_together

IN_BOTH_WAYS = pytest.mark.parametrize("headers", [{}, {"Idempotency-Key": "one"}])


@in_transaction
def create_key_after_a_caught_database_error(**fields: Any) -> tuple[ApiKey, str]:
    User.objects.create(username="taken", name="First")
    try:
        with transaction.atomic():
            User.objects.create(username="taken", name="Second")
    except IntegrityError:
        return create_key(**fields)
    raise AssertionError("A user name was given twice.")


@in_transaction
def create_key_after_a_caught_refusal(**fields: Any) -> tuple[ApiKey, str]:
    try:
        with transaction.atomic():
            User.objects.create(name="Second")
            create_key(**fields | {"expires_at": fields["at"]})
    except InvalidRequest:
        User.objects.create(name="First")
        return create_key(**fields)
    raise AssertionError("An end that is not in the future was accepted.")


@in_transaction
def create_key_and_refuse(**fields: Any) -> tuple[ApiKey, str]:
    create_key(**fields)
    raise Conflict("Not this one.")


@in_transaction
def create_user_and_refuse() -> None:
    User.objects.create(name="Lost")
    raise Conflict("Not this one.")


@IN_BOTH_WAYS
@pytest.mark.parametrize(
    "service", [create_key_after_a_caught_database_error, create_key_after_a_caught_refusal]
)
@pytest.mark.django_db(transaction=True)
def test_an_error_is_caught_alike_with_and_without_the_key(
    service: Any, headers: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keys, "create_key", service)

    answer = Caller().post("/api_keys", {"name": "Made"}, **headers)

    assert answer.status_code == 201
    assert ApiKey.objects.filter(name="Made").count() == 1
    assert User.objects.filter(name="First").count() == 1
    assert User.objects.filter(name="Second").count() == 0


@IN_BOTH_WAYS
@pytest.mark.django_db(transaction=True)
def test_a_refusal_takes_back_all_with_and_without_the_key(
    headers: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keys, "create_key", create_key_and_refuse)

    answer = Caller().post("/api_keys", {"name": "Made"}, **headers)

    assert refusal(answer) == (409, "conflict")
    assert not ApiKey.objects.filter(name="Made").exists()
    assert not IdempotentRequest.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_a_block_inside_another_sets_no_savepoint() -> None:
    with in_transaction, CaptureQueriesContext(connection) as statements, in_transaction:
        pass

    assert len(statements) == 0


@pytest.mark.django_db(transaction=True)
def test_an_exception_that_leaves_an_inner_block_dooms_the_transaction() -> None:
    with in_transaction:
        with pytest.raises(Conflict):
            create_user_and_refuse()
        with pytest.raises(TransactionManagementError):
            User.objects.exists()

    assert not User.objects.filter(name="Lost").exists()


# --- Deadlocks ----------------------------------------------------------------------------------------------


class Crossing:
    """Two services that lock two users in opposite orders, and meet in the middle when they run first."""

    def __init__(self) -> None:
        self.ids = [UserFactory.create().pk for _ in range(2)]
        self.runs = 0
        self._middle = threading.Barrier(2)

    @again_after_deadlock
    def lock(self, *, is_forward: bool) -> str:
        with in_transaction:
            first, second = self.ids if is_forward else reversed(self.ids)
            identities.lock_owners(first)
            self.runs += 1
            if self.runs <= 2:
                self._middle.wait(30)
            identities.lock_owners(second)
            return "done"

    def lock_inside(self, *, is_forward: bool) -> str:
        with transaction.atomic():
            return self.lock(is_forward=is_forward)


@pytest.mark.django_db(transaction=True)
def test_a_service_runs_again_after_a_deadlock() -> None:
    crossing = Crossing()

    ends = run_together(lambda: crossing.lock(is_forward=True), lambda: crossing.lock(is_forward=False))

    # The one that runs again may lock its first user before the other one wakes. Then they meet once more.
    assert ends == ["done", "done"]
    assert crossing.runs >= 3


@pytest.mark.django_db(transaction=True)
def test_nothing_runs_again_in_a_transaction_that_is_lost() -> None:
    crossing = Crossing()

    ends = run_together(
        lambda: crossing.lock_inside(is_forward=True), lambda: crossing.lock_inside(is_forward=False)
    )

    assert crossing.runs == 2
    assert [type(each) for each in ends if each != "done"] == [OperationalError]
