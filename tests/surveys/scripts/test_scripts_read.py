from typing import Any

import pytest

from communities.models import Member
from surveys.services.scripts import cache as script_cache
from tests.support.api_requests import clear_caller_cache
from tests.support.caller import CHOICE, TEXT, Caller, faults, refusal
from webhooks.models import Event

pytestmark = pytest.mark.django_db


def test_the_script_is_read_with_its_revision():
    """Rule 3.33."""
    caller = Caller()
    made = caller.make(CHOICE, TEXT)

    answer = caller.get(f"/projects/{made['id']}/script")

    assert answer.json() == made["script"]
    assert set(answer.json()) == {"project_id", "revision", "blocks", "warnings"}
    assert answer.headers["ETag"] == '"1"'


def test_the_outro_is_shown_where_it_is_asked_for():
    caller = Caller()
    path = f"/projects/{caller.make(CHOICE)['id']}/script"

    sections = [
        [block["section"] for block in caller.get(f"{path}{query}").json()["blocks"]]
        for query in ("", "?expand=outro")
    ]

    assert sections == [["main"], ["main", "outro"]]


@pytest.mark.parametrize(
    ("query", "field"), [("expand=intro", "expand"), ("expand=", "expand"), ("full=1", "full")]
)
def test_other_queries_are_refused(query, field):
    caller = Caller()

    answer = caller.get(f"/projects/{caller.make()['id']}/script?{query}")

    assert refusal(answer) == (400, "invalid_request")
    assert {name for name, _ in faults(answer)} == {field}


def test_blocks_stand_in_order_of_section_and_position():
    caller = Caller()
    made = caller.make(
        TEXT | {"name": "c", "position": 7},
        TEXT | {"name": "b", "position": 1},
        TEXT | {"name": "a", "section": "intro"},
    )

    assert [(block["name"], block["position"]) for block in made["script"]["blocks"]] == [
        ("a", 0),
        ("b", 1),
        ("c", 2),
    ]


def test_everything_a_block_can_say_is_read_as_it_was_written():
    caller = Caller()
    sent: list[dict[str, Any]] = [
        {
            "type": "content_block",
            "section": "intro",
            "prompt": "Hi",
            "continue": {"after": "pause", "pause": 3},
        },
        {
            "type": "multi_punch",
            "name": "favGame",
            "prompt": "?",
            "answer_style": "select_menu",
            "image_url": "https://example.com/i.png",
            "thumbnail_url": "https://example.com/t.png",
            "min": 1,
            "max": 2,
            "required": True,
            "randomize_options": True,
            "options": [
                {"value": "a", "label": "A", "emoji": "🅰️", "score_values": {"mage": 1.5}},
                {"value": "b", "anchor_position": "last", "score_values": {"mage": -2}},
            ],
        },
        {
            "type": "rating",
            "prompt": "?",
            "scale": {"icon": "stars", "label_left": "Bad"},
            "min": 1,
            "max": 3,
        },
        {"type": "ranking", "prompt": "?", "rank_top_n": 1, "options": [{"value": "x"}, {"value": "y"}]},
        {"type": "calculated_block", "prompt": "", "calculated_formula": "[q3] + 1"},
        {
            "type": "action_block",
            "prompt": "Well done",
            "color": "5865F2",
            "action_kind": "give_xp",
            "action_config": {"source_key": "score", "fire_scope": "session"},
            "hide_when": {
                "any": [
                    {"variable": "score", "op": "lt", "value": 1},
                    {"variable": "q3", "op": "eq", "value": 3},
                ]
            },
        },
        {"type": "open_numeric", "prompt": "?", "min": -5, "max": 5, "precondition": 'favGame = "a"'},
    ]

    made = caller.make(*sent, scoring_enabled=True)
    read = caller.get(f"/projects/{made['id']}/script").json()["blocks"]

    assert read == made["script"]["blocks"]
    for was, now in zip(sent, read, strict=True):
        for key, value in was.items():
            told = now[key]
            if isinstance(value, dict) and key != "hide_when":
                told = {inner: told[inner] for inner in value}
            if key == "options":
                told = [
                    {inner: option[inner] for inner in each} for each, option in zip(value, told, strict=True)
                ]
            assert told == value, key
    assert read[5]["precondition"]


# --- Kept in memory -----------------------------------------------------------------------------------


@pytest.mark.django_db(transaction=True)
def test_a_script_is_loaded_once_for_a_revision(django_assert_num_queries):
    caller = Caller()
    made = caller.make(CHOICE, TEXT)
    path = f"/projects/{made['id']}/script"
    caller.get("/projects")

    with django_assert_num_queries(2):  # the project, its script
        first = caller.get(path)
    with django_assert_num_queries(1):
        again = caller.get(path)

    assert first.content == again.content


@pytest.mark.django_db(transaction=True)
def test_a_write_is_seen_at_once():
    caller = Caller()
    made = caller.make(CHOICE)
    path = f"/projects/{made['id']}/script"
    before = caller.get(path)

    caller.put(path, {"blocks": [*made["script"]["blocks"], TEXT]})
    after = caller.get(path)

    assert (len(before.json()["blocks"]), len(after.json()["blocks"])) == (1, 2)
    assert (before.headers["ETag"], after.headers["ETag"]) == ('"1"', '"2"')


def test_a_script_that_is_not_committed_is_not_cached():
    caller = Caller()
    made = caller.make(CHOICE)

    script_cache.get(int(made["id"]), 1)

    assert (int(made["id"]), 1) not in script_cache._cache


