"""Another community's copy of an open quiz (rule 2.17)."""

import pytest

from surveys.models import Project
from tests.support.caller import CHOICE, TEXT, Caller, faults, refusal
from tests.support.moments import NOON

pytestmark = pytest.mark.django_db

ON_WEB = {"audience": {"participation": "open_web"}}
FAR = {"opening": {"mode": "scheduled", "time": "2999-01-01T00:00:00Z"}}
BLOCKS = [
    CHOICE
    | {
        "name": "colour",
        "options": [{"value": "red", "score_values": {"mage": 1}}, {"value": "green"}],
        "correct_answer_index": 1,
        "when_correct": "Yes!",
        "when_incorrect": "No, green.",
    },
    {"type": "calculated_block", "prompt": "", "name": "twice", "calculated_formula": "[score] * 2"},
    {"type": "calculated_block", "prompt": "", "name": "half", "calculated_formula": "[score] / 2"},
    {"type": "content_block", "prompt": "You have [twice].", "precondition": "twice > 1 OR score_mage > 3"},
    {
        "type": "action_block",
        "prompt": "XP!",
        "action_kind": "give_xp",
        "action_config": {"source_key": "score_mage"},
    },
]
SECRETS = (
    "correct_answer_ids",
    "correct_answer_index",
    "correct_answer_indexes",
    "when_correct",
    "when_incorrect",
    "calculated_formula",
)
TOLD = ("Yes!", "No, green", "[score] *", "[score] /")


def blocks_of(caller, project):
    return caller.get(f"/projects/{project['id']}/script").json()["blocks"]


def cloned(caller, project):
    answer = caller.post(f"/projects/{project['id']}/clone")
    assert answer.status_code == 201, answer.content
    assert not any(text in answer.content.decode() for text in TOLD)
    return answer.json()


def has_solutions(caller, project):
    """Whether any secret can be read in the script of a copy; each of them, or none."""
    blocks = blocks_of(caller, project)
    read = [block[key] for block in blocks for key in SECRETS if block[key] is not None]
    read += [o["score_values"] for block in blocks for o in block["options"] or [] if o["score_values"]]
    assert len(read) in (0, 8)
    return bool(read)


@pytest.fixture
def owner():
    return Caller()


@pytest.fixture
def other():
    return Caller("creator")


def make_quiz(owner, *blocks, **fields):
    return owner.make(*(blocks or BLOCKS), scoring_enabled=True, delivery=ON_WEB, **fields)


def open_quiz(owner, *blocks, **fields):
    made = make_quiz(owner, *blocks, **fields)
    assert owner.post(f"/projects/{made['id']}/open").status_code == 200
    return made


def test_a_copy_lacks_all_that_a_member_may_not_read(owner, other):
    made = open_quiz(owner)

    copy = blocks_of(other, cloned(other, made))

    read_by_member = blocks_of(owner.beside("member"), made)
    ids = {"id": None, "options": None}
    assert [block | ids for block in copy] == [block | ids for block in read_by_member]
    values = [[option | {"id": None} for option in block["options"] or []] for block in copy]
    assert values == [
        [option | {"id": None} for option in block["options"] or []] for block in read_by_member
    ]


def test_the_own_community_copies_all_of_it(owner):
    made = open_quiz(owner)

    assert has_solutions(owner, cloned(owner, made))
    creator = owner.beside("creator")
    assert has_solutions(creator, cloned(creator, made))


def test_a_copy_is_complete_while_the_quiz_is_closed(owner, other):
    made = open_quiz(owner)
    opened = cloned(other, made)
    owner.post(f"/projects/{made['id']}/close")
    closed = cloned(other, made)
    owner.post(f"/projects/{made['id']}/open", {"delivery": FAR})
    waiting = cloned(other, made)
    owner.post(f"/projects/{made['id']}/close")
    owner.post(f"/projects/{made['id']}/open", {"delivery": {"opening": {"mode": "manual"}}})
    reopened = cloned(other, made)
    Project.objects.filter(pk=made["id"]).update(closes_at=NOON)  # no tick has come yet
    over = cloned(other, made)

    copies = (opened, closed, waiting, reopened, over)
    assert [has_solutions(other, copy) for copy in copies] == [False, True, False, False, True]


