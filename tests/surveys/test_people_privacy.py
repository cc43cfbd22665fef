"""An erased person is nowhere in the whole database; their answers stay."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.admin.models import LogEntry

from communities.models import ApiKey, Member, User
from surveys.models import Completion, Conversation, FiredAction, Project
from surveys.services.people import service as people
from tests.support.caller import TEXT, Caller
from tests.support.dumps import dump
from tests.support.storage import OF_ANSWERS, stored_rows
from tests.support.surveys import known_person, scenario
from tests.support.surveys.known_person import MEMBER_ID, USER_ID, WRITTEN, everywhere
from tests.support.surveys.participants import QUESTION, Talk, a_member, giving, once_the_hour_is_over
from xp.models import EarnedAchievement, RoleGrant, Standing, XpEntry

pytestmark = pytest.mark.django_db

HELD_IN = {
    "communities_apikey",
    "communities_auditentry",
    "communities_community",
    "communities_identity",
    "communities_member",
    "communities_memberchange",
    "communities_projectgrant",
    "communities_user",
    "django_admin_log",
    "surveys_completion",
    "surveys_conversation",
    "surveys_firedaction",
    "surveys_generation",
    "surveys_reminder",
    "surveys_project",
    "surveys_scriptdraft",
    "webhooks_event",
    "xp_earnedachievement",
    "xp_rolegrant",
    "xp_standing",
    "xp_xpentry",
}


def responses_of(caller: Caller, projects: list[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    return [caller.get(f"/projects/{each['id']}/responses?per_page=100").json()["data"] for each in projects]


def nameless(response: dict[str, Any]) -> dict[str, Any]:
    return {**response, "user_id": None, "platform_id": None, "session_number": None}


def erase(caller: Caller) -> None:
    people.erase(actor=caller.actor, member_id=MEMBER_ID, at=known_person.AT)


def test_nobody_who_holds_the_whole_database_finds_who_was_erased() -> None:
    caller = Caller()
    ann = everywhere(caller)
    before = dump()
    assert set(ann.traces(before)) == HELD_IN

    erase(caller)

    assert ann.traces(dump()) == known_person.ERASED
    for nothing in (Standing, XpEntry, EarnedAchievement, RoleGrant):
        assert nothing.objects.count() == 0, nothing
    for hashed in (Completion, FiredAction):
        assert set(hashed.objects.values_list("project__privacy_mode", flat=True)) == {"anonymous"}
    assert User.objects.filter(pk=USER_ID).count() == 0


@pytest.mark.django_db(transaction=True)
def test_an_erasure_writes_locks_and_deletes_nothing_of_an_anonymous_answer() -> None:
    """Else whoever compares the database before and after it sees which answers were theirs (rule 7.10)."""
    caller = Caller()
    member = a_member(caller)
    made = caller.make_open(
        *(QUESTION, giving(xp_amount=5), giving(xp_amount=3, fire_scope="session"), QUESTION),
        privacy_mode="anonymous",
        rewards={"use_xp": True},
        settings={"max_completes_per_user": 2},
    )
    Talk(caller, made, member_id=member).through()
    once_the_hour_is_over()
    Talk(caller, made, member_id=member).answer()
    before = [row for row in stored_rows() if row.table in OF_ANSWERS]

    assert caller.delete(f"/members/{member}/data").status_code == 204

    assert [row for row in stored_rows() if row.table in OF_ANSWERS] == before
    assert {"surveys_completion", "surveys_firedaction", "surveys_sealedgifts"} <= {r.table for r in before}
    assert caller.get("/events?type=member.erased").json()["data"][0]["data"] == {"member_id": member}


def test_the_answers_stay_listed_and_counted() -> None:
    caller = Caller()
    ann = everywhere(caller)
    projects = Project.objects.filter(community=caller.community).order_by("pk")
    listed, counted = responses_of(caller, ann.projects), [scenario.counts(each) for each in projects]

    erase(caller)

    after = responses_of(caller, ann.projects)
    assert after == [[nameless(each) for each in of] for of in listed]
    assert [len(of) for of in after] == [3, 2, 2, 1]
    assert [scenario.counts(each) for each in projects] == counted
    assert [scenario.recounted(each) for each in projects] == counted
    told = [answer["value"] for of in after for each in of for answer in each["answers"]]
    assert told.count(WRITTEN) == 3


def test_the_projects_they_made_stay_without_their_name() -> None:
    caller = Caller()
    ann = everywhere(caller)
    assert caller.get(f"/projects/{ann.projects[0]['id']}").json()["info"]["author_id"] == str(USER_ID)

    erase(caller)

    info = caller.get(f"/projects/{ann.projects[0]['id']}").json()["info"]
    assert (info["author_id"], info["author_name"]) == (None, None)


def test_what_staff_did_stays_in_the_log_but_not_to_whom() -> None:
    caller = Caller()
    everywhere(caller)

    erase(caller)

    log = LogEntry.objects.values_list("user_id", "object_id", "object_repr", "change_message")
    assert list(log) == [(caller.user.pk, None, "", "")] * 3


def test_an_erased_browser_is_not_known_again_by_how_its_options_were_shuffled() -> None:
    caller = Caller()
    everywhere(caller)
    seeds = set(Conversation.objects.filter(user=USER_ID).values_list("seed", flat=True))

    erase(caller)

    assert seeds.isdisjoint(Conversation.objects.values_list("seed", flat=True))


def test_no_moment_joins_the_answers_of_who_was_erased() -> None:
    caller = Caller()
    everywhere(caller)
    before = set(Conversation.objects.values_list("pk", "updated_at"))

    erase(caller)

    assert set(Conversation.objects.values_list("pk", "updated_at")) == before


def test_what_others_hold_and_what_other_communities_hold_of_the_same_person_stays() -> None:
    caller = Caller()
    everywhere(caller)
    other, survey = known_person.elsewhere()
    somebody = Member.objects.create(community=caller.community, user=User.objects.create(name="Bo"))
    known_person.award(somebody)
    known_person.begin(
        {"id": Project.objects.filter(community=caller.community).order_by("pk")[0].pk}, somebody.pk
    )
    hashes = Completion.objects.filter(project=survey["id"])
    kept = (
        list(hashes.values()),
        list(Conversation.objects.filter(project=survey["id"]).values()),
        list(Conversation.objects.filter(user=somebody.user).values()),
        list(Member.objects.exclude(pk=MEMBER_ID).order_by("pk").values()),
        list(XpEntry.objects.exclude(member=MEMBER_ID).order_by("pk").values()),
        list(Standing.objects.exclude(member=MEMBER_ID).order_by("pk").values()),
        list(ApiKey.objects.filter(community=other.community).values("pk", "digest")),
    )

    erase(caller)

    assert kept == (
        list(hashes.values()),
        list(Conversation.objects.filter(project=survey["id"]).values()),
        list(Conversation.objects.filter(user=somebody.user).values()),
        list(Member.objects.order_by("pk").values()),
        list(XpEntry.objects.order_by("pk").values()),
        list(Standing.objects.order_by("pk").values()),
        list(ApiKey.objects.filter(community=other.community).values("pk", "digest")),
    )
    assert User.objects.get(pk=USER_ID).name == known_person.NAME
    assert Conversation.objects.filter(user=USER_ID).exclude(project=survey["id"]).count() == 0
    identities = User.objects.get(pk=USER_ID).identities.values_list("provider", "platform_id")
    assert set(identities) == {("chat", known_person.CHAT_ID), ("web", "another-name")}


@pytest.mark.parametrize(
    "hold",
    [
        lambda user, other: User.objects.filter(pk=user.pk).update(is_staff=True),
        lambda user, other: User.objects.filter(pk=user.pk).update(is_superuser=True),
        lambda user, other: Member.objects.create(community=other, user=user, left_at=known_person.AT),
        lambda user, other: user.identities.create(provider="web", platform_id="x", community=other),
        lambda user, other: ApiKey.objects.create(
            community=other, user=user, name="x", key_prefix="x", digest="x", created_at=known_person.AT
        ),
        lambda user, other: type(other).objects.filter(pk=other.pk).update(user_setup=user),
        lambda user, other: LogEntry.objects.create(user=user, action_flag=1),
        lambda user, other: scenario.project(community=other, author=user),
        lambda user, other: Conversation.objects.create(
            project=scenario.project(community=other),
            user=user,
            seed=1,
            started_at=known_person.AT,
            updated_at=known_person.AT,
        ),
    ],
)
def test_a_user_whom_somebody_else_knows_stays(hold: Any) -> None:
    caller, other = Caller(), Caller()
    hold(known_person.person(caller.community).user, other.community)

    erase(caller)

    assert User.objects.filter(pk=USER_ID).count() == 1
    assert Member.objects.filter(pk=MEMBER_ID).count() == 0


def test_a_user_with_groups_and_rights_from_former_days_goes() -> None:
    caller = Caller()
    user = known_person.person(caller.community).user
    user.groups.create(name="Editors")
    user.user_permissions.add(*user.user_permissions.model.objects.all()[:2])

    erase(caller)

    assert User.objects.filter(pk=USER_ID).count() == 0


def test_erasing_costs_as_many_statements_for_a_long_history_as_for_a_short_one() -> None:
    caller = Caller()
    ann = known_person.person(caller.community)
    survey = caller.make_open(TEXT, **known_person.AUDIENCE)
    for n in range(20):
        scenario.say(known_person.begin(survey), f"Answer {n}.", at=known_person.AT)
        known_person.award(ann)

    with scenario.at_most(61):
        erase(caller)

    assert Conversation.objects.filter(user=None, completed_at__isnull=False).count() == 20
