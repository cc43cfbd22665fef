"""Somebody who acts is erased meanwhile: the change waits for the erasure or the erasure for the change.

Afterwards nothing names them (rule 7.20). See also `test_every_write_is_recorded`, which sends every
write of the interface after its caller was erased.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import pytest
from django.apps import apps
from django.db import transaction
from django.urls import reverse
from django.utils import timezone

from communities.ground import transactions
from communities.ground.actors import ActingKey, Actor
from communities.ground.audit_actions import Action
from communities.ground.errors import ActorGone
from communities.models import ApiKey, AuditEntry, Community, Member, User
from communities.services.people import memberships
from communities.services.trail import audit
from communities.services.trail.audit import Subject
from surveys.models import PersonalLink, Project, ResponseDeletion, ScriptDraft
from surveys.services.drafts import service as drafts
from surveys.services.people import service as people
from surveys.services.people.merging import merge_users
from surveys.services.responses import deletion
from tests.factories import MemberFactory
from tests.support import our_code
from tests.support.actors import superuser_actor
from tests.support.caller import TEXT, Caller, refusal
from tests.support.concurrency import BackgroundCall, held_elsewhere, row_locked_elsewhere, run_together
from tests.support.dumps import dump
from tests.support.moments import NOON
from tests.support.staff import Staff
from tests.support.surveys import scenario
from webhooks.models import Event
from xp.models import XpEntry

pytestmark = pytest.mark.django_db
at_once = pytest.mark.django_db(transaction=True)
NAME = "Zephyrine Quill"
SIGN_IN = "/account/login/"


@pytest.fixture
def boss() -> Caller:
    return Caller()


@pytest.fixture
def gone(boss: Caller) -> Caller:
    """An admin who will be erased."""
    other = boss.beside("admin")
    User.objects.filter(pk=other.user.pk).update(name=NAME)
    return other.in_another_thread()


def erase(boss: Caller, gone: Caller | Staff) -> None:
    member = Member.objects.get(user=gone.user, community=boss.community)
    people.erase(actor=boss.actor, member_id=member.pk, at=timezone.now())


def rows_naming(gone: Caller) -> list[object]:
    """Rows of the audit trail, the ledger and the events with a person's id, name or key."""
    rows = dump()
    tables = ("communities_auditentry", "xp_xpentry", "webhooks_event")
    texts = [row for table in tables for row in rows[table] if NAME in row or gone.secret[:14] in row]
    by_id = [model.objects.filter(actor_id=gone.user.pk) for model in (AuditEntry, XpEntry)]
    return [*texts, *by_id[0], *by_id[1]]


def record(actor: Actor) -> None:
    with transaction.atomic():
        on = Subject(actor.community_id, "project", 7, "Openings", 7)
        audit.record(actor=actor, action=Action.PROJECT_UPDATED, on=on, at=NOON)


# --- The change comes second ----------------------------------------------------------------------------


def settings_changed(gone: Caller, receiver: Member) -> Any:
    return gone.patch("/settings", {"xp_name": "Stars"})


def xp_given(gone: Caller, receiver: Member) -> Any:
    return gone.post(f"/members/{receiver.pk}/xp", {"amount": 5})


def project_made(gone: Caller, receiver: Member) -> Any:
    return gone.post("/projects", {"name": "Openings", "type": "convo"})


CHANGES = pytest.mark.parametrize("change", [settings_changed, xp_given, project_made])
Change = Callable[[Caller, Member], Any]


@at_once
@CHANGES
def test_a_change_waits_for_the_erasure_of_its_actor_and_is_refused(
    boss: Caller, gone: Caller, change: Change
) -> None:
    receiver = MemberFactory.create(community=boss.community)

    with transaction.atomic():
        erase(boss, gone)
        changing = BackgroundCall(partial(change, gone, receiver))
        assert changing.waits_for_lock()

    assert refusal(changing.result()) == (401, "invalid_api_key")
    assert rows_naming(gone) == []
    assert not XpEntry.objects.exists()
    assert not Project.objects.exists()
    assert list(AuditEntry.objects.values_list("action", flat=True)) == ["member.erased"]


def award_confirmed(staff: Staff, receiver: Member, project_id: int) -> Any:
    values = {"direction": "give", "amount": "5", "note": "", "seen": "0", "confirmed": "yes"}
    return staff.post("communities_member_award", receiver.pk, **values)


def draft_begun(staff: Staff, receiver: Member, project_id: int) -> Any:
    draft = {"blocks": [], "revision": 1, "version": None}
    return staff.send("PUT", reverse("admin:surveys_project_script_draft", args=[project_id]), draft)


