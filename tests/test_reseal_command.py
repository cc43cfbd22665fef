"""Changing SECRET_KEY with the earlier key in SECRET_KEY_FALLBACKS, and `manage.py reseal`."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from io import StringIO
from typing import Any

import pytest
from allauth.mfa.models import Authenticator
from django.apps import apps
from django.core.management import call_command
from django.core.management.base import CommandError
from django.core.signing import Signer
from django.db.models import BinaryField, Model
from django.test import Client
from pytest_django import DjangoAssertNumQueries

from communities.chat_platform import references
from communities.chat_platform.references import Op, Reference
from communities.ground import sealing
from communities.ground.sealing import SealedColumn
from communities.models import ChatTask, IdempotentRequest, Mail, SourceToken
from config import secret_key
from config.management.commands import reseal
from config.models import KeyFingerprint
from surveys.models import (
    Conversation,
    PersonalLink,
    Project,
    ResponseFile,
    ResultsCount,
    SealedGifts,
    ShownFigures,
)
from surveys.services.ground import anonymity
from tests.factories import (
    ConversationFactory,
    IdentityFactory,
    MemberFactory,
    ProjectFactory,
    StaffFactory,
    UserFactory,
    WebhookFactory,
)
from tests.support.accounts import sign_in
from tests.support.api_keys import count_keys, make_key, outcome
from tests.support.caller import Caller
from tests.support.moments import NOON
from webhooks.models import Webhook

pytestmark = pytest.mark.django_db

NEW = "a-newer-key-only-for-tests-" + "fedcba9876543210" * 4
OTHER = "a-third-key-only-for-tests-" + "0011223344556677" * 4
# What is not sealed, or ends within a day and is read with the keys of SECRET_KEY_FALLBACKS until then.
NOT_RESEALED = {
    ("communities.Picture", "content"): "A public picture.",
    ("communities.IdempotentRequest", "body"): "For 24 hours.",
    ("surveys.Conversation", "packed"): "Answers, as the tables beside it.",
    ("config.KeyFingerprint", "sealed_hash_root"): "Sealed by `secret_key.move`.",
}


def _anonymous() -> Project:
    return ProjectFactory.create(privacy_mode=Project.PrivacyMode.ANONYMOUS)


ROWS: Mapping[type[Model], Callable[[], Model]] = {
    Authenticator: lambda: Authenticator.objects.create(
        user=UserFactory.create(), type="totp", data={"secret": "", "more": 1}
    ),
    ChatTask: lambda: ChatTask.objects.create(
        community=_anonymous().community, kind="advance", subject="7", created_at=NOON, due_at=NOON
    ),
    Mail: lambda: Mail.objects.create(kind="sign_in", created_at=NOON, due_at=NOON, sealed=b""),
    SourceToken: lambda: SourceToken.objects.create(identity=IdentityFactory.create(), sealed=b""),
    PersonalLink: lambda: PersonalLink.objects.create(
        project=ProjectFactory.create(), member=MemberFactory.create(), created_at=NOON, expires_at=NOON
    ),
    Conversation: lambda: ConversationFactory.create(project=_anonymous()),
    SealedGifts: lambda: SealedGifts.objects.create(community_id=1, project_id=7, due_at=NOON, sealed=b""),
    ShownFigures: lambda: ShownFigures.objects.create(project=_anonymous(), sealed=b""),
    ResultsCount: lambda: ResultsCount.objects.create(
        project=_anonymous(), created_at=NOON, revision=1, changes=0
    ),
    ResponseFile: lambda: ResponseFile.objects.create(
        project=_anonymous(), name="a.csv", sealed=b"", matching={}, row_count=1, created_at=NOON
    ),
    Webhook: lambda: WebhookFactory.create(previous_secret_expires_at=NOON, sealed_previous_secret=b"x"),
}


def fill(column: SealedColumn) -> Model:
    """A row whose column contains a value that SECRET_KEY has sealed."""
    row = ROWS[column.model]()
    sealed = sealing.encrypt(b"known", seal=column.seal_of(row))
    value: Any = {**getattr(row, column.name), column.path: sealed.hex()} if column.path else sealed
    column.model._base_manager.filter(pk=row.pk).update(**{column.name: value})
    return row


def read(column: SealedColumn, row: Model) -> bytes:
    row.refresh_from_db()
    stored = getattr(row, column.name)
    return sealing.decrypt(
        bytes.fromhex(stored[column.path]) if column.path else stored, seal=column.seal_of(row)
    )


def say(command: str = "reseal") -> str:
    out = StringIO()
    call_command(command, stdout=out)
    return out.getvalue()


@pytest.fixture(autouse=True)
def _own_root(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every look at the root of hashes reads the database, as in a process that has just started."""
    monkeypatch.setattr(sealing, "hash_root", secret_key.hash_root)


