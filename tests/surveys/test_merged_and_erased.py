"""Two users who became one: the data of both is read as one person's, and nothing of either outlives them."""

from __future__ import annotations

import re
import uuid
from typing import Any

import pytest
from django.apps import apps
from django.db.models import Model

from communities.ground.actors import Actor
from communities.models import AuditEntry, Community, Member, User
from surveys.models import (
    Conversation,
    Generation,
    PersonalLink,
    Project,
    Reminder,
    ResponseDeletion,
    ScriptDraft,
)
from surveys.services.ai_work import draft_generation, generation
from surveys.services.people import service as people
from surveys.services.people.merging import merge_users
from tests.factories import MemberFactory, UserFactory
from tests.support.caller import TEXT, Caller
from tests.support.dumps import dump
from tests.support.moments import NOON
from tests.support.surveys import known_person, scenario
from tests.support.surveys.draft_provider import GOOD, provide
from tests.support.surveys.known_person import AUDIENCE, MEMBER_ID, USER_ID, everywhere
from webhooks.models import Event
from xp.models import XpEntry

pytestmark = pytest.mark.django_db

# Columns with ids of people that no constraint of the database keeps true. A merge leaves the dropped user's
# id in them. The scene below has rows in each.
WITHOUT_KEY: dict[str, type[Model]] = {
    "communities.AuditEntry.actor_id": AuditEntry,
    "webhooks.Event.person_id": Event,
    "xp.XpEntry.actor_id": XpEntry,
}
# It is empty once the change has been published, which the event above reports.
SHORT_LIVED = "communities.MemberChange.member_id"
OF_PEOPLE = re.compile(r"(^|_)(account|actor|author|by|giver|member|owner|person|user)_id$")


class Scene:
    """A person with data in every part of a community, whose user was then merged into another user."""

    def __init__(self) -> None:
        self.caller = Caller()
        self.ann = everywhere(self.caller)
        self.caller.patch(f"/members/{MEMBER_ID}", {"nick": known_person.NICK + "a"})
        self.own = Member.objects.get(community=self.caller.community, user=self.caller.user)
        known_person.award(self.own, actor_id=USER_ID)
        self.keep: Member = MemberFactory.create(community=self.caller.community, nick="", user__name="")
        merge_users(keep_id=self.keep.user_id, drop_id=USER_ID, at=known_person.AT)
        self.path = f"/members/{self.keep.pk}/data"


def rows_naming(user_id: int) -> dict[str, int]:
    return {
        name: model._default_manager.filter(**{name.rsplit(".")[-1]: user_id}).count()
        for name, model in WITHOUT_KEY.items()
    }


def test_each_column_with_ids_of_people_but_no_foreign_key_is_known() -> None:
    found = {
        f"{model._meta.label}.{field.column}"
        for model in apps.get_models(include_auto_created=True)
        if model._meta.app_label in ("communities", "surveys", "webhooks", "xp")
        for field in model._meta.concrete_fields
        if not getattr(field, "db_constraint", False) and OF_PEOPLE.search(str(field.column))
    }

    assert found == {*WITHOUT_KEY, SHORT_LIVED}


def test_the_data_of_a_person_has_all_that_names_the_user_who_was_merged_into_theirs() -> None:
    scene = Scene()
    assert all(rows_naming(USER_ID).values())
    entries = AuditEntry.objects.filter(actor_id=USER_ID) | AuditEntry.objects.filter(
        object_type="member", object_id=str(MEMBER_ID)
    )
    expected = {str(pk) for pk in entries.values_list("pk", flat=True)}
    events = {str(pk) for pk in Event.objects.filter(person_id=USER_ID).values_list("pk", flat=True)}

    data: dict[str, Any] = scene.caller.get(scene.path).json()

    told = {entry["id"]: entry for entry in data["audit_entries"]}
    assert (expected - set(told), events - {each["id"] for each in data["webhook_events"]}) == (set(), set())
    assert {e["id"] for e in told.values() if e["is_by_them"]} >= {
        str(pk) for pk in AuditEntry.objects.filter(actor_id=USER_ID).values_list("pk", flat=True)
    }
    about = [each for each in told.values() if each["object_id"] == str(MEMBER_ID)]
    assert {each["object_type"] for each in about} == {"member"}
    assert data["entries_for_others"] == 1


def test_nobody_who_holds_the_whole_database_finds_who_was_merged_and_then_erased() -> None:
    scene = Scene()
    before = scene.ann.traces(dump())

    assert scene.caller.delete(scene.path).status_code == 204

    assert {"communities_auditentry", "webhooks_event", "xp_xpentry"} <= set(before)
    assert set(rows_naming(USER_ID).values()) == {0}
    assert scene.ann.traces(dump()) == known_person.ERASED