@pytest.mark.django_db(transaction=True)
def test_the_cache_is_bounded(monkeypatch):
    cache = script_cache.new_cache(max_size=6_000)
    monkeypatch.setattr(script_cache, "_cache", cache)
    caller = Caller()
    made = [caller.make(CHOICE) for _ in range(8)]

    for each in made:
        script_cache.get(int(each["id"]), 1)

    cached = [each["id"] for each in made if (int(each["id"]), 1) in cache]
    assert 0 < len(cached) < len(made)
    assert cached == [each["id"] for each in made][-len(cached) :]
    assert cache.currsize == sum(each.stored.size for each in cache.values()) <= 6_000


@pytest.mark.django_db(transaction=True)
def test_a_script_larger_than_the_cache_is_read_and_not_cached(monkeypatch):
    monkeypatch.setattr(script_cache, "_cache", script_cache.new_cache(max_size=10))
    made = Caller().make(CHOICE)

    assert script_cache.get(int(made["id"]), 1).script.blocks
    assert not script_cache._cache


SECRETS = (
    "correct_answer_ids",
    "correct_answer_index",
    "correct_answer_indexes",
    "when_correct",
    "when_incorrect",
    "calculated_formula",
)
QUIZ = {
    "type": "single_punch",
    "name": "colour",
    "prompt": "?",
    "options": [{"value": "red", "score_values": {"mage": 41}}, {"value": "green"}],
    "correct_answer_index": 1,
    "when_correct": "Right, forty-one!",
    "when_incorrect": "Sorry, forty-one.",
}
SUM = {
    "type": "calculated_block",
    "name": "sum",
    "prompt": "",
    "calculated_formula": "[colour] + [forty_one]",
}


@pytest.mark.parametrize("gives_xp", [False, True], ids=["cached", "with amounts"])
@pytest.mark.parametrize("query", ["", "?expand=outro"])
def test_a_member_reads_no_more_than_a_respondent_could_know(query, gives_xp):
    admin = Caller()
    made = admin.make_open(QUIZ, SUM, scoring_enabled=True, rewards={"use_xp": gives_xp})
    path = f"/projects/{made['id']}/script{query}"
    whole = admin.get(path)

    answer = admin.beside("member").get(path)

    told = whole.json()["blocks"]
    expected = [block | dict.fromkeys(SECRETS) for block in told]
    expected[0]["options"] = [option | {"score_values": None} for option in told[0]["options"]]
    assert answer.json() == whole.json() | {"blocks": expected, "warnings": []}
    assert answer["ETag"] != whole["ETag"]
    assert b"forty" not in answer.content
    assert whole.json()["warnings"]
    assert [told[0][name] for name in SECRETS[1:5]] == [1, [1], QUIZ["when_correct"], QUIZ["when_incorrect"]]
    for reader in (admin, admin.beside("creator")):  # also after a member's reading was cached
        assert reader.get(path).json() == whole.json()


def test_no_answer_to_a_member_tells_the_solutions():
    """Every response that a member may read about an open quiz, and its webhook events."""
    admin = Caller()
    admin.post("/webhooks", {"url": "https://hooks.example.org/", "events": ["*"]})
    made = admin.make_open(QUIZ, SUM, scoring_enabled=True, settings={"share_results": True})
    admin.post(f"/projects/{made['id']}/analysis")
    member, project = admin.beside("member"), f"/projects/{made['id']}"
    retry = {"Idempotency-Key": "one"}
    block = f"{project}/script/blocks/{made['script']['blocks'][0]['id']}"
    written = admin.patch(block, {"when_correct": "Right, forty-one!"}, **retry)
    Member.objects.filter(user=admin.user).update(access="member")
    clear_caller_cache()

    paths = ["/projects", project, f"{project}/script", f"{project}/responses", f"{project}/analysis"]
    paths += [f"{project}/analysis/results", f"{project}/responses/export?format=json"]
    answers = [member.get(path) for path in paths]
    replay = admin.patch(block, {"when_correct": "Right, forty-one!"}, **retry)

    told = b"".join(b"".join(each) if each.streaming else each.content for each in [*answers, replay])
    assert [answer.status_code for answer in answers] == [200] * len(paths)
    assert (written.status_code, refusal(replay)) == (200, (403, "forbidden"))
    told += "".join(body or "" for body in Event.objects.values_list("body", flat=True)).encode()
    assert b"forty" not in told
    assert b'score_values":{' not in told


@pytest.mark.parametrize("place", ["script", "script/blocks/{block}"])
def test_a_read_without_solutions_is_neither_kept_nor_written_by_who_became_an_admin(place: str) -> None:
    """Rule 1.186."""
    admin = Caller()
    made = admin.make(QUIZ, SUM, scoring_enabled=True)
    admin.post(f"/projects/{made['id']}/open")
    path = f"/projects/{made['id']}/{place.format(block=made['script']['blocks'][0]['id'])}"
    seen = admin.beside("member").get(path)
    admin.post(f"/projects/{made['id']}/close")
    sent = seen.json() if "blocks" in place else {"blocks": seen.json()["blocks"]}

    fresh = admin.get(path, **{"If-None-Match": seen["ETag"]})
    write = admin.patch if "blocks" in place else admin.put
    stale = write(path, sent, **{"If-Match": seen["ETag"]})

    assert (fresh.status_code, fresh["ETag"], stale.status_code) == (200, '"1"', 409)
    assert admin.get(path, **{"If-None-Match": fresh["ETag"]}).status_code == 304
    assert admin.beside("member").get(path, **{"If-None-Match": seen["ETag"]}).status_code == 404
    body = fresh.json() if "blocks" in place else {"blocks": fresh.json()["blocks"]}
    assert write(path, body, **{"If-Match": fresh["ETag"]}).status_code == 200
