"""Test keys, and the test side of a community in which they act (rules 1.760 to 1.765, 12.760)."""

from __future__ import annotations

from copy import copy
from datetime import timedelta
from typing import Any

import pytest
from django.conf import LazySettings
from django.test import Client
from django.utils import timezone

from communities.models import (
    ApiKey,
    AuditEntry,
    Community,
    CommunitySettings,
    Identity,
    Member,
    Picture,
    User,
)
from communities.services.inviting import invitations
from communities.services.people import identities, platform_members
from communities.services.tenants import communities
from communities.services.trail import audit
from communities.staff import failures
from communities.staff.failures import Failure
from surveys.models import Conversation, Project
from surveys.services.people import own_responses
from surveys.services.people import service as people
from surveys.services.projects import removal
from tests.factories import IdentityFactory, MemberFactory, StaffFactory
from tests.support.accounts import sign_in
from tests.support.caller import CHOICE, Caller, faults, refusal
from webhooks.models import Event, Webhook
from webhooks.services import housekeeping
from xp.models import XpEntry

OPEN: dict[str, Any] = {"delivery": {"audience": {"participation": "open_web"}}}


@pytest.fixture
def live(db: None) -> Caller:
    return Caller(xp_name="Knots")


def _test_key(live: Caller, **body: Any) -> Caller:
    """The same person with a new test key of the same community."""
    made = live.post("/api_keys", {"name": "Tests", "mode": "test", **body})
    assert made.status_code == 201, made.content
    twin = copy(live)
    twin.secret = made.json()["key"]
    return twin


def _side(live: Caller) -> Community:
    return Community.objects.get(test_of=live.community)


def test_a_test_key_says_so_and_sees_a_community_like_its_own(live: Caller) -> None:
    """Rules 1.22, 1.760 and 1.761."""
    made = live.post("/api_keys", {"name": "Tests", "mode": "test"}).json()
    test = _test_key(live)

    seen = test.get("").json()
    of_test, of_live = f"/v1/communities/{seen['id']}", f"/v1/communities/{live.community.pk}"
    asked = {
        (name, path): live.client.get(path, headers={"X-API-Key": caller.secret}).status_code
        for name, caller in (("live", live), ("test", test))
        for path in (of_test, of_live)
    }

    assert made["key"].startswith("cq_test_")
    assert (made["key_prefix"], made["mode"]) == (made["key"][:14], "test")
    assert [each["mode"] for each in live.get("/api_keys").json()["data"]] == ["test", "test", "live"]
    assert (seen["mode"], live.get("").json()["mode"]) == ("test", "live")
    assert seen["id"] != str(live.community.pk)
    assert (seen["name"], seen["tier"]) == (live.community.name, live.community.tier)
    assert test.get("/settings").json()["xp_name"] == "Knots"
    assert asked == {
        ("live", of_test): 404,
        ("live", of_live): 200,
        ("test", of_test): 200,
        ("test", of_live): 200,
    }
    assert Community.objects.filter(test_of=live.community).count() == 1


def test_neither_side_sees_or_changes_the_other(live: Caller) -> None:
    """Rule 1.762."""
    test = _test_key(live)
    objects = [
        ("/projects/{0}", lambda caller: caller.make_open(**OPEN)["id"]),
        ("/members/{0}", lambda caller: caller.post("/members", {"nick": "Kari"}).json()["id"]),
        ("/webhooks/{0}", lambda caller: _webhook(caller)),
        ("/responses/{0}", lambda caller: _response(caller)),
    ]
    wrong: list[Any] = []
    for path, make in objects:
        for one, other in ((live, test), (test, live)):
            address = path.format(make(one))
            statuses = one.get(address).status_code, other.get(address).status_code
            if statuses != (200, 404) or other.delete(address).status_code not in (404, 405):
                wrong.append((address, statuses))
    for path in (
        "/projects",
        "/members",
        "/webhooks",
        "/events",
        "/audit",
        "/leaderboard",
        "/responses/changes",
    ):
        ids = [
            {each.get("id") or each["member_id"] for each in caller.get(path).json()["data"]}
            for caller in (live, test)
        ]
        if ids[0] & ids[1]:
            wrong.append((path, ids[0] & ids[1]))

    assert not wrong
    assert not XpEntry.objects.filter(member__community=live.community).exists()


