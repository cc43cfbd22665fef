"""Entries of an erased staff user still belong to one person, whom nobody can identify (rule 7.20)."""

from __future__ import annotations

import uuid
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from communities.ground.actors import Actor
from communities.ground.audit_actions import Action
from communities.models import AuditEntry, Member, User
from communities.services.people import staff
from communities.services.trail import audit
from communities.services.trail.audit import Subject
from surveys.models import Project, ResponseDeletion
from surveys.services.people import merging
from surveys.services.people import service as people
from surveys.services.responses import deletion
from tests.factories import CommunityFactory, MemberFactory, UserFactory
from tests.support.caller import CHOICE, TEXT, Caller
from tests.support.dumps import dump
from tests.support.staff import Staff
from tests.support.surveys import known_person
from xp.models import XpEntry

pytestmark = pytest.mark.django_db
NAME = "Zephyrine Quill"


def admin_beside(caller: Caller, access: str = "admin") -> Caller:
    """Another admin of the community, by an API key of their own."""
    other = caller.beside(access)
    User.objects.filter(pk=other.user.pk).update(name=NAME)
    return other


def trail(caller: Caller) -> list[dict[str, Any]]:
    """The audit trail as another admin reads it over the interface, oldest first."""
    answer = caller.get("/audit?per_page=100")
    assert answer.status_code == 200, answer.content
    return list(reversed(answer.json()["data"]))


def by_nobody_known(entries: list[dict[str, Any]]) -> set[tuple[object, ...]]:
    names = ("actor_id", "actor_name", "api_key_id", "key_prefix", "request_id")
    return {tuple(entry[name] for name in names) for entry in entries}


def test_an_admin_who_covers_their_tracks_by_leaving_is_seen_to_be_one_person() -> None:
    caller = Caller()
    thief = admin_beside(caller)
    project = caller.make(TEXT, name="Openings")
    victim = caller.community.members.create(user=UserFactory.create(name="Bo"))
    assert thief.get(f"/members/{victim.pk}/data").status_code == 200
    assert thief.delete(f"/members/{victim.pk}/data").status_code == 204
    assert thief.delete(f"/projects/{project['id']}").status_code == 204

    people.erase_membership(user_id=thief.user.pk, community_id=caller.community.pk, at=timezone.now())
    people.erase_account(user_id=thief.user.pk, at=timezone.now())

    done = [entry for entry in trail(caller) if entry["actor_pseudonym"]]
    assert [entry["action"] for entry in done] == [
        "member.exported",
        "member.erased",
        "project.deleted",
        "member.erased",
    ]
    assert [entry["source"] for entry in done] == ["api_key", "api_key", "api_key", "admin"]
    assert len({entry["actor_pseudonym"] for entry in done}) == 1
    assert by_nobody_known(done) == {(None,) * 5}
    rows = "\n".join(dump()["communities_auditentry"])
    assert NAME not in rows
    assert thief.secret[:12] not in rows


def test_the_pseudonym_finds_the_entries_over_the_interface_and_in_the_admin() -> None:
    caller = Caller()
    gone, other = admin_beside(caller), admin_beside(caller)
    for each in (gone, other):
        each.patch("/settings", {"xp_name": f"Stars {each.user.pk}"})
    people.erase_membership(user_id=gone.user.pk, community_id=caller.community.pk, at=timezone.now())
    people.erase_membership(user_id=other.user.pk, community_id=caller.community.pk, at=timezone.now())
    (pseudonym,) = {e["actor_pseudonym"] for e in trail(caller) if f"Stars {gone.user.pk}" in str(e["after"])}

    found = caller.get(f"/audit?actor_pseudonym={pseudonym}").json()["data"]
    searched = caller.get(f"/audit?search={pseudonym}").json()["data"]
    page = Staff(community=caller.community).read("/admin/communities/auditentry/", {"q": pseudonym.lower()})

    assert [entry["action"] for entry in found] == ["member.erased", "settings.updated"]
    assert searched == found
    assert page.count(f"Former staff {pseudonym}") == 2
    assert len({entry["actor_pseudonym"] for entry in trail(caller)} - {None}) == 2


