"""What depends on answers by `ends` and `quotas` tells nobody an answer (rules 1.180 to 1.185)."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from communities.ground.actors import Actor, Level
from communities.ground.errors import InvalidRequest
from communities.models import CommunitySettings
from surveys.models import Block, Project
from surveys.services.conversations import gifts
from surveys.services.projects import script_writes
from surveys.services.projects.service import update_project
from tests.factories import MemberFactory
from tests.support.caller import Caller, faults
from tests.support.surveys.participants import Talk, a_member, ledger
from tests.support.surveys.places import COLOUR, WEB, WHY

pytestmark = pytest.mark.django_db(transaction=True)

Json = dict[str, Any]
RED = 'colour = "red"'
OUT = {"ends": [{"where": RED, "screen_out": True, "message": "Bye."}]}
QUIET_OUT = {"ends": [{"where": RED, "screen_out": True}]}
WORDS = {"ends": [{"where": RED, "message": "Bye."}]}
QUOTA = {"quotas": [{"where": RED, "limit": 1}]}
BY_FIELD = {"ends": [{"where": 'field.city = "Oslo"', "screen_out": True}]}
EARLIER = {"ends": [{"where": RED, "message": "Bye."}, *BY_FIELD["ends"]]}
CITY = {"hidden_fields": {"city": ["Oslo"]}}
CONDITION = {"show_when": {"block": "colour", "op": "neq", "value": "red"}}
GIFT: Json = {"type": "action_block", "name": "gift", "prompt": "Thanks.", "action_kind": "give_xp"}
GIFT |= {"action_config": {"xp_amount": 1}}
LINK = {"type": "content_block", "name": "more", "prompt": "[Read](https://tracker.example/)"}
LINK |= {"video_url": "https://vimeo.com/76979871"}
THANKS = "Thanks! [Go on](https://tracker.example/)"
BARE = ", or https://tracker.example/"
XP = {"use_xp": True, "achievement_enabled": True, "achievement_name": "Answered"}
# What depends on answers, and what may be written on an anonymous project, of a gift, a link and the thanks:
# `quotas` themselves are refused (-), the block is (x), or nothing is.
DEPENDENCES: dict[str, tuple[Json, str]] = {
    "nothing": ({}, "..."),
    "an end with words": (WORDS, "..x"),
    "an end that screens out": (OUT, "xxx"),
    "an end that screens out without words": (QUIET_OUT, "xxx"),
    "an end over a field after one over answers": (EARLIER, "xxx"),
    "an end over a field": (BY_FIELD, "..."),
    "a quota": (QUOTA, "---"),
}
TOLD: dict[str, Json | None] = {"gift": GIFT, "link": LINK, "thanks": None}


def stored(caller: Caller, project: Any) -> list[Json]:
    found: list[Json] = caller.get(f"/projects/{project['id']}/script?expand=outro").json()["blocks"]
    return found


def with_told(blocks: list[Json], told: str) -> list[Json]:
    """The script with a gift or a link between its questions, or a link in its thanks."""
    if block := TOLD[told]:
        return [blocks[0], block, *blocks[1:]]
    return [{**each, "prompt": THANKS} if each["name"] == "thank_you" else each for each in blocks]


def anonymous(settings: Json) -> Json:
    return {"privacy_mode": "anonymous", **CITY, **settings}


@pytest.mark.parametrize("told", TOLD)
@pytest.mark.parametrize("name", DEPENDENCES)
def test_nothing_on_an_anonymous_project_is_told_to_some_by_their_answers(name: str, told: str) -> None:
    """Rules 1.180, 1.182 and 1.700, in each order of writing."""
    settings, expected = DEPENDENCES[name]
    verdict = expected[list(TOLD).index(told)]
    caller, script = Caller(), {"blocks": [COLOUR, WHY]}

    def written(project: Any) -> Any:
        return caller.put(
            f"/projects/{project['id']}/script", {"blocks": with_told(stored(caller, project), told)}
        )

    def sent(project: Any, **more: Any) -> Any:
        return caller.patch(f"/projects/{project['id']}", {"settings": {**settings, **more}})

    def made(settings: Json) -> Any:
        return caller.post(
            "/projects", {"name": "x", "type": "convo", "script": script, "settings": settings}
        )

    first = made(anonymous(settings))
    if verdict == "-":
        assert (first.status_code, faults(first)) == (400, {("settings.quotas[0].where", "not_allowed")})
    else:
        keys = {"gift": ["action_kind"], "link": ["prompt", "video_url"]}.get(told, ["prompt"])
        answer, place = written(first.json()), {"thanks": 2}.get(told, 1)
        refused = {(f"blocks[{place}].{key}", "not_allowed") for key in keys}
        assert faults(answer) == (refused if verdict == "x" else set())
    second = made(anonymous({})).json()
    assert written(second).status_code == 200
    assert sent(second).status_code == (200 if verdict == "." else 400)
    third = made({"privacy_mode": "semi-private", "hidden_fields": CITY["hidden_fields"], **settings}).json()
    assert written(third).status_code == 200
    answer = caller.patch(f"/projects/{third['id']}", {"settings": {"privacy_mode": "anonymous"}})
    assert answer.status_code == (200 if verdict == "." else 400)
    if verdict == "x":
        assert faults(answer) == {("settings.ends", "not_allowed")}


@pytest.mark.parametrize("told", [*TOLD, "rewards"])
@pytest.mark.parametrize("mode", ["semi-private", "anonymous"])
@pytest.mark.parametrize("name", DEPENDENCES)
def test_editors_write_nothing_that_some_get_by_their_answers(name: str, mode: str, told: str) -> None:
    """Rules 1.90, 1.183 and 1.184."""
    settings, expected = DEPENDENCES[name]
    if mode == "anonymous" and "-" in expected:
        return  # Nobody writes this quota.
    caller = Caller()
    project = caller.make(COLOUR, WHY, settings={"privacy_mode": mode, **CITY, **settings})
    row = Project.objects.get(pk=project["id"])
    member = MemberFactory.create(community=caller.community)
    editor = Actor(member.user_id, "member", row.community_id, "custom", grants={row.pk: Level.EDIT})
    blocks = with_told(stored(caller, project), told) if told in TOLD else []

    try:
        if told == "rewards":
            update_project(actor=editor, project_id=row.pk, fields={"rewards": XP}, at=timezone.now())
        else:
            body = {"blocks": blocks}
            script_writes.replace_script(actor=editor, project_id=row.pk, body=body, at=timezone.now())
        refused = False
    except InvalidRequest:
        refused = True

    screens = name in ("an end that screens out", "an end that screens out without words")
    screens = screens or name == "an end over a field after one over answers"
    by_quota = name == "a quota"
    depends = {
        "gift": screens,
        "link": screens,
        "thanks": screens or by_quota or name == "an end with words",
        "rewards": (screens and mode != "anonymous") or by_quota,
    }
    assert refused is depends[told]


def test_editors_change_no_question_that_decides_who_completes() -> None:
    """Rule 1.184."""
    caller = Caller()
    project = caller.make(COLOUR, WHY, settings={"privacy_mode": "semi-private", **OUT})
    row = Project.objects.get(pk=project["id"])
    member = MemberFactory.create(community=caller.community)
    editor = Actor(member.user_id, "member", row.community_id, "custom", grants={row.pk: Level.EDIT})
    before = [each for each in stored(caller, project) if each["section"] != "outro"]

    def refused(*blocks: Json) -> set[str]:
        body = {"blocks": [{**each, "position": n} for n, each in enumerate(blocks)]}
        try:
            script_writes.replace_script(actor=editor, project_id=row.pk, body=body, at=timezone.now())
        except InvalidRequest as refusal:
            return {each["field"] for each in refusal.violations}
        return set()

    assert refused({**before[0], "prompt": "Are you ill?"}, before[1]) == {"blocks[0].prompt"}
    assert refused(LINK, *before) == set()
    first, *others = [each for each in stored(caller, project) if each["section"] != "outro"]
    assert refused(*others, first) == {"blocks[2].prompt", "blocks[2].video_url"}
    assert refused(first, before[0], {**before[1], "prompt": "Why so?"}) == set()


def test_on_an_anonymous_project_all_who_reach_an_end_get_the_same() -> None:
    """Rule 1.181."""
    caller = Caller()
    settings = anonymous({**OUT, "max_completes_per_user": 1})
    project = caller.make_open(COLOUR, WHY, delivery=WEB, settings=settings, rewards=XP)
    out, through, none = (a_member(caller) for _ in range(3))

    screened_out = Talk(caller, project, member_id=out).answer("red")
    talk = Talk(caller, project, member_id=through)
    talk.answer("green")
    talk.answer("because")
    gifts.settle(at=timezone.now() + timedelta(hours=3))

    assert (screened_out["outcome"], screened_out["thank_you"]) == ("screened_out", "Bye.")
    told = [known(caller, project, each) for each in (out, through, none)]
    assert told[0] == told[1] != told[2]
    assert (told[0]["participation"], len(told[0]["ledger"])) == (1, 1)
    assert told[0]["achievements"]


def known(caller: Caller, project: Any, member: str) -> Json:
    """What staff read of a member, and whether the project lets them begin again."""
    read = caller.get(f"/members/{member}").json()
    kept = {key: read[key] for key in ("participation", "xp_total", "xp_monthly", "level", "achievements")}
    entries = [
        {key: each[key] for key in each if key not in ("id", "member_id", "created_at")}
        for each in ledger(caller, member)
    ]
    again = caller.post(f"/projects/{project['id']}/conversations", {"member_id": member}).status_code
    return {**kept, "ledger": entries, "again": again}


@pytest.mark.parametrize(
    ("limit", "field"),
    [
        ({"max_completes": 1}, "settings.max_completes"),
        ({"quotas": [{"where": 'field.city = "Oslo"', "limit": 1}]}, "settings.quotas"),
    ],
)
def test_no_limit_of_an_anonymous_project_counts_those_alone_who_are_not_screened_out(
    limit: Json, field: str
) -> None:
    """Rule 1.187. In each order of writing: the limit or the end at last, or the privacy."""
    caller = Caller()
    orders = ((anonymous(OUT), limit), (anonymous(limit), OUT), ({**CITY, **OUT, **limit}, anonymous({})))
    for first, last in orders:
        path = f"/projects/{caller.make(COLOUR, settings=first)['id']}"

        assert faults(caller.patch(path, {"settings": last})) == {(field, "not_allowed")}

    by_field = [{**OUT["ends"][0], "where": 'field.city = "Oslo"'}]
    path = f"/projects/{caller.make(COLOUR, settings=anonymous(limit))['id']}"
    assert caller.patch(path, {"settings": {"ends": by_field}}).status_code == 200
    by_answer = [by_field[0] | {"where": 'colour = "green"', "screen_out": False}, *by_field]
    assert faults(caller.patch(path, {"settings": {"ends": by_answer}})) == {(field, "not_allowed")}


@pytest.mark.parametrize("settings", [WORDS, {}])
def test_the_thanks_of_a_community_lose_their_links_where_ends_name_answers(settings: Json) -> None:
    """Rules 1.182 and 6.702."""
    caller = Caller()
    common = CommunitySettings.ThankYouType.CUSTOM
    CommunitySettings.objects.filter(community=caller.community).update(
        thank_you_type=common, thank_you_custom_message=f"*Good.* {THANKS}{BARE}"
    )
    project = caller.make_open(COLOUR, delivery=WEB, settings=anonymous(settings))
    path = f"/projects/{project['id']}"

    shown = Talk(caller, project).answer("green")

    words = "Good. Thanks! Go on, or" if settings else f"*Good.* {THANKS}{BARE}"
    assert (shown["thank_you"], shown["outro"][0]["prompt"]) == (words, words)
    blocks = stored(caller, project)
    assert caller.put(f"{path}/script", {"blocks": blocks}).status_code == 200
    own = [{**each, "prompt": f"{THANKS} Bye."} if each["name"] == "thank_you" else each for each in blocks]
    assert caller.put(f"{path}/script", {"blocks": own}).status_code == (400 if settings else 200)


def test_a_gift_that_was_stored_behind_an_end_gives_nothing() -> None:
    """Rule 1.180."""
    caller = Caller()
    project = caller.make_open(COLOUR, GIFT, WHY, delivery=WEB, settings=anonymous({}))
    member = a_member(caller)
    Project.objects.filter(pk=project["id"]).update(
        ends=[{**WORDS["ends"][0], **OUT["ends"][0], "url": None}]
    )
    assert Block.objects.filter(project_id=project["id"], action_kind="give_xp").exists()

    talk = Talk(caller, project, member_id=member)
    talk.answer("green")
    gifts.settle(at=timezone.now() + timedelta(hours=3))

    assert ledger(caller, member) == []
