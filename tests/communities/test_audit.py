"""The audit trail: the contents of an entry, its protection by the database, erasures, and old entries."""

from __future__ import annotations

import threading
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
import structlog
from django.db import DatabaseError, connection, transaction
from pytest_django import Settings

from communities.ground.actors import ActingKey, Actor
from communities.ground.audit_actions import Action
from communities.ground.rounding import Rounding
from communities.models import ApiKey, AuditEntry, Community
from communities.services.people.personal_data import Person, erase_from_history, erase_member
from communities.services.trail import audit, audit_listing
from communities.services.trail.audit import Subject
from communities.services.trail.audit_listing import Filters
from tests.factories import CommunityFactory, MemberFactory
from tests.support.api_requests import key_of
from tests.support.caller import Caller
from tests.support.moments import NOON

pytestmark = pytest.mark.django_db


@pytest.fixture
def community() -> Community:
    return CommunityFactory.create()


def marit(community: Community, *, key: ActingKey | None = None, **of_member: Any) -> Actor:
    member = MemberFactory.create(community=community, user__name="Marit Solberg", **of_member)
    return Actor(member.user_id, "admin", community.pk, "vip", key)


def entry(
    community: Community,
    *,
    actor: Actor | None = None,
    action: Action = Action.PROJECT_UPDATED,
    type: str = "project",
    id: object = 7,
    name: str = "Openings",
    project_id: int | None = 7,
    minutes: int = 0,
    **fields: Any,
) -> AuditEntry:
    """An entry that was just written."""
    known = set(AuditEntry.objects.values_list("pk", flat=True))
    audit.record(
        actor=actor,
        action=action,
        on=Subject(community.pk, type, id, name, project_id),
        at=NOON + timedelta(minutes=minutes),
        **fields,
    )
    return AuditEntry.objects.exclude(pk__in=known).get()


def listed(community: Community, **filters: Any) -> list[AuditEntry]:
    return list(
        audit_listing.page(community_id=community.pk, filters=Filters(**filters), per_page=100).entries
    )


class TestRecording:
    def test_an_entry_tells_who_did_what_when_and_how_it_was(self, community: Community) -> None:
        actor = marit(community, key=ActingKey(9, "cq_live_k3Jq0b"))

        made = entry(community, actor=actor, before={"name": "Openings"}, after={"name": "Endings"})

        told = audit_listing.as_json(made)
        assert told == {
            "id": str(made.pk),
            "happened_at": NOON,
            "action": "project.updated",
            "source": "api_key",
            "actor_id": str(actor.user_id),
            "actor_name": "Marit Solberg",
            "actor_pseudonym": None,
            "api_key_id": "9",
            "key_prefix": "cq_live_k3Jq0b",
            "object_type": "project",
            "object_id": "7",
            "object_name": "Openings",
            "project_id": "7",
            "before": {"name": "Openings"},
            "after": {"name": "Endings"},
            "request_id": told["request_id"],
        }

    def test_staff_without_a_key_act_in_the_admin_others_as_members_and_nobody_is_the_system(
        self, community: Community
    ) -> None:
        member = MemberFactory.create(community=community, user__name="Bo")

        assert entry(community, actor=marit(community)).source == "admin"
        assert entry(community, actor=Actor(member.user_id, "member", community.pk, "vip")).source == "member"
        assert entry(community).source == "system"

    def test_the_name_is_the_nick_and_stays_as_it_was(self, community: Community) -> None:
        actor = marit(community, nick="mo")
        made = entry(community, actor=actor)

        community.members.update(nick="another")

        assert AuditEntry.objects.get(pk=made.pk).actor_name == "mo"

    def test_it_holds_the_id_of_the_request_that_somebody_made(self, community: Community) -> None:
        with structlog.contextvars.bound_contextvars(request_id="r-1"):
            assert entry(community, actor=marit(community)).request_id == "r-1"
            assert entry(community).request_id is None

    def test_beside_anonymous_responses_nothing_tells_the_exact_time(self, community: Community) -> None:
        with structlog.contextvars.bound_contextvars(request_id="r-1"):
            made = entry(community, actor=marit(community), minutes=17, rounded_to=Rounding.HOUR)

        assert (made.happened_at, made.pk.version, made.request_id) == (NOON, 4, None)

    def test_it_goes_with_the_transaction_that_is_rolled_back(self, community: Community) -> None:
        with transaction.atomic():
            entry(community)
            transaction.set_rollback(True)

        assert AuditEntry.objects.count() == 0

    def test_names_that_are_too_long_are_cut(self, community: Community) -> None:
        assert len(entry(community, name="x" * 300).object_name) == 200