def test_a_copy_of_a_copy_tells_no_more(owner, other):
    made = open_quiz(owner)
    copy = cloned(other, made)

    again = cloned(other, copy)

    assert not has_solutions(other, again)


def test_an_earlier_version_does_not_give_away_the_one_that_is_open(owner, other):
    earlier = open_quiz(owner)
    owner.post(f"/projects/{earlier['id']}/close")
    stranger = cloned(other, earlier)  # while none is open
    version = cloned(owner, cloned(owner, earlier))
    owner.post(f"/projects/{version['id']}/open")

    while_open = cloned(other, earlier)
    owner.post(f"/projects/{version['id']}/close")
    afterwards = cloned(other, earlier)

    copies = (stranger, while_open, afterwards)
    assert [has_solutions(other, copy) for copy in copies] == [True, False, True]


def test_a_copy_elsewhere_is_no_version_of_the_original(owner, other):
    made = open_quiz(owner)
    owner.post(f"/projects/{made['id']}/close")
    elsewhere = cloned(other, made)
    other.post(f"/projects/{elsewhere['id']}/open", {"delivery": ON_WEB})

    third = Caller()
    assert has_solutions(third, cloned(third, made))
    assert not has_solutions(third, cloned(third, elsewhere))


def test_a_survey_without_a_right_answer_is_copied_as_it_is(owner, other):
    formula = {"type": "calculated_block", "prompt": "", "name": "twice", "calculated_formula": "[years] * 2"}
    years = {"type": "open_numeric", "name": "years", "prompt": "Years?"}
    made = owner.make_open(years, formula, delivery=ON_WEB)

    copy = blocks_of(other, cloned(other, made))

    assert copy[1]["calculated_formula"] == "[years] * 2"


# --- A copy without formulas --------------------------------------------------------------------------


def test_a_copy_says_what_it_lacks_and_opens_once_it_has_it(owner, other):
    copy = cloned(other, open_quiz(owner))
    path = f"/projects/{copy['id']}"
    script = other.get(f"{path}/script").json()
    _, twice, half, shown, _ = script["blocks"]

    refused = other.post(f"{path}/open")
    written = other.put(f"{path}/script", script)
    patches = [
        other.patch(f"{path}/script/blocks/{block['id']}", body)
        for block, body in (
            (shown, {"prompt": "You have [twice]!"}),
            (half, {"prompt": "still none"}),
            (twice, {"calculated_formula": "[score] + 1"}),
            (half, {"calculated_formula": "[score] + 2"}),
        )
    ]

    missing = {("blocks[1].calculated_formula", "required"), ("blocks[2].calculated_formula", "required")}
    assert [(each["field"], each["code"]) for each in script["warnings"]] == [
        ("blocks[1].calculated_formula", "missing_formula"),
        ("blocks[2].calculated_formula", "missing_formula"),
    ]
    assert refusal(refused) == (400, "invalid_request")
    assert faults(refused) == {(f"script.{field}", code) for field, code in missing}
    assert faults(written) == missing
    assert [answer.status_code for answer in patches] == [200, 400, 200, 200]
    assert faults(patches[1]) == {("calculated_formula", "required")}
    assert other.post(f"{path}/open").status_code == 200


def test_responses_can_be_imported_into_a_copy_without_formulas(owner, other):
    copy = cloned(other, open_quiz(owner, *BLOCKS[:4], TEXT | {"name": "why"}))
    answers = [{"block_name": "colour", "value": "green"}, {"block_name": "why", "value": "So."}]
    moment = "2026-01-01T00:00:00Z"
    response = {"answers": answers, "status": "completed", "started_at": moment, "submitted_at": moment}

    imported = other.post(f"/projects/{copy['id']}/responses", {"data": [response]})

    assert imported.status_code == 201, imported.content
    (read,) = other.get(f"/projects/{copy['id']}/responses").json()["data"]
    assert read["status"] == "completed"
    assert read["variables"] == {"twice": None, "half": None}