@pytest.fixture
def change_key(settings: Any) -> Callable[[], None]:
    """Changes the key as an operator does: the present key becomes an earlier one."""
    secret_key.record()

    def change() -> None:
        settings.SECRET_KEY_FALLBACKS = [settings.SECRET_KEY]
        settings.SECRET_KEY = NEW

    return change


def test_every_sealed_column_is_sealed_again_or_named() -> None:
    """Rule 12.551."""
    binary = {
        (model._meta.label, field.name)
        for model in apps.get_models()
        for field in model._meta.get_fields()
        if isinstance(field, BinaryField)
    }

    sealed = {(column.model._meta.label, column.name) for column in reseal.columns()}

    assert sealed | set(NOT_RESEALED) == binary | {("mfa.Authenticator", "data")}
    assert not sealed & set(NOT_RESEALED)


def test_what_the_earlier_key_sealed_is_read_before_and_after(
    settings: Any, change_key: Callable[[], None]
) -> None:
    """Rules 12.550 and 12.551."""
    rows = [(column, fill(column)) for column in reseal.columns()]
    change_key()
    before = [read(*each) for each in rows]

    told = say()
    settings.SECRET_KEY_FALLBACKS = []

    assert before == [b"known"] * len(rows)
    assert [read(*each) for each in rows] == [b"known"] * len(rows)
    assert "need them" not in told
    assert "Nothing that is stored for longer than a day needs SECRET_KEY_FALLBACKS" in told


def test_other_fields_of_a_row_stay(change_key: Callable[[], None]) -> None:
    [column] = [each for each in reseal.columns() if each.path]
    row = fill(column)
    change_key()

    say()

    row.refresh_from_db()
    assert row.data["more"] == 1  # type: ignore[attr-defined]


