"""Creating projects (rules 1.38 and 1.44)."""

import pytest

from surveys.models import Project
from tests.support.caller import CHOICE, SAYING, TEXT, Caller, counts, faults, refusal
from tests.support.cases import try_each

pytestmark = pytest.mark.django_db


def test_a_new_project_is_told_with_every_field_and_its_script():
    """Rule 1.37."""
    caller = Caller("creator")

    answer = caller.post(
        "/projects", {"name": " Opening moves ", "type": "convo", "script": {"blocks": [CHOICE, TEXT]}}
    )
    made = answer.json()

    assert answer.status_code == 201
    assert isinstance(made["id"], str)
    assert made["community_id"] == str(caller.community.pk)
    assert (made["name"], made["status"], made["credits_used"]) == ("Opening moves", "inactive", 0)
    info = made["info"]
    assert info["web_url"].split("/s/")[1] == Project.objects.get(pk=made["id"]).slug
    assert info["updated_at"] == info["created_at"]
    assert info["created_at"].endswith("Z")
    assert {key: info[key] for key in info if key not in ("web_url", "created_at", "updated_at")} == {
        "type": "convo",
        "block_count": 2,
        "is_cloneable": True,
        "author_id": str(caller.user.pk),
        "author_name": "A creator",
        "completion_count": 0,
        "response_count": 0,
        "short_url": None,
        "scheduled_open_at": None,
        "results_url": None,
    }
    assert made["generation"] is None
    assert made["settings"] == {
        "privacy_mode": "transparent",
        "max_completes_per_user": None,
        "change_poll": None,
        "poll_results_mode": None,
        "reveal_results": None,
        "share_results": False,
        "lock_graded_answers": True,
        "hidden_fields": [],
        "consent": None,
        "max_completes": None,
        "quotas": [],
        "max_begun_per_minute": None,
        "advance_on_choice": True,
        "review": False,
        "end": None,
        "ends": [],
        "keep_responses_days": None,
        "mail_copy": False,
        "indexed": False,
    }
    assert [made[group] for group in ("delivery", "rewards", "presentation")] == [None, None, None]
    assert made["scoring"] == {"enabled": False, "buckets": []}
    assert (made["script"]["project_id"], made["script"]["revision"]) == (made["id"], 1)
    blocks = made["script"]["blocks"]
    assert [(block["name"], block["position"], block["section"]) for block in blocks] == [
        ("q0", 0, "main"),
        ("q1", 1, "main"),
    ]
    assert all(isinstance(each["id"], int) for each in [*blocks, *blocks[0]["options"]])


def test_what_is_created_is_what_is_read():
    caller = Caller()
    made = caller.make(CHOICE, TEXT)

    read = caller.get(f"/projects/{made['id']}").json()
    script = caller.get(f"/projects/{made['id']}/script").json()

    assert read == {key: value for key, value in made.items() if key not in ("script", "credits_used")}
    assert script == made["script"]


@pytest.mark.parametrize("script", [{}, {"script": None}, {"script": {"blocks": []}}])
def test_without_blocks_the_script_is_empty_even_of_a_poll(script):
    answer = Caller().post("/projects", {"name": "Vote", "type": "poll", **script})

    assert answer.status_code == 201
    assert answer.json()["script"]["blocks"] == []
    assert answer.json()["info"]["block_count"] == 0


def test_creating_is_counted():
    caller = Caller()

    caller.make()
    caller.make()

    assert counts(caller) == (2, 0)


@try_each(
    ("body", "expected"),
    [
        ({"type": "convo"}, ("name", "required")),
        ({"name": None, "type": "convo"}, ("name", "null")),
        ({"name": "   ", "type": "convo"}, ("name", "blank")),
        ({"name": "n" * 201, "type": "convo"}, ("name", "too_long")),
        ({"name": 5, "type": "convo"}, ("name", "invalid_type")),
        ({"name": "N"}, ("type", "required")),
        ({"name": "N", "type": "quiz"}, ("type", "invalid_choice")),
        ({"name": "N", "type": "convo", "scoring_enabled": "true"}, ("scoring_enabled", "invalid_type")),
        ({"name": "N", "type": "convo", "intent": " "}, ("intent", "blank")),
        (
            {"name": "N", "type": "convo", "intent": "Ask", "script": {"blocks": []}},
            ("script", "conflicting"),
        ),
        ({"name": "N", "type": "convo", "script": []}, ("script", "invalid_type")),
        ({"name": "N", "type": "convo", "script": {}}, ("script.blocks", "required")),
        ({"name": "N", "type": "convo", "script": {"blocks": {}}}, ("script.blocks", "invalid_type")),
    ],
)
def test_what_a_new_project_must_not_be(body, expected):
    answer = Caller().post("/projects", body)

    assert refusal(answer) == (400, "invalid_request")
    assert expected in faults(answer)