def test_two_communities_cannot_join_their_trails() -> None:
    caller, elsewhere = Caller(), Caller()
    gone = admin_beside(caller)
    MemberFactory.create(community=elsewhere.community, user=gone.user, access="creator")

    people.erase_account(user_id=gone.user.pk, at=timezone.now())

    pseudonyms = list(
        AuditEntry.objects.exclude(actor_pseudonym="").values_list("actor_pseudonym", flat=True)
    )
    assert len(pseudonyms) == len(set(pseudonyms)) == 2


def test_an_erasure_by_another_admin_leaves_a_pseudonym_for_what_the_person_did() -> None:
    caller = Caller()
    gone = admin_beside(caller)
    gone.patch("/settings", {"xp_name": "Stars"})
    member = Member.objects.get(user=gone.user)

    people.erase(actor=caller.actor, member_id=member.pk, at=timezone.now())

    by_action = {entry["action"]: entry for entry in trail(caller)}
    assert by_action["settings.updated"]["actor_pseudonym"]
    assert by_action["member.erased"]["actor_pseudonym"] is None
    assert by_action["member.erased"]["actor_id"] == str(caller.user.pk)


def test_a_member_who_was_never_staff_leaves_no_pseudonym() -> None:
    caller = Caller()
    member = MemberFactory.create(community=caller.community, user__name=NAME)
    actor = Actor(member.user_id, "member", caller.community.pk, "vip")
    people.data_of(actor=actor, member_id=member.pk, at=timezone.now())

    people.erase_membership(user_id=member.user_id, community_id=caller.community.pk, at=timezone.now())

    exported, left = trail(caller)
    assert (exported["action"], exported["source"], exported["actor_pseudonym"]) == (
        *("member.exported", "member"),
        None,
    )
    assert (left["action"], left["source"], left["actor_pseudonym"]) == ("member.erased", "system", None)
    assert by_nobody_known([exported]) == {(None,) * 5}


def test_somebody_who_was_staff_once_is_not_anonymous_for_it() -> None:
    caller = Caller()
    gone = admin_beside(caller)
    gone.patch("/settings", {"xp_name": "Stars"})
    Member.objects.filter(user=gone.user).update(access="member")

    people.erase_membership(user_id=gone.user.pk, community_id=caller.community.pk, at=timezone.now())

    changed, left = trail(caller)
    assert changed["actor_pseudonym"] == left["actor_pseudonym"] != None  # noqa: E711


def test_two_accounts_of_one_person_have_one_pseudonym_and_lose_both_names() -> None:
    caller = Caller()
    keep, drop = admin_beside(caller), admin_beside(caller)
    for each in (keep, drop):
        each.patch("/settings", {"xp_name": f"Stars {each.user.pk}"})
    dropped = Member.objects.get(user=drop.user)
    about = Subject(caller.community.pk, "member", dropped.pk, NAME)
    audit.record(
        actor=caller.actor, action=Action.MEMBER_UPDATED, on=about, at=timezone.now(), after={"nick": NAME}
    )
    merging.merge_users(keep_id=keep.user.pk, drop_id=drop.user.pk, at=timezone.now())

    people.erase_account(user_id=keep.user.pk, at=timezone.now())

    done = [entry for entry in trail(caller) if entry["actor_pseudonym"]]
    assert [entry["action"] for entry in done] == [
        *("settings.updated", "settings.updated", "member.merged", "member.erased")
    ]
    assert len({entry["actor_pseudonym"] for entry in done}) == 1
    rows = "\n".join(dump()["communities_auditentry"])
    assert NAME not in rows
    assert not AuditEntry.objects.filter(actor_id__in=[keep.user.pk, drop.user.pk]).exists()
    assert not AuditEntry.objects.filter(object_type="member", object_id=str(dropped.pk)).exists()


