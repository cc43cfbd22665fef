"""Services join their caller's transaction; an error they catch is caught with an Idempotency-Key too."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import IntegrityError, connection, transaction
from django.db.transaction import TransactionManagementError
from django.test.utils import CaptureQueriesContext

from communities.errors import Conflict, InvalidRequest
from communities.models import ApiKey, IdempotentRequest, User
from communities.services import keys
from communities.services.keys import create_key
from communities.transactions import in_transaction
from tests.support.caller import Caller, refusal

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