@pytest.mark.parametrize("name", ["n", "n" * 200])
def test_a_name_has_1_to_200_characters(name):
    assert Caller().make(name=name)["name"] == name


def test_faults_of_fields_and_of_the_script_are_told_together():
    answer = Caller().post(
        "/projects",
        {
            "name": "",
            "type": "convo",
            "settings": {"max_completes_per_user": 0},
            "script": {
                "blocks": [{"type": "single_punch", "prompt": "?"}, {"type": "riddle", "prompt": "?"}]
            },
        },
    )

    assert {
        ("name", "blank"),
        ("settings.max_completes_per_user", "too_small"),
        ("script.blocks[0].options", "required"),
        ("script.blocks[1].type", "invalid_choice"),
    } <= faults(answer)


def test_a_script_that_breaks_a_rule_leaves_nothing_behind():
    caller = Caller()

    answer = caller.post(
        "/projects",
        {"name": "N", "type": "convo", "script": {"blocks": [TEXT | {"precondition": "nobody = 1"}]}},
    )

    assert ("script.blocks[0].precondition", "unknown_reference") in faults(answer)
    assert answer.json()["violations"][0]["column"] == 1
    assert counts(caller) == (0, 0)


def test_an_intent_of_null_is_none():
    assert Caller().post("/projects", {"name": "N", "type": "convo", "intent": None}).status_code == 201


def test_the_message_is_right_about_faults_of_fields_and_script_together():
    body = {"name": "", "type": "convo", "script": {"blocks": [{"type": "sonnet"}]}}

    answer = Caller().post("/projects", body).json()

    assert len(answer["violations"]) == 3
    assert answer["message"] == answer["violations"][0]["message"]


@pytest.mark.parametrize("kind", ["single_punch", "multi_punch", "rating", "opinion_scale", "nps"])
def test_a_poll_is_one_question_and_content_around_it(kind):
    """Rule 2.19."""
    question = {"type": kind, "prompt": "?"} | ({"options": CHOICE["options"]} if "punch" in kind else {})

    made = Caller().make(SAYING, question, type="poll")

    assert [block["type"] for block in made["script"]["blocks"]] == ["content_block", kind]


@pytest.mark.parametrize(
    ("blocks", "expected"),
    [
        ([CHOICE, CHOICE], ("script.blocks[1].type", "too_many")),
        ([TEXT], ("script.blocks[0].type", "not_allowed")),
        ([SAYING], ("script.blocks", "too_few")),
    ],
)
def test_a_poll_is_nothing_else(blocks, expected):
    """Rule 2.19."""
    answer = Caller().post("/projects", {"name": "N", "type": "poll", "script": {"blocks": blocks}})

    assert expected in faults(answer)


@pytest.mark.parametrize(
    ("default", "expected"),
    [
        (None, ("transparent", False)),
        ("no", ("transparent", False)),
        ("yes", ("anonymous", False)),
        ("more_anonymous", ("anonymous", True)),
    ],
)
def test_the_community_decides_the_privacy_of_a_project_that_names_none(default, expected):
    """Rule 1.12."""
    made = Caller(default_anonymous_mode=default).make()

    project = Project.objects.get(pk=made["id"])
    assert (made["settings"]["privacy_mode"], project.rounds_times_to_day) == expected


@pytest.mark.parametrize(
    "where", [{"privacy_mode": "semi-private"}, {"settings": {"privacy_mode": "semi-private"}}]
)
def test_privacy_is_taken_in_both_places(where):
    made = Caller(default_anonymous_mode="yes").make(**where)

    assert made["settings"]["privacy_mode"] == "semi-private"


def test_privacy_in_both_places_says_the_same():
    caller = Caller()

    answer = caller.post(
        "/projects",
        {
            "name": "N",
            "type": "convo",
            "privacy_mode": "anonymous",
            "settings": {"privacy_mode": "transparent"},
        },
    )

    assert faults(answer) == {("settings.privacy_mode", "conflicting")}


def test_an_anonymous_project_keeps_its_author():
    made = Caller().make(privacy_mode="anonymous")

    assert made["info"]["author_name"] == "A admin"


