"""Django's own pages for superusers: users, and stored responses without their contents."""

import pytest
from django.db.models import Model
from django.test import Client
from django.urls import reverse

from communities.models import ApiKey, IdempotentRequest, User
from tests.support.caller import Caller


@pytest.fixture
def root(client: Client, db: None) -> Client:
    client.force_login(User.objects.create_superuser(username="root", password=None))
    return client


@pytest.fixture
def caller(db: None) -> Caller:
    caller = Caller()
    caller.post("/api_keys", {"name": "Website"}, **{"Idempotency-Key": "one"})
    return caller


@pytest.mark.parametrize("model", [User, IdempotentRequest])
def test_each_model_is_listed_searched_and_shown(root: Client, caller: Caller, model: type[Model]) -> None:
    row = model._default_manager.first()
    assert row
    name = f"admin:communities_{model.__name__.lower()}"

    for address in (
        reverse(f"{name}_changelist"),
        reverse(f"{name}_changelist", query={"q": "chess"}),
        reverse(f"{name}_change", args=[row.pk]),
    ):
        assert root.get(address).status_code == 200, address


def test_nobody_writes_stored_responses(root: Client) -> None:
    assert root.get(reverse("admin:communities_idempotentrequest_add")).status_code == 403


def test_no_digest_and_no_stored_answer_is_shown(root: Client, caller: Caller) -> None:
    key, request = ApiKey.objects.get(name="Website"), IdempotentRequest.objects.get()
    root.post(reverse("admin:switch_community", args=[caller.community.pk]))

    pages = [
        root.get(reverse("admin:communities_apikey_change", args=[key.pk])),
        root.get(reverse("admin:communities_apikey_changelist")),
        root.get(reverse("admin:communities_idempotentrequest_change", args=[request.pk])),
    ]

    shown = "".join(page.content.decode() for page in pages)
    assert "Website" in shown
    assert key.digest not in shown
    assert request.fingerprint not in shown
    assert bytes(request.body or b"") not in shown.encode()