@at_once
@pytest.mark.parametrize(("send", "status"), [(award_confirmed, 302), (draft_begun, 401)])
def test_staff_on_a_page_are_signed_out(boss: Caller, send: Any, status: int) -> None:
    staff = Staff(community=boss.community, name=NAME)
    receiver = MemberFactory.create(community=boss.community)
    project = boss.make(TEXT)

    with transaction.atomic():
        erase(boss, staff)
        sending = BackgroundCall(partial(send, staff, receiver, int(project["id"])))
        assert sending.waits_for_lock()

    assert sending.result().status_code == status
    if status == 302:
        assert sending.result()["Location"].startswith(SIGN_IN)
    else:
        assert sending.result().json()["error"] == "signed_out"
    assert not XpEntry.objects.exists()
    assert not ScriptDraft.objects.exists()


def test_a_draft_of_an_erased_person_is_not_begun(boss: Caller, gone: Caller) -> None:
    project = boss.make(TEXT)
    actor = gone.actor
    erase(boss, gone)

    with pytest.raises(ActorGone):
        drafts.keep(actor=actor, project_id=int(project["id"]), blocks=[], revision=1, version=None, at=NOON)


# --- The erasure comes second ---------------------------------------------------------------------------


@at_once
@CHANGES
def test_an_erasure_waits_for_changes_by_the_person_and_removes_their_name(
    boss: Caller, gone: Caller, change: Change
) -> None:
    receiver = MemberFactory.create(community=boss.community)
    gone.get("/settings")  # the use of the key is noted, so the change does not lock it

    with transaction.atomic():
        assert change(gone, receiver).status_code in (200, 201)
        erasing = BackgroundCall(lambda: erase(boss, gone))
        assert erasing.waits_for_lock()

    assert erasing.result() is None
    assert rows_naming(gone) == []
    assert not Project.objects.filter(author__isnull=False).exists()
    assert not User.objects.filter(pk=gone.user.pk).exists()
    changed, erased = AuditEntry.objects.order_by("happened_at", "pk")
    assert changed.actor_pseudonym
    assert erased.actor_id == boss.user.pk


@at_once
def test_the_erasure_of_an_account_waits_for_what_a_superuser_does_where_they_are_no_member(
    boss: Caller,
) -> None:
    actor = superuser_actor(community_id=boss.community.pk)

    @contextmanager
    def recording() -> Iterator[None]:
        with transaction.atomic():
            record(actor)
            yield

    with held_elsewhere(recording):
        User.objects.filter(pk=actor.user_id).update(is_superuser=False)
        erasing = BackgroundCall(lambda: people.erase_account(user_id=actor.user_id, at=NOON))
        assert erasing.waits_for_lock()

    assert erasing.result() is None
    assert not AuditEntry.objects.filter(actor_id__isnull=False).exists()


# --- Who is there, and who is not -----------------------------------------------------------------------


def test_superusers_are_recorded_where_they_are_no_members_and_nobody_else_is(boss: Caller) -> None:
    actor = superuser_actor(community_id=boss.community.pk)
    record(actor)
    User.objects.filter(pk=actor.user_id).update(is_superuser=False, is_staff=True)

    with pytest.raises(ActorGone):
        record(actor)

    assert AuditEntry.objects.get().actor_id == actor.user_id


def test_a_key_does_not_act_for_a_superuser_who_is_no_member(boss: Caller, gone: Caller) -> None:
    User.objects.filter(pk=gone.user.pk).update(is_superuser=True)
    key = ApiKey.objects.get(user=gone.user)
    actor = superuser_actor(community_id=boss.community.pk)

    with pytest.raises(ActorGone):
        record(Actor(actor.user_id, "admin", boss.community.pk, "vip", ActingKey(key.pk, key.key_prefix)))


def test_somebody_who_has_left_is_recorded_until_they_are_erased(boss: Caller, gone: Caller) -> None:
    Member.objects.filter(user=gone.user).update(left_at=NOON)

    record(gone.actor)

    assert AuditEntry.objects.get().actor_name == NAME


