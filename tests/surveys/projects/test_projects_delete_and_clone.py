"""Deleting and copying projects (rules 2.15 and 2.18)."""

from typing import Any

import pytest

from surveys.models import Answer, Block, Completion, Conversation, Option, Project, Tally
from surveys.services.projects import schedule
from tests.support.caller import CHOICE, TEXT, Caller, counts, faults, refusal
from tests.support.moments import NOON

pytestmark = pytest.mark.django_db


def answer_first(made):
    """One stored answer to the first option of the first block."""
    block = made["script"]["blocks"][0]
    conversation = Conversation.objects.create(
        project_id=made["id"], seed=1, is_listed=True, started_at=NOON, updated_at=NOON
    )
    option_id = block["options"][0]["id"] if block["options"] else None
    return Answer.objects.create(
        conversation=conversation, block_id=block["id"], ordinal=0, option_id=option_id, value="red"
    )


# --- Deleting ---------------------------------------------------------------------------------------


def test_deleting_takes_script_and_responses_along():
    caller = Caller()
    kept, made = caller.make(CHOICE), caller.make(CHOICE, TEXT, scoring_enabled=True)
    for project in (kept, made):
        answer_first(project)
        Completion.objects.create(project_id=project["id"], respondent="x")
        Tally.objects.create(project_id=project["id"], slot=0)

    answer = caller.delete(f"/projects/{made['id']}")

    assert (answer.status_code, answer.content) == (204, b"")
    assert refusal(caller.get(f"/projects/{made['id']}")) == (404, "not_found")
    of_project: list[Any] = [Block, Conversation, Completion, Tally]
    assert {model.objects.values_list("project_id", flat=True).distinct().get() for model in of_project} == {
        int(kept["id"])
    }
    assert {option.block.project_id for option in Option.objects.all()} == {int(kept["id"])}
    assert Answer.objects.count() == 1
    assert counts(caller) == (2, 0)


def test_an_active_project_is_closed_first():
    caller = Caller()
    made = caller.make_open(TEXT)

    assert refusal(caller.delete(f"/projects/{made['id']}")) == (409, "conflict")
    caller.post(f"/projects/{made['id']}/close")
    assert caller.delete(f"/projects/{made['id']}").status_code == 204


def test_a_pending_project_is_deleted_and_no_longer_counted():
    caller = Caller()
    made = caller.make(TEXT)
    delivery = {"opening": {"mode": "scheduled", "time": "2999-01-01T00:00:00Z"}}
    caller.post(f"/projects/{made['id']}/open", {"delivery": delivery})

    assert caller.delete(f"/projects/{made['id']}").status_code == 204
    assert counts(caller) == (1, 0)


def test_the_author_and_admins_alone_may_delete():
    admin = Caller()
    creator, other, member = (admin.beside(access) for access in ("creator", "creator", "member"))
    path = f"/projects/{creator.make()['id']}"

    assert refusal(other.delete(path)) == (403, "forbidden")
    assert refusal(member.delete(path)) == (404, "not_found")
    assert refusal(Caller().delete(path)) == (404, "not_found")
    assert creator.delete(path).status_code == 204
    assert admin.delete(f"/projects/{creator.make()['id']}").status_code == 204


@pytest.mark.parametrize("responses", [1, 5])
def test_deleting_costs_the_same_however_many_responses(responses, django_assert_num_queries):
    caller = Caller()
    made = caller.make(CHOICE)
    for _ in range(responses):
        answer_first(made)
    caller.get("/projects")

    with django_assert_num_queries(44):
        assert caller.delete(f"/projects/{made['id']}").status_code == 204


# --- Cloning ----------------------------------------------------------------------------------------

QUIZ = {
    "type": "single_punch",
    "name": "Colour",
    "prompt": "?",
    "options": [
        {"value": "red", "score_values": {"mage": 1}},
        {"value": "green", "score_values": {"mage": 2}},
    ],
    "correct_answer_index": 1,
    "when_correct": "Yes!",
}


def test_a_clone_copies_script_settings_and_presentation():
    admin = Caller()
    creator = admin.beside("creator")
    made = admin.make(
        QUIZ,
        TEXT | {"show_when": {"block": "Colour", "op": "eq", "value": "green"}},
        scoring_enabled=True,
        settings={"privacy_mode": "semi-private", "max_completes_per_user": 3, "share_results": True},
        presentation={"theme_id": 3},
        delivery={"audience": {"participation": "open_web"}},
        rewards={"use_xp": True},
    )
    answer_first(made)

    answer = creator.post(f"/projects/{made['id']}/clone")
    copy = answer.json()

    assert answer.status_code == 201
    assert copy["id"] != made["id"]
    assert (copy["name"], copy["status"]) == ("Copy of Opening moves", "inactive")
    for group in ("settings", "presentation", "scoring"):
        assert copy[group] == made[group]
    assert (copy["delivery"], copy["rewards"]) == (None, None)
    assert (copy["info"]["author_id"], copy["info"]["response_count"]) == (str(creator.user.pk), 0)
    assert copy["info"]["web_url"] != made["info"]["web_url"]
    assert copy["info"]["block_count"] == 2
    assert Conversation.objects.filter(project_id=copy["id"]).count() == 0
    assert counts(admin) == (2, 0)