def test_superusers_who_acted_where_they_were_no_member_go_from_there_too() -> None:
    """A superuser changes an account, which stands in the trail of each community of that person."""
    community = CommunityFactory.create()
    member = MemberFactory.create(community=community)
    operator = UserFactory.create(name=NAME, is_superuser=True)
    staff.record_account_change(
        staff=operator, user=member.user, fields=["is_active"], before={}, after={}, at=timezone.now()
    )
    User.objects.filter(pk=operator.pk).update(is_superuser=False)  # or they could not go

    people.erase_account(user_id=operator.pk, at=timezone.now())

    entry = AuditEntry.objects.get()
    assert (entry.actor_id, entry.actor_name, bool(entry.actor_pseudonym)) == (None, "", True)


def test_what_staff_gave_by_hand_has_the_pseudonym_of_the_trail() -> None:
    """Rule 7.21."""
    caller = Caller()
    keep, drop = admin_beside(caller), admin_beside(caller)
    other = MemberFactory.create(community=caller.community)
    for giver, amount in ((keep, 25), (drop, 10), (caller, 1)):
        assert giver.post(f"/members/{other.pk}/xp", {"amount": amount}).status_code == 201
    merging.merge_users(keep_id=keep.user.pk, drop_id=drop.user.pk, at=timezone.now())

    people.erase_account(user_id=keep.user.pk, at=timezone.now())

    (pseudonym,) = {entry["actor_pseudonym"] for entry in trail(caller)} - {None}
    listed = caller.get(f"/members/{other.pk}/xp").json()["data"]
    assert [(each["delta"], each["actor_pseudonym"]) for each in listed] == [
        *((1, None), (10, pseudonym), (25, pseudonym))
    ]
    assert set(XpEntry.objects.values_list("actor_id", flat=True)) == {None, caller.user.pk}
    staff_page = Staff(community=caller.community)
    for path in (f"{other.pk}/ledger/", f"{other.pk}/change/"):
        assert staff_page.read(f"/admin/communities/member/{path}").count(f"Former staff {pseudonym}") == 2


def test_a_giver_leaves_a_pseudonym_though_the_trail_is_too_old_to_show_them() -> None:
    caller = Caller()
    gone, operator = admin_beside(caller), UserFactory.create(name=NAME)
    other = MemberFactory.create(community=caller.community)
    gone.post(f"/members/{other.pk}/xp", {"amount": 25})
    known_person.award(other, actor_id=operator.pk)
    audit.delete_old(at=timezone.now() + timedelta(days=1_000))
    Member.objects.filter(user=gone.user).update(access="member")

    for user in (gone.user, operator):
        people.erase_account(user_id=user.pk, at=timezone.now())

    assert not XpEntry.objects.filter(actor__isnull=False).exists()
    assert XpEntry.objects.exclude(actor_pseudonym="").values("actor_pseudonym").distinct().count() == 2


def test_a_deletion_that_was_planned_before_is_recorded_under_the_pseudonym() -> None:
    caller = Caller()
    gone = admin_beside(caller)
    web = {"delivery": {"audience": {"participation": "open_web"}}}
    project = caller.make_open(CHOICE, TEXT, **web)
    choice = project["script"]["blocks"][0]
    begun = caller.post(f"/projects/{project['id']}/conversations", {}).json()
    answer = {"block_id": choice["id"], "option_id": choice["options"][0]["id"]}
    caller.post(f"/conversations/{begun['id']}/answers", answer)
    deletion.mark(
        response_id=uuid.UUID(begun["id"]),
        project=Project.objects.get(pk=project["id"]),
        actor=gone.actor,
        at=timezone.now(),
    )
    people.erase_account(user_id=gone.user.pk, at=timezone.now())

    assert deletion.delete_due(at=timezone.now() + timedelta(hours=1)) == 1

    entries = [entry for entry in trail(caller) if entry["object_id"] == begun["id"]]
    assert [entry["action"] for entry in entries] == ["response.deletion_planned", "response.deleted"]
    assert len({entry["actor_pseudonym"] for entry in entries}) == 1
    assert by_nobody_known(entries) == {(None,) * 5}
    assert not ResponseDeletion.objects.exists()