def test_one_vote_each_is_what_a_new_poll_allows():
    assert Caller().make(type="poll")["settings"]["max_completes_per_user"] == 1
    assert (
        Caller().make(type="poll", settings={"max_completes_per_user": None})["settings"][
            "max_completes_per_user"
        ]
        is None
    )


def test_unknown_fields_are_ignored_and_named():
    answer = Caller().post(
        "/projects",
        {
            "name": "N",
            "type": "convo",
            "colour": "red",
            "settings": {"max": 1},
            "script": {"blocks": [TEXT | {"promt": "?"}], "title": "T"},
            "id": "5",
            "status": "active",
        },
    )

    assert answer.status_code == 201
    assert answer.json()["status"] == "inactive"
    ignored = {path.strip() for path in answer.headers["X-Ignored-Fields"].split(",")}
    assert ignored == {"colour", "settings.max", "script.title", "script.blocks[0].promt"}


# --- Scoring buckets --------------------------------------------------------------------------------


def scored(**scores):
    return {
        "type": "single_punch",
        "prompt": "?",
        "options": [{"value": "a", "score_values": scores}, {"value": "b"}],
    }


def test_declared_buckets_are_kept_in_their_order():
    made = Caller().make(
        scored(fire_mage=1),
        scoring_enabled=True,
        scoring={"buckets": [{"name": "Rogue", "order": 2}, {"name": "Fire Mage", "order": 1}]},
    )

    assert made["scoring"] == {
        "enabled": True,
        "buckets": [{"name": "Fire Mage", "order": 0}, {"name": "Rogue", "order": 1}],
    }
    assert made["script"]["blocks"][0]["options"][0]["score_values"] == {"fire_mage": 1}


def test_a_score_for_a_bucket_that_is_not_declared_is_refused():
    """Rule 5.4."""
    answer = Caller().post(
        "/projects",
        {
            "name": "N",
            "type": "convo",
            "scoring_enabled": True,
            "scoring": {"buckets": [{"name": "Rogue"}]},
            "script": {"blocks": [scored(mage=1)]},
        },
    )

    assert answer.status_code == 400
    assert [field for field, _ in faults(answer)] == ["script.blocks[0].options[0].score_values.mage"]


def test_buckets_are_made_from_the_keys_of_the_first_script():
    made = Caller().make(scored(fire_mage=1, rogue=2), scoring_enabled=True)

    assert [bucket["name"] for bucket in made["scoring"]["buckets"]] == ["Fire Mage", "Rogue"]


def test_without_keys_there_is_one_bucket_named_score():
    made = Caller().make(TEXT, scoring_enabled=True)

    assert made["scoring"]["buckets"] == [{"name": "Score", "order": 0}]


def test_while_scoring_is_off_scores_are_passed_over():
    made = Caller().make(scored(mage=1))

    assert "score_values" not in made["script"]["blocks"][0]["options"][0]
    assert made["scoring"] == {"enabled": False, "buckets": []}


@pytest.mark.parametrize(
    "buckets",
    [
        [{"name": ""}],
        [{"name": "b" * 65}],
        [{"name": "Fire Mage"}, {"name": "fire_mage"}],
        [{"name": "a[b]"}],
        [{}],
        [5],
    ],
)
def test_buckets_have_names_of_their_own(buckets):
    answer = Caller().post("/projects", {"name": "N", "type": "convo", "scoring": {"buckets": buckets}})

    assert refusal(answer) == (400, "invalid_request")
    assert all(field.startswith("scoring.buckets") for field, _ in faults(answer))


# --- The outro --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "prompt", "label"),
    [
        ({}, "Thank you! Your answers have been saved.", None),
        ({"thank_you_custom_message": "Cheers!"}, "Thank you! Your answers have been saved.", None),
        (
            {
                "thank_you_type": "custom",
                "thank_you_custom_message": "Cheers!",
                "thank_you_custom_label": "Bye",
            },
            "Cheers!",
            {"after": "click", "pause": None, "label": "Bye"},
        ),
    ],
)
def test_the_service_makes_the_outro(settings, prompt, label):
    caller = Caller(**settings)
    made = caller.make(TEXT)

    blocks = caller.get(f"/projects/{made['id']}/script?expand=outro").json()["blocks"]

    assert len(blocks) == 2
    outro = blocks[1]
    assert (outro["section"], outro["type"], outro["position"]) == ("outro", "content_block", 1)
    assert (outro["prompt"], outro["continue"]) == (prompt, label)