@at_once
def test_a_change_by_somebody_who_is_merged_meanwhile_names_the_user_who_stays(
    boss: Caller, gone: Caller
) -> None:
    keep = MemberFactory.create(community=boss.community, user__name="Marit Solberg")

    with transaction.atomic():
        merge_users(keep_id=keep.user_id, drop_id=gone.user.pk, at=timezone.now())
        changing = BackgroundCall(lambda: gone.patch("/settings", {"xp_name": "Stars"}))
        assert changing.waits_for_lock()

    assert changing.result().status_code == 200, changing.result().content
    entry = AuditEntry.objects.get(action="settings.updated")
    assert (entry.actor_id, entry.actor_name) == (keep.user_id, "Marit Solberg")


def cloned(gone: Caller, receiver: Member) -> Any:
    return gone.post(f"/projects/{Project.objects.get().pk}/clone", {})


def link_made(gone: Caller, receiver: Member) -> Any:
    return gone.post(f"/projects/{Project.objects.get().pk}/links", {"member_ids": [str(receiver.pk)]})


@at_once
@pytest.mark.parametrize("change", [xp_given, project_made, cloned, link_made])
def test_a_change_whose_rows_would_name_a_user_who_is_merged_meanwhile_is_refused(
    boss: Caller, gone: Caller, change: Change, caplog: pytest.LogCaptureFixture
) -> None:
    """Sent again, it is the change of the user who stays: the API key is theirs then."""
    keep, receiver = MemberFactory.create_batch(2, community=boss.community)
    boss.make_open(TEXT)

    with transaction.atomic():
        merge_users(keep_id=keep.user_id, drop_id=gone.user.pk, at=timezone.now())
        changing = BackgroundCall(partial(change, gone, receiver))
        assert changing.waits_for_lock()

    assert refusal(changing.result()) == (401, "invalid_api_key")
    assert "request.failed" not in caplog.text
    assert (XpEntry.objects.count(), Project.objects.count(), PersonalLink.objects.count()) == (0, 1, 0)
    assert not Event.objects.filter(person_id=gone.user.pk).exists()
    assert change(gone, receiver).status_code in (200, 201)


def test_a_response_that_a_former_superuser_marked_is_deleted_without_naming_them() -> None:
    made = scenario.project({"type": "open_text", "prompt": "Why?"})
    told = scenario.say(scenario.begin(made, "somebody"), "Because.")
    actor = superuser_actor(community_id=made.community_id)
    deletion.mark(response_id=told.conversation.pk, project=made, actor=actor, at=NOON)
    User.objects.filter(pk=actor.user_id).update(is_superuser=False)

    assert deletion.delete_due(at=timezone.now()) == 1

    assert not ResponseDeletion.objects.exists()
    entry = AuditEntry.objects.get(action="response.deleted")
    assert (entry.source, entry.actor_id, entry.actor_name) == ("admin", None, "")


# --- Other locks ----------------------------------------------------------------------------------------


@at_once
def test_two_admins_change_each_other_again_and_again(
    boss: Caller, gone: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transactions, "ATTEMPTS", 1)  # a deadlock would be seen
    Caller(community=boss.community)  # so that neither is the only admin
    pairs = [(boss, gone), (gone, boss)]

    def change(by: Caller, whom: Caller) -> set[int]:
        member = Member.objects.get(user=whom.user)
        actor = Actor(by.user.pk, "admin", by.community.pk, "vip")
        for number in range(12):
            access = ("creator", "admin")[number % 2]
            memberships.change_access(actor=actor, member_id=member.pk, access=access, at=NOON)
        return {by.get("/settings").status_code}

    assert run_together(*[partial(change, *pair) for pair in pairs]) == [{200}, {200}]


@at_once
@pytest.mark.parametrize("is_founder", [True, False])
def test_an_erasure_locks_the_member_after_what_their_own_requests_lock_first(
    boss: Caller, gone: Caller, is_founder: bool
) -> None:
    key = ApiKey.objects.get(user=gone.user)
    Community.objects.update(user_setup=gone.user if is_founder else None)
    table, row = (
        ("communities_community", boss.community.pk) if is_founder else ("communities_apikey", key.pk)
    )

    with row_locked_elsewhere(table, row):
        erasing = BackgroundCall(lambda: erase(boss, gone))
        assert erasing.waits_for_lock()
        with transaction.atomic():  # the membership is free while the erasure waits
            assert Member.objects.select_for_update(nowait=True).get(user=gone.user)

    assert erasing.result() is None
    assert not ApiKey.objects.filter(pk=key.pk).exists()


@at_once
def test_a_change_does_not_wait_while_its_actor_is_changed(boss: Caller, gone: Caller) -> None:
    own = Member.objects.select_for_update(no_key=True).filter(user=gone.user)

    with transaction.atomic():
        own.get()
        own.update(nick="Zeph")
        changing = BackgroundCall(partial(record, gone.actor))
        assert not changing.waits_for_lock()

    assert changing.result() is None