class TestChanges:
    def test_only_what_differs_is_kept_by_its_path(self) -> None:
        before = {"name": "a", "delivery": {"opening": {"mode": "manual"}, "closing": {"mode": "manual"}}}
        after = {"name": "a", "delivery": {"opening": {"mode": "scheduled"}, "closing": {"mode": "manual"}}}

        assert audit.changes(before, after) == (
            {"delivery.opening.mode": "manual"},
            {"delivery.opening.mode": "scheduled"},
        )

    def test_what_came_and_went_stands_on_one_side(self) -> None:
        assert audit.changes({"a": {"x": 1}}, {"b": 2}) == ({"a.x": 1}, {"b": 2})

    def test_without_a_difference_there_is_no_entry(self, community: Community) -> None:
        audit.record_change(
            actor=None,
            action=Action.PROJECT_UPDATED,
            on=Subject(community.pk, "project", 1),
            at=NOON,
            before={"a": 1},
            after={"a": 1},
        )

        assert AuditEntry.objects.count() == 0


class TestOnlyAddedTo:
    @pytest.mark.parametrize(
        "change",
        [
            "UPDATE communities_auditentry SET actor_name = 'Nobody'",
            "UPDATE communities_auditentry SET actor_name = ''",
            "UPDATE communities_auditentry SET happened_at = happened_at + interval '1 second'",
            "UPDATE communities_auditentry SET after = NULL",
            "DELETE FROM communities_auditentry",
        ],
    )
    def test_the_database_refuses(self, community: Community, change: str) -> None:
        made = entry(community, actor=marit(community), after={"name": "Endings"})

        with pytest.raises(DatabaseError, match="only added to"), transaction.atomic():
            _execute(change)

        assert audit_listing.get(community_id=community.pk, entry_id=made.pk).actor_name == "Marit Solberg"

    @pytest.mark.parametrize(
        "column", ["happened_at = now()", "action = 'x'", "source = 'system'", "project_id = 8"]
    )
    def test_erasing_changes_nothing_but_what_tells_of_a_person(
        self, community: Community, column: str
    ) -> None:
        entry(community, actor=marit(community))
        _set("colloquy.erased_in_community", str(community.pk))

        with pytest.raises(DatabaseError, match="only added to"), transaction.atomic():
            _execute(f"UPDATE communities_auditentry SET {column}")

    @pytest.mark.parametrize("name", ["actor_name", "object_name", "key_prefix"])
    def test_erasing_puts_nobody_in_the_place(self, community: Community, name: str) -> None:
        entry(community, actor=marit(community))
        _set("colloquy.erased_in_community", str(community.pk))

        with pytest.raises(DatabaseError, match="only added to"), transaction.atomic():
            _execute(f"UPDATE communities_auditentry SET {name} = 'Bo'")

    @pytest.mark.parametrize(
        "change",
        [
            "actor_id = NULL, actor_name = ''",
            "actor_pseudonym = 'ANOTHER2'",
        ],
    )
    def test_who_acted_as_staff_never_goes_without_a_pseudonym_and_gets_none_before(
        self, community: Community, change: str
    ) -> None:
        entry(community, actor=marit(community))
        _set("colloquy.erased_in_community", str(community.pk))

        with pytest.raises(DatabaseError, match="only added to"), transaction.atomic():
            _execute(f"UPDATE communities_auditentry SET {change}")

    @pytest.mark.parametrize("pseudonym", ["", "ANOTHER2"])
    def test_a_pseudonym_stays(self, community: Community, pseudonym: str) -> None:
        actor = marit(community)
        entry(community, actor=actor)
        _erase(community, actor.user_id)
        _set("colloquy.erased_in_community", str(community.pk))

        with pytest.raises(DatabaseError, match="only added to"), transaction.atomic():
            _execute(f"UPDATE communities_auditentry SET actor_pseudonym = '{pseudonym}'")

    def test_erasing_in_one_community_leaves_the_others(self, community: Community) -> None:
        elsewhere = CommunityFactory.create()
        entry(elsewhere, actor=marit(elsewhere))
        _set("colloquy.erased_in_community", str(community.pk))

        with pytest.raises(DatabaseError, match="only added to"), transaction.atomic():
            _execute("UPDATE communities_auditentry SET actor_name = ''")