# --- Users without a membership --------------------------------------------------------------------------


def columns_with_users() -> set[str]:
    return {
        f"{model._meta.label}.{field.attname}"
        for model in apps.get_app_config("surveys").get_models()
        for field in model._meta.concrete_fields
        if field.related_model is User
    }


def work_of(user_id: int, caller: Caller) -> dict[str, Model]:
    """A row for each column of surveys that names a user, who is no member."""
    made, gone = (Project.objects.get(pk=caller.make_open(TEXT, **AUDIENCE)["id"]) for _ in range(2))
    begun = Conversation.objects.get(pk=scenario.begin(made).conversation.pk)
    begun.user_id = made.author_id = gone.deleted_by_id = user_id
    return {
        "surveys.Conversation.user_id": begun,
        "surveys.Project.author_id": made,
        "surveys.Project.deleted_by_id": gone,
        "surveys.ScriptDraft.user_id": ScriptDraft(
            project=made, user_id=user_id, blocks="[]", revision=1, saved_at=NOON
        ),
        "surveys.ResponseDeletion.requested_by_id": ResponseDeletion(
            response_id=uuid.uuid4(), project=made, deletes_at=NOON, requested_by_id=user_id
        ),
        "surveys.Reminder.planned_by_id": Reminder(project=made, planned_by_id=user_id, due_at=NOON),
        "surveys.PersonalLink.created_by_id": PersonalLink(
            project=made,
            member=MemberFactory.create(community=caller.community),
            created_by_id=user_id,
            created_at=NOON,
            expires_at=NOON,
        ),
        "surveys.Generation.requested_by_id": Generation(
            community=caller.community, request={}, requested_by_id=user_id, created_at=NOON
        ),
    }


@pytest.mark.parametrize("column", sorted(columns_with_users()))
@pytest.mark.parametrize("is_merged", [False, True])
def test_a_user_goes_who_worked_in_a_community_without_being_its_member(column: str, is_merged: bool) -> None:
    """Superusers can do that; this user is no longer a superuser."""
    caller = Caller()
    user: User = UserFactory.create()
    row = work_of(user.pk, caller)[column]
    row.save()
    keep = MemberFactory.create(community=caller.community)

    if is_merged:
        merge_users(keep_id=keep.user_id, drop_id=user.pk, at=known_person.AT)
    else:
        people.erase_account(user_id=user.pk, at=known_person.AT)

    assert not User.objects.filter(pk=user.pk).exists()


# --- Scripts that AI writes for a draft -----------------------------------------------------------------


def has_a_script_written(caller: Caller, monkeypatch: Any, settings: Any) -> Member:
    """A creator for whose draft AI writes a script, which took a credit."""
    provide(monkeypatch, settings, GOOD)
    Community.objects.filter(pk=caller.community.pk).update(bot_credits=10)
    member: Member = known_person.person(caller.community)
    Member.objects.filter(pk=member.pk).update(access=Member.Access.CREATOR)
    made = caller.make(TEXT)
    Project.objects.filter(pk=made["id"]).update(author=member.user)
    begun = [
        draft_generation.begin(
            actor=Actor(user_id, "admin", caller.community.pk, "custom"),
            project_id=int(made["id"]),
            intent=f"Ask whether {known_person.NAME} took the gulls",
            at=NOON,
        )
        for user_id in (USER_ID, caller.user.pk)
    ]
    generation.run(generation_id=begun[0].id)
    return member


def credits_of(caller: Caller) -> int:
    caller.community.refresh_from_db()
    return caller.community.bot_credits


def requested_by() -> set[int | None]:
    return set(Generation.objects.values_list("requested_by_id", flat=True))


def test_a_script_that_ai_writes_for_a_person_goes_with_them_and_its_credits_come_back(
    monkeypatch: Any, settings: Any
) -> None:
    caller = Caller()
    has_a_script_written(caller, monkeypatch, settings)
    assert (requested_by(), credits_of(caller)) == ({USER_ID, caller.user.pk}, 8)

    assert caller.delete(f"/members/{MEMBER_ID}/data").status_code == 204

    assert (requested_by(), credits_of(caller)) == ({caller.user.pk}, 9)


def test_a_script_that_ai_writes_for_a_user_who_is_merged_goes_and_its_credits_come_back(
    monkeypatch: Any, settings: Any
) -> None:
    caller = Caller()
    has_a_script_written(caller, monkeypatch, settings)
    keep = MemberFactory.create(community=caller.community)

    merge_users(keep_id=keep.user_id, drop_id=USER_ID, at=NOON)

    assert (requested_by(), credits_of(caller)) == ({caller.user.pk}, 9)