# It ends a membership, or gives it another user. So does `communities.services.people.personal_data.lock`.
LOCKED_AGAINST_CHANGES = {("surveys/services/people/merging.py", "_merge_in_community")}


def _functions() -> Iterator[tuple[str, str, str]]:
    for module in our_code.modules("select_for_update(", "membership_data.lock("):
        for node, text in module.functions():
            yield module.path, node.name, text


def test_members_are_locked_against_changes_by_their_admins_only_where_they_end() -> None:
    strong = {
        (path, name)
        for path, name, text in _functions()
        if "Member.objects" in text and "select_for_update(" in text and "no_key=True" not in text
    }

    assert strong == LOCKED_AGAINST_CHANGES
    callers = {(path, name) for path, name, text in _functions() if "membership_data.lock(" in text}
    assert callers == {("surveys/services/people/service.py", "_erase")}


# --- All columns ----------------------------------------------------------------------------------------

RECORDED = "written beside an entry of the audit trail, which holds the actor until the transaction ends"
# Each column that names somebody who acted, and why an erasure misses no row that is written meanwhile.
NAMING = {
    "communities.AuditEntry.actor_id": "the statement that writes it locks the actor (`presence`)",
    "communities.AuditEntry.actor_name": "as its actor_id",
    "communities.AuditEntry.actor_pseudonym": "random; leads to nobody",
    "communities.AuditEntry.api_key_id": "as its actor_id",
    "communities.AuditEntry.key_prefix": "as its actor_id",
    "communities.ApiKey.key_prefix": "the key's own; the key goes with its user",
    "communities.ApiKey.rotated_by_id": RECORDED,
    "communities.ApiKey.user_id": RECORDED,
    "communities.Community.user_setup_id": RECORDED,
    "communities.Invitation.accepted_by_id": RECORDED,
    "communities.Invitation.created_by_id": RECORDED,
    "surveys.Analysis.generated_by": "the name of a model",
    "surveys.Codebook.generated_by": "the name of a provider",
    "surveys.Generation.generated_by": "the name of a model",
    "surveys.Generation.requested_by_id": "its service holds the actor before it writes",
    "surveys.Reading.generated_by": "the name of a provider; empty where staff have read",
    "surveys.PersonalLink.created_by_id": RECORDED,
    "surveys.Project.author_id": RECORDED,
    "surveys.Project.deleted_by_id": RECORDED,
    "surveys.ResponseDeletion.requested_by_id": RECORDED,
    "surveys.Reminder.planned_by_id": "its entry of the audit trail locks the actor first",
    "surveys.ResponseDeletion.requested_under": "a pseudonym",
    "surveys.ResponseFile.generated_by": "the name of a model",
    "surveys.ResultsCount.generated_by": "the name of a model",
    "surveys.ScriptDraft.user_id": "beginning one holds the actor, and later writes lock the draft itself",
    "xp.XpEntry.actor_id": "its service holds the actor before it writes, so it names nobody who is gone",
    "xp.XpEntry.actor_pseudonym": "as in the audit trail",
    "surveys.Dashboard.weight_by": "the name of a field, and nobody's",
}
# Columns with users and members of whom something tells: not who did it, but whose it is.
OWNERS = {
    *("communities.Identity.user_id", "communities.Mail.user_id", "communities.Member.user_id"),
    *("communities.User_groups.user_id", "communities.User_user_permissions.user_id"),
    *("communities.Invitation.member_id", "communities.ProjectGrant.member_id"),
    *("surveys.Conversation.user_id", "surveys.PersonalLink.member_id"),
    *("xp.EarnedAchievement.member_id", "xp.RoleGrant.member_id", "xp.Standing.member_id"),
    "xp.XpEntry.member_id",
}
ACTING = re.compile(r"(^|_)(actor|author|by|creator|editor|giver|requested|api_key|key_prefix)(_|$)")


def test_each_column_that_names_who_acted_has_a_reason_why_it_forgets_them() -> None:
    naming = {
        f"{model._meta.label}.{field.column}"
        for model in apps.get_models(include_auto_created=True)
        if model._meta.app_label in ("communities", "surveys", "webhooks", "xp")
        for field in model._meta.concrete_fields
        if field.related_model in (User, Member, ApiKey) or ACTING.search(str(field.column))
    }

    assert naming - OWNERS == set(NAMING)
    assert naming >= OWNERS