def _execute(sql: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(sql)


def _set(setting: str, value: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT set_config(%s, %s, true)", [setting, value])


class TestErasing:
    def test_the_person_goes_and_what_was_done_stays(self, community: Community) -> None:
        actor = marit(community, key=ActingKey(9, "cq_live_k3Jq0b"))
        member_id = community.members.get().pk
        by = entry(community, actor=actor, before={"name": "a"}, after={"name": "b"})
        about = entry(community, type="member", id=member_id, name="Marit", after={"nick": "mo"})

        _erase(community, actor.user_id)

        by.refresh_from_db()
        about.refresh_from_db()
        assert (by.actor_id, by.actor_name, by.api_key_id, by.key_prefix) == (None, "", None, "")
        assert (by.object_name, by.before, by.after) == ("Openings", {"name": "a"}, {"name": "b"})
        assert (about.object_id, about.object_name, about.after) == (None, "", None)
        assert listed(community, search="Marit") == []

    def test_entries_about_their_keys_name_them_no_more(self) -> None:
        caller = Caller()
        key = key_of(caller)
        about = entry(caller.community, type="api_key", id=key.pk, name="Marit's", after={"key_prefix": "x"})

        _erase(caller.community, caller.user.pk)

        about.refresh_from_db()
        assert (about.object_id, about.object_name, about.after) == (None, "", None)
        assert ApiKey.objects.count() == 0

    def test_afterwards_nothing_may_be_changed_again(self, community: Community) -> None:
        actor = marit(community)
        _erase(community, actor.user_id)
        entry(community, name="Openings")

        with pytest.raises(DatabaseError, match="only added to"), transaction.atomic():
            _execute("UPDATE communities_auditentry SET object_name = ''")

    def test_others_and_other_communities_stay(self, community: Community) -> None:
        actor, elsewhere = marit(community), CommunityFactory.create()
        MemberFactory.create(community=elsewhere, user_id=actor.user_id)
        kept = [
            entry(community, actor=marit(community)),
            entry(elsewhere, actor=replace(actor, community_id=elsewhere.pk)),
            entry(community, type="project", id=community.members.order_by("pk")[0].pk),
        ]
        before = [audit_listing.as_json(each) for each in kept]

        _erase(community, actor.user_id)

        after = [audit_listing.as_json(AuditEntry.objects.get(pk=each.pk)) for each in kept]
        assert after == before


def _erase(community: Community, user_id: int) -> None:
    member = community.members.get(user_id=user_id)
    with transaction.atomic():
        erase_from_history(person=Person(community.pk, member.pk, user_id))
        erase_member(community_id=community.pk, member_id=member.pk, user_id=user_id)


class TestAge:
    def test_old_entries_are_deleted(
        self, community: Community, settings: Settings, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        settings.AUDIT_DAYS = 10
        monkeypatch.setattr(audit, "BATCH_SIZE", 2)
        for _ in range(5):
            entry(community)
        exactly = entry(community, minutes=1)

        at = NOON + timedelta(days=10, minutes=1)
        assert audit.delete_old(at=at) == 5

        assert [each.pk for each in AuditEntry.objects.all()] == [exactly.pk]
        assert audit.delete_old(at=at) == 0

    def test_they_are_kept_a_year(self, community: Community) -> None:
        entry(community)

        assert audit.delete_old(at=NOON + timedelta(days=365)) == 0
        assert audit.delete_old(at=NOON + timedelta(days=365, seconds=1)) == 1

    def test_afterwards_nothing_may_be_deleted_again(self, community: Community) -> None:
        audit.delete_old(at=NOON + timedelta(days=800))
        entry(community)

        with pytest.raises(DatabaseError, match="only added to"), transaction.atomic():
            AuditEntry.objects.all().delete()


class TestListing:
    def test_a_page_of_long_entries_ends_early(
        self, community: Community, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        made = [entry(community, minutes=each, after={"title": "T" * 100}) for each in range(3)][::-1]
        monkeypatch.setattr("communities.ground.statements.MAX_PAGE_BYTES", 150)

        first = audit_listing.page(community_id=community.pk, per_page=10)
        rest = audit_listing.page(community_id=community.pk, after=first.entries[-1].pk, per_page=10)

        assert [*first.entries, *rest.entries] == made
        assert [first.has_more, rest.has_more] == [True, False]

    def test_newest_first_and_each_once_over_pages(self, community: Community) -> None:
        made = [entry(community, minutes=each % 3) for each in range(7)]

        pages, after = [], None
        while True:
            page = audit_listing.page(community_id=community.pk, after=after, per_page=2)
            pages.append(page.entries)
            if not page.has_more:
                break
            after = page.entries[-1].pk

        walked = [each for page in pages for each in page]
        assert [len(page) for page in pages] == [2, 2, 2, 1]
        assert {each.pk for each in walked} == {each.pk for each in made}
        in_order = sorted(made, key=lambda each: (each.happened_at, each.pk), reverse=True)
        assert [each.pk for each in walked] == [each.pk for each in in_order]

    def test_batches_give_the_same(self, community: Community, monkeypatch: pytest.MonkeyPatch) -> None:
        for each in range(5):
            entry(community, minutes=each)
        monkeypatch.setattr(audit_listing, "BATCH_SIZE", 2)

        batches = list(audit_listing.batches(community_id=community.pk))

        assert [len(each) for each in batches] == [2, 2, 1]
        assert [each.pk for batch in batches for each in batch] == [each.pk for each in listed(community)]

    def test_filters(self, community: Community) -> None:
        actor = marit(community)
        first = entry(community, actor=actor, project_id=7)
        second = entry(community, action=Action.SCRIPT_UPDATED, project_id=8, minutes=5)
        entry(CommunityFactory.create())

        found = {
            "all": listed(community),
            "project": listed(community, project_id=7),
            "action": listed(community, actions=["script.updated"]),
            "actions": listed(community, actions=["script.updated", "project.updated"]),
            "actor": listed(community, actor_id=actor.user_id),
            "source": listed(community, source="system"),
            "since": listed(community, since=NOON + timedelta(minutes=5)),
            "until": listed(community, until=NOON + timedelta(minutes=5)),
        }

        assert {name: [each.pk for each in entries] for name, entries in found.items()} == {
            "all": [second.pk, first.pk],
            "project": [first.pk],
            "action": [second.pk],
            "actions": [second.pk, first.pk],
            "actor": [first.pk],
            "source": [second.pk],
            "since": [second.pk],
            "until": [first.pk],
        }

    @pytest.mark.parametrize(
        ("term", "is_found"),
        [
            ("marit", True),
            ("sol mar", True),
            ("open", True),
            ("YEAR'S", True),
            ("4711", True),
            ("cq_live_k3", True),
            ("bo", False),
            ("marit bo", False),
            ("' | !x:* & (", False),
            ("\\", False),
            ("%", False),
        ],
    )
    def test_searching_by_beginnings_of_words(self, community: Community, term: str, is_found: bool) -> None:
        entry(
            community,
            actor=marit(community, key=ActingKey(9, "cq_live_k3Jq0b")),
            name="The year's Openings",
            id=4711,
        )

        assert bool(listed(community, search=term)) is is_found

    def test_the_newest_change_of_a_project(self, community: Community) -> None:
        actor = marit(community)
        entry(community, actor=actor, action=Action.SCRIPT_UPDATED)
        entry(community, minutes=5)

        changed = audit.last_change(project_id=7, action="script.")

        assert changed == audit.LastChange(actor.user_id, "Marit Solberg", NOON)
        assert audit.last_change(project_id=7) == audit.LastChange(None, None, NOON + timedelta(minutes=5))
        assert audit.last_change(project_id=8) is None


@pytest.mark.django_db(transaction=True)
def test_entries_of_concurrent_changes_do_not_wait_for_each_other() -> None:
    community = CommunityFactory.create()
    actor = marit(community)
    written: list[AuditEntry] = []

    def write() -> None:
        with transaction.atomic():
            written.append(entry(community, actor=actor))
        connection.close()

    with transaction.atomic():
        entry(community, actor=actor)
        thread = threading.Thread(target=write)
        thread.start()
        thread.join(timeout=5)
        assert len(written) == 1