def test_the_script_of_a_clone_has_ids_of_its_own():
    caller = Caller()
    made = caller.make(QUIZ, TEXT, scoring_enabled=True)
    *_, outro = caller.get(f"/projects/{made['id']}/script?expand=outro").json()["blocks"]
    caller.patch(f"/projects/{made['id']}/script/blocks/{outro['id']}", {"prompt": "Bye, friend."})

    copy = caller.post(f"/projects/{made['id']}/clone").json()
    was, now = (
        caller.get(f"/projects/{project['id']}/script?expand=outro").json()["blocks"]
        for project in (made, copy)
    )

    def ids(blocks):
        return {
            (kind, each["id"])
            for block in blocks
            for kind, several in (("block", [block]), ("option", block["options"] or []))
            for each in several
        }

    def without_ids(blocks):
        return [
            block
            | {"id": None, "correct_answer_ids": None}
            | {"options": [option | {"id": None} for option in block["options"] or []]}
            for block in blocks
        ]

    assert not {block["id"] for block in was} & {block["id"] for block in now}
    assert len(ids(was)) == len(ids(now))
    assert without_ids(was) == without_ids(now)
    assert now[0]["correct_answer_ids"] == [now[0]["options"][1]["id"]]


def test_a_clone_has_the_videos():
    """Rule 3.198."""
    caller = Caller()
    film = {"type": "content_block", "prompt": "Look", "video_url": "https://vimeo.com/7"}
    made = caller.make(film, TEXT)

    copy = caller.post(f"/projects/{made['id']}/clone").json()

    blocks = caller.get(f"/projects/{copy['id']}/script").json()["blocks"]
    assert [block["video_url"] for block in blocks] == ["https://vimeo.com/7", None]


def test_a_clone_takes_the_name_sent():
    caller = Caller()
    made = caller.make(name="n" * 200)

    assert caller.post(f"/projects/{made['id']}/clone", {"name": "Second"}).json()["name"] == "Second"
    assert caller.post(f"/projects/{made['id']}/clone", {}).json()["name"] == ("Copy of " + "n" * 200)[:200]
    assert faults(caller.post(f"/projects/{made['id']}/clone", {"name": " "})) == {("name", "blank")}


ON_WEB = {"audience": {"participation": "open_web"}}
FAR = {"opening": {"mode": "scheduled", "time": "2999-01-01T00:00:00Z"}}


def test_other_communities_clone_what_is_cloneable():
    owner, other = Caller(), Caller()
    made = owner.make_open(CHOICE, delivery=ON_WEB)

    copy = other.post(f"/projects/{made['id']}/clone")
    Project.objects.filter(pk=made["id"]).update(is_cloneable=False)
    refused = other.post(f"/projects/{made['id']}/clone")
    own = owner.post(f"/projects/{made['id']}/clone")

    assert (copy.status_code, copy.json()["community_id"]) == (201, str(other.community.pk))
    assert other.get(f"/projects/{copy.json()['id']}").status_code == 200
    assert refusal(refused) == (404, "not_found")
    assert own.status_code == 201
    again = other.beside("creator").post(f"/projects/{copy.json()['id']}/clone")
    assert again.status_code == 201
    assert refusal(owner.post(f"/projects/{copy.json()['id']}/clone")) == (404, "not_found")  # a draft again


def test_other_communities_reach_no_draft_and_nothing_private():
    """Whatever the flag is, only projects that have been open to the web can be cloned (rule 2.16)."""
    owner, other = Caller(), Caller()
    draft = owner.make(TEXT, delivery=ON_WEB)
    pending = owner.make(TEXT, delivery={**ON_WEB, **FAR})
    owner.post(f"/projects/{pending['id']}/open")
    private = owner.make_open(TEXT)
    closed = owner.make_open(TEXT)
    owner.post(f"/projects/{closed['id']}/close")
    owner.patch(f"/projects/{closed['id']}", {"delivery": ON_WEB})  # open once, but only to members then
    withdrawn = owner.make_open(TEXT, delivery=ON_WEB)
    owner.patch(f"/projects/{withdrawn['id']}", {"delivery": {"audience": {"participation": "private"}}})

    for project in (draft, pending, private, closed, withdrawn):
        answer = other.post(f"/projects/{project['id']}/clone")
        absent = other.post("/projects/999999999/clone")
        assert refusal(answer) == (404, "not_found")
        assert answer.content == absent.content
        assert owner.post(f"/projects/{project['id']}/clone").status_code == 201


def test_a_project_stays_public_once_it_was():
    owner, other = Caller(), Caller()
    closed, changed, scheduled = (owner.make(TEXT) for _ in range(3))
    owner.post(f"/projects/{closed['id']}/open", {"delivery": ON_WEB})
    owner.post(f"/projects/{closed['id']}/close")
    owner.post(f"/projects/{changed['id']}/open")
    owner.patch(f"/projects/{changed['id']}", {"delivery": ON_WEB})  # while it is open
    owner.post(f"/projects/{changed['id']}/close")
    owner.post(f"/projects/{scheduled['id']}/open", {"delivery": {**ON_WEB, **FAR}})
    Project.objects.filter(pk=scheduled["id"]).update(opens_at=NOON, closes_at=NOON)  # no tick has come yet

    before_tick = other.post(f"/projects/{scheduled['id']}/clone")
    schedule.open_and_close_due(at=NOON)

    assert before_tick.status_code == 201
    for project in (closed, changed, scheduled):
        assert owner.get(f"/projects/{project['id']}").json()["status"] == "inactive"
        assert other.post(f"/projects/{project['id']}/clone").status_code == 201


def test_members_may_not_clone():
    admin = Caller()
    member = admin.beside("member")

    assert refusal(member.post(f"/projects/{admin.make_open(TEXT)['id']}/clone")) == (403, "forbidden")
    assert refusal(member.post(f"/projects/{admin.make(TEXT)['id']}/clone")) == (404, "not_found")


def test_members_may_not_create():
    assert refusal(Caller("member").post("/projects", {"name": "N", "type": "convo"})) == (403, "forbidden")