def test_a_run_that_was_stopped_goes_on(
    settings: Any, change_key: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rule 12.551."""
    rows = [(column, fill(column)) for column in reseal.columns()]
    change_key()
    seal_row, left = reseal._reseal_row, iter(range(4))

    def stop_after_some(column: SealedColumn, row: Model) -> int:
        if next(left, None) is None:
            raise KeyboardInterrupt
        return seal_row(column, row)

    with monkeypatch.context() as patch:
        patch.setattr(reseal, "_reseal_row", stop_after_some)
        with pytest.raises(KeyboardInterrupt):
            say()
    half = [read(*each) for each in rows]
    say()
    again = say()
    settings.SECRET_KEY_FALLBACKS = []

    assert half == [read(*each) for each in rows] == [b"known"] * len(rows)
    assert again.count(" 0 sealed again.") == len(rows)


def test_a_value_that_changes_meanwhile_is_not_overwritten(change_key: Callable[[], None]) -> None:
    column = next(each for each in reseal.columns() if each.model is Mail)
    row = fill(column)
    read_before = Mail.objects.get(pk=row.pk)
    change_key()
    newer = sealing.encrypt(b"newer", seal=column.seal_of(row))
    Mail.objects.filter(pk=row.pk).update(sealed=newer)

    changed = reseal._reseal_row(column, read_before)

    assert (changed, read(column, row)) == (0, b"newer")


def test_values_of_a_lost_key_are_counted_and_left(settings: Any, change_key: Callable[[], None]) -> None:
    """Rule 12.551."""
    column = next(each for each in reseal.columns() if each.model is Mail)
    right, settings.SECRET_KEY = settings.SECRET_KEY, OTHER
    row = fill(column)
    settings.SECRET_KEY = right
    change_key()

    told = say()
    settings.SECRET_KEY_FALLBACKS = [OTHER]

    assert "1 values can be read with none of the keys" in told
    assert read(column, row) == b"known"


def test_hashes_stay_the_same_through_two_changes(settings: Any, change_key: Callable[[], None]) -> None:
    """Rule 12.552."""

    def hashes() -> tuple[str, str]:
        address = sealing.keyed_hash("ada@example.org", purpose="mail addresses")
        return anonymity.respondent_hash(project_id=7, who="user:1"), address

    first = hashes()
    change_key()
    second = hashes()
    say()
    settings.SECRET_KEY_FALLBACKS = []
    third = hashes()
    settings.SECRET_KEY_FALLBACKS, settings.SECRET_KEY = [NEW], OTHER
    fourth = hashes()
    say()
    settings.SECRET_KEY_FALLBACKS = []

    assert first == second == third == fourth == hashes()
    assert NEW not in str(KeyFingerprint.objects.values())


def test_the_earlier_key_alone_is_wrong_once_all_is_sealed_again(
    settings: Any, change_key: Callable[[], None], client: Client
) -> None:
    """Rule 12.553."""
    earlier = settings.SECRET_KEY
    change_key()
    during = client.get("/readyz").status_code
    say()
    settings.SECRET_KEY_FALLBACKS = []
    after = client.get("/readyz").status_code
    settings.SECRET_KEY = earlier

    assert (during, after, client.get("/readyz").status_code) == (200, 200, 503)
    with pytest.raises(CommandError, match="SECRET_KEY is not the key"):
        say()


def test_without_an_earlier_key_there_is_nothing_to_do() -> None:
    secret_key.record()

    assert say() == "SECRET_KEY_FALLBACKS is empty, so there is nothing to seal again.\n"


def test_a_key_whose_earlier_one_is_known_is_not_just_accepted(change_key: Callable[[], None]) -> None:
    """Rule 12.553."""
    change_key()

    with pytest.raises(CommandError, match=r"run `python manage\.py reseal` instead"):
        say("accept_secret_key")


def test_a_person_stays_signed_in(change_key: Callable[[], None], client: Client) -> None:
    """Rule 12.550."""
    sign_in(client, StaffFactory.create())
    before = client.get("/account/").status_code

    change_key()

    assert (before, client.get("/account/").status_code) == (200, 200)


def test_signed_addresses_and_references_stay_valid(change_key: Callable[[], None]) -> None:
    """Rule 12.550."""
    reference = Reference(Op.VOTE, uuid.UUID(int=7))
    custom_id, signed = references.seal(reference, platform_id=None), Signer().sign("x")

    change_key()

    assert references.unseal(custom_id, platform_id="1") == reference
    assert references.seal(reference, platform_id=None) != custom_id
    assert Signer().unsign(signed) == "x"


def test_a_retry_after_the_change_of_the_key_does_nothing_twice(
    change_key: Callable[[], None], django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    """Rule 12.550."""
    caller = Caller()
    first = outcome(make_key(caller))
    change_key()

    again = make_key(caller)
    told = say()

    assert again["Idempotency-Replayed"] == "true"
    assert outcome(again)[1] == first[1]
    assert count_keys() == 1
    assert f"until {IdempotentRequest.objects.get().expires_at:%Y-%m-%d %H:%M} UTC" in told


def test_a_retry_at_a_machine_that_has_the_earlier_key_does_nothing_twice(
    change_key: Callable[[], None], settings: Any
) -> None:
    """Rule 12.550. The first machine has the newer key already, the second one signs with the earlier key."""
    caller, earlier = Caller(), settings.SECRET_KEY
    change_key()
    first = outcome(make_key(caller))
    settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS = earlier, [NEW]

    again = make_key(caller)

    assert again["Idempotency-Replayed"] == "true"
    assert outcome(again)[1] == first[1]
    assert count_keys() == 1