def _webhook(caller: Caller) -> str:
    body = {"url": "https://example.org/hook", "events": ["*"]}
    return str(caller.post("/webhooks", body).json()["id"])


def _response(caller: Caller) -> str:
    project = caller.make_open(CHOICE, **OPEN)
    begun = caller.post(f"/projects/{project['id']}/conversations", {"external_id": "a"}).json()
    answer = {"block_id": begun["step"]["block"]["id"], "value": "red"}
    caller.post(f"/conversations/{begun['id']}/answers", answer)
    return str(begun["id"])


def test_a_test_key_makes_no_keys(live: Caller) -> None:
    """Rule 1.763."""
    test = _test_key(live)
    (own, *_) = ApiKey.objects.order_by("-pk")

    answers = [
        test.post("/api_keys", {"name": "More"}),
        test.post("/api_keys", {"name": "More", "mode": "test"}),
        test.post(f"/api_keys/{own.pk}/rotate"),
        test.delete(f"/api_keys/{own.pk}"),
    ]

    assert [answer.status_code for answer in answers] == [403, 403, 404, 404]
    assert test.get("/api_keys").json()["data"] == []
    assert faults(live.post("/api_keys", {"name": "x", "mode": "prod"})) == {("mode", "invalid_choice")}
    rotated = live.post(f"/api_keys/{own.pk}/rotate").json()
    assert rotated["key"].startswith("cq_test_")


def test_a_test_key_has_at_most_the_role_that_its_maker_has_in_the_live_community(live: Caller) -> None:
    """Rule 1.763."""
    test, restricted = _test_key(live), _test_key(live, role="creator")
    member = Member.objects.get(community=live.community, user=live.user)

    as_admin = test.get("/webhooks").status_code, restricted.get("/webhooks").status_code
    member.access = Member.Access.MEMBER
    member.save(update_fields=["access"])
    as_member = test.get("/webhooks").status_code, test.get("").status_code
    member.left_at = timezone.now()
    member.save(update_fields=["left_at"])
    after = test.get("").status_code

    assert (as_admin, as_member, after) == ((200, 403), (403, 200), 401)
    assert not Member.objects.filter(community=_side(live)).exists()


def test_nothing_is_copied_between_the_sides(live: Caller) -> None:
    """Rule 1.762."""
    test, foreign = _test_key(live), Caller()
    of_live, of_test = live.make_open(**OPEN)["id"], test.make_open(**OPEN)["id"]

    statuses = {
        (name, of): caller.post(f"/projects/{of}/clone").status_code
        for name, caller in (("live", live), ("test", test), ("foreign", foreign))
        for of in (of_live, of_test)
    }

    assert statuses == {
        ("live", of_live): 201,
        ("live", of_test): 404,
        ("test", of_live): 404,
        ("test", of_test): 201,
        ("foreign", of_live): 201,
        ("foreign", of_test): 404,
    }


def test_pages_of_test_projects_say_so(live: Caller) -> None:
    """Rule 1.764."""
    test = _test_key(live)
    blocks: dict[str, Any] = {**OPEN}
    pages = {}
    for caller in (live, test):
        project = Project.objects.get(pk=caller.make_open(CHOICE, **blocks)["id"])
        Project.objects.filter(pk=project.pk).update(share_results=True, indexed=True)
        browser = Client()
        for address in (f"/s/{project.slug}", f"/s/{project.slug}?embed=1"):
            pages[caller is test, address.partition("?")[2]] = browser.get(address).content.decode()
        results = browser.get(f"/r/{project.results_token}").content.decode()
        pages[caller is test, "results"] = results
        card = browser.get(f"/s/{project.slug}/card.png").status_code
        assert card == (404 if caller is test else 200)

    assert {key: "<b>Test.</b>" in page for key, page in pages.items()} == {key: key[0] for key in pages}
    assert ['content="noindex"' in pages[is_test, ""] for is_test in (False, True)] == [False, True]


