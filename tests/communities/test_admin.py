"""Staff can read all rows, and correct all except those that the service writes for itself."""

import pytest
from django.db.models import Model
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from communities.models import ApiKey, Community, IdempotentRequest, Identity, Member, User
from tests.support.caller import Caller

MODELS = [User, Community, Member, ApiKey, IdempotentRequest]


@pytest.fixture
def staff(client: Client, db: None) -> Client:
    client.force_login(User.objects.create_superuser(username="staff", password=None))
    return client


@pytest.fixture
def caller(db: None) -> Caller:
    caller = Caller()
    Identity.objects.create(user=caller.user, provider="chat", platform_id="c1")
    caller.post("/api_keys", {"name": "Website"}, **{"Idempotency-Key": "one"})
    return caller


def address(model: type, page: str, *args: object) -> str:
    return reverse(f"admin:communities_{model.__name__.lower()}_{page}", args=args)


@pytest.mark.parametrize("model", MODELS)
def test_each_model_is_listed_searched_and_shown(staff: Client, caller: Caller, model: type[Model]) -> None:
    row = model._default_manager.first()
    assert row is not None

    for url in (
        address(model, "changelist"),
        address(model, "changelist") + "?q=1",
        address(model, "changelist") + "?q=chess",
        address(model, "change", row.pk),
    ):
        assert staff.get(url).status_code == 200, url


@pytest.mark.parametrize("model", [User, Community, Member])
def test_rows_that_staff_may_add_have_a_form(staff: Client, model: type) -> None:
    assert staff.get(address(model, "add")).status_code == 200


@pytest.mark.parametrize("model", [ApiKey, IdempotentRequest])
def test_rows_that_only_the_service_writes_have_no_form(staff: Client, model: type) -> None:
    assert staff.get(address(model, "add")).status_code == 403


def test_no_digest_and_no_stored_answer_is_shown(staff: Client, caller: Caller) -> None:
    key, request = ApiKey.objects.get(name="Website"), IdempotentRequest.objects.get()

    pages = [
        staff.get(address(ApiKey, "change", key.pk)),
        staff.get(address(ApiKey, "changelist")),
        staff.get(address(IdempotentRequest, "change", request.pk)),
    ]

    shown = "".join(page.content.decode() for page in pages)
    assert key.digest not in shown
    assert request.fingerprint not in shown
    assert bytes(request.body or b"") not in shown.encode()


def test_staff_revoke_a_key(staff: Client, caller: Caller) -> None:
    key = ApiKey.objects.get(name="Website")
    today = timezone.now()

    answer = staff.post(
        address(ApiKey, "change", key.pk),
        {"name": "Website", "revoked_at_0": f"{today:%Y-%m-%d}", "revoked_at_1": "00:00:00"},
    )

    assert answer.status_code == 302
    key.refresh_from_db()
    assert key.revoked_at is not None


@pytest.mark.parametrize("count", [1, 5])
@pytest.mark.parametrize("model", [Member, ApiKey])
def test_a_list_costs_the_same_however_long(
    staff: Client, model: type, count: int, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    for _ in range(count):
        Caller()

    with django_assert_max_num_queries(6):
        staff.get(address(model, "changelist"))