def test_no_staff_page_shows_a_test_side(live: Caller) -> None:
    """Rule 1.765."""
    test = _test_key(live)
    project = test.make_open(**OPEN)
    superuser = Client()
    superuser.force_login(StaffFactory.create(is_superuser=True))
    maker = Client()
    sign_in(maker, live.user)
    side = _side(live)

    for browser in (superuser, maker):
        for address in (
            f"/admin/surveys/project/{project['id']}/change/",
            f"/admin/community/{side.pk}/",
            f"/admin/communities/community/{side.pk}/change/",
            f"/account/keys/?community={side.pk}",
        ):
            assert browser.get(address).status_code in (403, 404), address
    kari = Member.objects.get(pk=test.post("/members", {"nick": "Kari"}).json()["id"])
    known = [
        superuser.get(f"/admin/communities/user/{pk}/change/")["Location"] for pk in (kari.user_id, 10**9)
    ]
    assert known == ["/admin/", "/admin/"]
    listed = superuser.get("/admin/communities/community/").content.decode()
    assert str(live.community.pk) in listed
    assert str(side.pk) not in listed


def test_operators_see_no_failed_work_of_a_test_side(live: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rule 1.765."""
    _test_key(live)
    at = timezone.now()
    found = [
        Failure("Analysis", f"Work {n}", "No.", at, community_id)
        for n, community_id in enumerate([None, live.community.pk, _side(live).pk])
    ]
    monkeypatch.setattr(failures, "_sources", [lambda community_id, since: found])
    operator = Client()
    operator.force_login(StaffFactory.create(is_superuser=True))

    page = operator.get("/admin/failed-work/?of=all").content.decode()

    assert [f"Work {n}" in page for n in range(3)] == [True, True, False]


def test_nobody_signs_up_in_a_test_side(live: Caller) -> None:
    """Rule 1.765."""
    test = _test_key(live)

    assert test.patch("/settings", {"allow_sign_up": True}).status_code == 200

    assert invitations.open_community(community_id=_side(live).pk) is None


def test_people_of_the_live_side_are_joined_to_none_of_the__side(live: Caller) -> None:
    """Rule 1.765."""
    test, at = _test_key(live), timezone.now()
    account = {"provider": Identity.Provider.CHAT, "platform_id": "820000000000000999"}
    made = test.post("/members", {"nick": "Kari", "platform_id": account["platform_id"]})
    assert made.status_code == 201, made.content

    own = identities.sign_in(**account, name="Kari", at=at)
    identities.join_written(user_id=own.user_id, at=at)

    assert not Member.objects.filter(user=own.user_id).exists()
    assert test.get(f"/members/{made.json()['id']}").status_code == 200


def test_the_platform_is_never_asked_about_a_test_side(live: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rule 1.764."""
    _test_key(live)
    asked: list[int] = []
    monkeypatch.setattr(platform_members, "_ask", lambda community_id, **_: asked.append(community_id))
    owner = IdentityFactory.create().user_id

    for community in (live.community, _side(live)):
        platform_members.refresh(community_id=community.pk, user_id=owner, at=timezone.now())

    assert asked == [live.community.pk]


def test_a_persons_own_list_has_no_responses_to_tests(live: Caller) -> None:
    """Rule 1.765."""
    test, at = _test_key(live), timezone.now()
    for caller in (live, test):
        response_id = _response(caller)
        Conversation.objects.filter(pk=response_id).update(user=live.user)

    listed, _ = own_responses.page(user_id=live.user.pk, at=at)

    assert [each.project for each in listed] == ["Opening moves"]


def test_ai_of_a_test_side_takes_no_credits_of_the_live_side(live: Caller, monkeypatch: Any) -> None:
    """Rule 1.766."""
    monkeypatch.setattr("surveys.ai.provider_is_free", lambda: False)
    Community.objects.filter(pk=live.community.pk).update(bot_credits=100)
    test = _test_key(live)

    answer = test.post("/projects", {"name": "Moves", "type": "convo", "intent": "How was the club evening?"})

    assert refusal(answer) == (402, "payment_required")
    assert Community.objects.get(pk=live.community.pk).bot_credits == 100


def test_a_new_tier_name_or_icon_is_that_of_both_sides(live: Caller) -> None:
    """Rule 1.761."""
    _test_key(live)
    changes = {"tier": "basic", "name": "Pier", "icon_url": "https://author.example/icon.png"}

    communities.change_community(actor=live.actor, changes=changes, at=timezone.now())

    side = _side(live)
    assert (side.tier, side.name, side.icon_url) == tuple(changes.values())
    copied = Picture.objects.filter(address=side.icon_url).values_list("community_id", flat=True)
    assert {*copied} == {live.community.pk, side.pk}


def test_a_community_takes_its_test_side_with_it(db: None) -> None:
    """Rule 1.760."""
    community = Caller().community
    communities.make_test_side(community, at=timezone.now())
    side_id = Community.objects.get(test_of=community).pk

    community.delete()

    assert not Community.objects.filter(pk=side_id).exists()
    assert not CommunitySettings.objects.filter(pk=side_id).exists()


def test_who_is_erased_in_the_live_community_is_erased_in_its__side(live: Caller) -> None:
    """Rule 7.20."""
    other = live.beside("admin")
    test = _test_key(other)
    test.make_open()
    member = Member.objects.get(community=live.community, user=other.user)

    assert live.delete(f"/members/{member.pk}/data").status_code in (200, 204)

    side = _side(live)
    assert not AuditEntry.objects.filter(community=side, actor_id=other.user.pk).exists()
    assert not Project.objects.filter(author_id=other.user.pk).exists()
    assert test.get("").status_code == 401


def test_what_test_keys_made_is_deleted_after_30_days(live: Caller, settings: LazySettings) -> None:
    """Rule 12.760."""
    test, now = _test_key(live), timezone.now()
    for caller in (live, test):
        _webhook(caller)
        _response(caller)
        caller.make_open()
        nick = caller.post("/members", {"nick": "Kari"}).json()["id"]
        assert caller.post(f"/members/{nick}/xp", {"amount": 5}).status_code == 201
    side = _side(live)
    of_live = _rows(live.community)
    of_test = _rows(side)

    _forget(now + timedelta(days=29))
    kept = _rows(side)
    _forget(now + timedelta(days=30, hours=2))
    _forget(now + timedelta(days=30, hours=4))
    left, of_live_later = _rows(side), _rows(live.community)

    assert all(of_test.values()), of_test
    assert kept == of_test
    # What the deletion itself writes goes after another 30 days.
    assert {name for name, count in left.items() if count} <= {"AuditEntry", "Event"}
    assert of_live_later == of_live
    _forget(now + timedelta(days=61))
    assert not any(_rows(side).values())
    assert test.get("").status_code == 200


def test_a_person_of_the_live_side_is_never_erased_with_a_test_side(live: Caller) -> None:
    """Rule 12.760, even if a person got into a test side by hand."""
    _test_key(live)
    for user in (live.user, IdentityFactory.create().user):
        MemberFactory.create(community=_side(live), user=user)

    _forget(timezone.now() + timedelta(days=31))

    assert not Member.objects.filter(community=_side(live)).exists()
    assert live.get("").status_code == 200
    assert User.objects.filter(identities__community=None, identities__isnull=False).count() == 1


MODELS: tuple[Any, ...] = (Project, Webhook, Event, Member, AuditEntry, Identity)


def _rows(community: Community) -> dict[str, int]:
    counts = {model.__name__: model._base_manager.filter(community=community).count() for model in MODELS}
    responses = Conversation.objects.filter(project__community=community).count()
    return {**counts, "Conversation": responses}


def _forget(at: Any) -> None:
    removal.delete_old_tests(at=at)
    removal.delete_overdue(at=at)
    people.erase_old_tests(at=at)
    housekeeping.delete_bodies(at=at)
    housekeeping.remove_old(at=at)
    housekeeping.remove_deleted(at=at)
    audit.delete_old(at=at)
