import pytest

from surveys.models import Answer, Block, Conversation, Option, Project
from surveys.services.scripts import cache as script_cache
from surveys.services.scripts import storage
from tests.support.caller import CHOICE, SAYING, TEXT, Caller, faults, refusal
from tests.support.moments import NOON
from tests.support.surveys.script_paths import block_path, path_of

pytestmark = pytest.mark.django_db


def answer(block, option=None, project_id=None):
    conversation = Conversation.objects.create(
        project_id=project_id, seed=1, is_listed=True, started_at=NOON, updated_at=NOON
    )
    Answer.objects.create(
        conversation=conversation,
        block_id=block["id"],
        ordinal=0,
        option_id=option and option["id"],
        value="v",
    )


# --- The whole script ---------------------------------------------------------------------------------


@pytest.mark.parametrize("query", ["", "?expand=outro"])
@pytest.mark.parametrize("is_open", [False, True])
def test_a_read_script_can_be_sent_back_unchanged(query, is_open):
    caller = Caller()
    made = (caller.make_open if is_open else caller.make)(
        SAYING | {"section": "intro"},
        CHOICE | {"name": "Colour", "correct_answer_index": 2, "when_correct": "Yes, [answer]."},
        TEXT | {"show_when": {"block": "colour", "op": "eq", "value": "red"}},
        scoring_enabled=True,
    )
    read = caller.get(path_of(made) + query)

    written = caller.put(path_of(made), read.json())

    assert written.status_code == 200
    assert written.headers["ETag"] == read.headers["ETag"] == '"1"'
    assert "X-Ignored-Fields" not in written.headers
    assert caller.get(path_of(made) + query).content == read.content


def test_blocks_with_ids_are_changed_and_others_come_and_go():
    """Rule 3.14."""
    caller = Caller()
    made = caller.make(CHOICE, TEXT | {"name": "gone"}, TEXT | {"name": "stays"})
    first, _, last = made["script"]["blocks"]

    written = caller.put(
        path_of(made),
        {
            "blocks": [
                {"id": last["id"], "type": "open_text", "prompt": "Now first"},
                TEXT,
                first | {"position": None},
            ]
        },
    )

    blocks = written.json()["blocks"]
    assert (written.status_code, written.headers["ETag"]) == (200, '"2"')
    assert [block["id"] in (first["id"], last["id"]) for block in blocks] == [True, False, True]
    assert [(block["name"], block["prompt"]) for block in blocks] == [
        ("stays", "Now first"),
        ("q1", "Why?"),
        ("q0", "Which colour?"),
    ]
    assert caller.get(path_of(made)).json() == written.json()
    assert caller.get(f"/projects/{made['id']}").json()["info"]["block_count"] == 3
    assert Block.objects.filter(project_id=made["id"]).count() == 4  # and the outro


def test_options_with_ids_are_changed_and_others_come_and_go():
    """Rule 3.14."""
    caller = Caller()
    made = caller.make(CHOICE)
    (block,) = made["script"]["blocks"]
    red, _, blue = block["options"]

    written = caller.put(
        path_of(made),
        {
            "blocks": [
                block
                | {
                    "options": [
                        {"id": blue["id"], "value": "navy"},
                        {"value": "pink"},
                        {"id": red["id"], "value": "red"},
                    ]
                }
            ]
        },
    ).json()

    options = written["blocks"][0]["options"]
    assert [option["value"] for option in options] == ["navy", "pink", "red"]
    assert [option["display_order"] for option in options] == [0, 1, 2]
    assert (options[0]["id"], options[2]["id"]) == (blue["id"], red["id"])
    assert options[1]["id"] not in {option["id"] for option in block["options"]}
    assert Option.objects.filter(block_id=block["id"]).count() == 3
    assert caller.get(path_of(made)).json() == written


def test_display_order_and_position_decide_where_they_are_sent():
    caller = Caller()
    made = caller.make(
        {
            "type": "ranking",
            "prompt": "?",
            "options": [
                {"value": "a", "display_order": 5},
                {"value": "b"},
                {"value": "c", "display_order": 0},
            ],
        }
    )

    assert [option["value"] for option in made["script"]["blocks"][0]["options"]] == ["c", "b", "a"]


def test_a_correct_answer_named_by_its_index_becomes_an_id():
    caller = Caller()
    made = caller.make(CHOICE | {"correct_answer_index": 1}, scoring_enabled=True)

    block = made["script"]["blocks"][0]

    assert block["correct_answer_ids"] == [block["options"][1]["id"]]
    assert block["correct_answer_index"] == 1


@pytest.mark.parametrize("keeps_display_order", [False, True])
@pytest.mark.parametrize("by", ["PUT script", "PATCH block"])
def test_a_block_sent_back_with_its_options_reordered_keeps_its_correct_answer(by, keeps_display_order):
    caller = Caller()
    made = caller.make(CHOICE | {"correct_answer_index": 2}, TEXT, scoring_enabled=True)
    block, other = made["script"]["blocks"]
    correct = block["options"][2]["id"]
    block["options"].reverse()
    if not keeps_display_order:
        for option in block["options"]:
            del option["display_order"]

    if by == "PUT script":
        answer = caller.put(path_of(made), {"blocks": [block, other]})
    else:
        answer = caller.patch(block_path(made), block)

    assert answer.status_code == 200
    written = caller.get(path_of(made)).json()["blocks"][0]
    assert written["correct_answer_ids"] == [correct]
    assert written["correct_answer_index"] == (2 if keeps_display_order else 0)
    assert [option["id"] for option in written["options"]].index(correct) == written["correct_answer_index"]


def test_what_has_answers_is_archived_and_what_has_none_is_deleted():
    """Rule 2.13."""
    caller = Caller()
    made = caller.make(CHOICE, CHOICE, CHOICE)
    kept, answered, plain = made["script"]["blocks"]
    answer(kept, kept["options"][0], made["id"])
    answer(answered, answered["options"][1], made["id"])

    options = [kept["options"][2] | {"display_order": None}, {"value": "new"}]
    written = caller.put(path_of(made), {"blocks": [kept | {"options": options}]})

    assert written.status_code == 200
    assert [option["value"] for option in written.json()["blocks"][0]["options"]] == ["blue", "new"]
    assert len(caller.get(path_of(made)).json()["blocks"]) == 1
    blocks = dict(
        Block.objects.filter(project_id=made["id"], section="main").values_list("pk", "is_archived")
    )
    assert blocks == {kept["id"]: False, answered["id"]: True}
    stored = dict(Option.objects.filter(block_id=kept["id"]).values_list("value", "is_archived"))
    assert stored == {"red": True, "blue": False, "new": False}
    assert Answer.objects.count() == 2
    known = script_cache.get(int(made["id"]), 2).catalogue
    assert {kept["id"], answered["id"]} <= set(known.names)
    assert plain["id"] not in known.names
    assert known.labels[kept["options"][0]["id"]] == "red"
    assert known.labels[answered["options"][1]["id"]] == "green"


def test_removed_blocks_with_answers_do_not_grow_without_end(monkeypatch):  # rule 3.40
    monkeypatch.setattr(storage, "MAX_REMOVED", 4_000)
    caller = Caller()
    made = caller.make(CHOICE)
    written = 0
    while written < 100:  # else nothing limits it
        (block,) = caller.get(path_of(made)).json()["blocks"]
        answer(block, block["options"][0], project_id=made["id"])
        last = caller.put(path_of(made), {"blocks": [CHOICE]})
        if last.status_code != 200:
            break
        written += 1

    assert 1 < written < 10
    assert refusal(last) == (409, "conflict")
    assert "clone the project" in last.json()["message"]
    assert caller.get(path_of(made)).json()["blocks"] == [block]
    unanswered = {"blocks": [block, TEXT]}
    assert caller.put(path_of(made), unanswered).status_code == 200
    assert caller.put(path_of(made), {"blocks": [block]}).status_code == 200


def test_archived_ids_belong_to_the_script_no_more():
    caller = Caller()
    made = caller.make(CHOICE, CHOICE)
    first, second = made["script"]["blocks"]
    answer(first, first["options"][0], made["id"])
    answer(second, second["options"][0], made["id"])
    caller.put(path_of(made), {"blocks": [second | {"options": second["options"][1:]}]})

    block_back = caller.put(path_of(made), {"blocks": [first, second | {"options": second["options"][1:]}]})
    option_back = caller.put(path_of(made), {"blocks": [second]})

    assert ("blocks[0].id", "not_found") in faults(block_back)
    assert faults(option_back) == {("blocks[0].options[0].id", "not_found")}


def test_ids_of_others_are_refused():
    """Rule 3.15."""
    caller = Caller()
    other = caller.make(CHOICE)["script"]["blocks"][0]
    made = caller.make(CHOICE, CHOICE)
    first, second = made["script"]["blocks"]

    foreign_block = caller.put(path_of(made), {"blocks": [other]})
    foreign_option = caller.put(path_of(made), {"blocks": [first | {"options": second["options"]}]})
    on_create = caller.post("/projects", {"name": "N", "type": "convo", "script": {"blocks": [other]}})
    on_new_block = caller.put(path_of(made), {"blocks": [CHOICE | {"options": first["options"]}]})

    assert ("blocks[0].id", "not_found") in faults(foreign_block)
    assert {field for field, _ in faults(foreign_option)} == {f"blocks[0].options[{n}].id" for n in range(3)}
    assert ("script.blocks[0].id", "not_found") in faults(on_create)
    assert ("blocks[0].options[0].id", "not_found") in faults(on_new_block)


def test_an_id_sent_twice_is_refused():
    caller = Caller()
    made = caller.make(TEXT)
    (block,) = made["script"]["blocks"]

    answer = caller.put(path_of(made), {"blocks": [block, block | {"name": "twin"}]})

    assert faults(answer) == {("blocks[1].id", "duplicate")}


@pytest.mark.parametrize("body", [{}, {"blocks": None}, {"blocks": {}}, {"block": []}])
def test_a_script_is_a_list_of_blocks(body):
    caller = Caller()

    answer = caller.put(path_of(caller.make(TEXT)), body)

    assert refusal(answer) == (400, "invalid_request")
    assert {field for field, _ in faults(answer)} == {"blocks"}


def test_chat_delivery_is_measured_when_the_script_is_written():
    """Rule 2.7."""
    caller = Caller()
    made = caller.make(delivery={"audience": {"response_channel": "chat"}})
    long = CHOICE | {"options": [{"value": "v" * 41}, {"value": "b"}]}

    refused = caller.put(path_of(made), {"blocks": [long]})
    menu = caller.put(path_of(made), {"blocks": [long | {"answer_style": "select_menu"}]})

    assert faults(refused) == {("blocks[0].options[0].value", "too_long")}
    assert menu.status_code == 200


# --- Editing together ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tag", "status"),
    [
        ('"2"', 200),
        ('W/"2"', 200),
        ("*", 200),
        ("2", 200),
        ("1", 409),
        ('"1"', 409),
        ('"3"', 409),
        ('"x"', 409),
    ],
)
def test_a_write_with_an_older_revision_is_refused(tag, status):
    """Rule 3.33."""
    caller = Caller()
    made = caller.make(TEXT)
    caller.patch(block_path(made), {"prompt": "Second"})
    headers = {"If-Match": tag}

    put = caller.put(path_of(made), caller.get(path_of(made)).json(), **headers)
    patch = caller.patch(block_path(made), {"prompt": "Third"}, **headers)

    assert (put.status_code, patch.status_code) == (status, status)


# --- Who may ------------------------------------------------------------------------------------------


def test_the_author_and_admins_alone_may_write():
    admin = Caller()
    creator, other, member = (admin.beside(access) for access in ("creator", "creator", "member"))
    made = creator.make_open(TEXT)
    body = {"prompt": "New words?"}

    assert creator.patch(block_path(made), body).status_code == 200
    assert admin.put(path_of(made), admin.get(path_of(made)).json()).status_code == 200
    assert refusal(other.patch(block_path(made), body)) == (403, "forbidden")
    assert refusal(other.put(path_of(made), {"blocks": []})) == (403, "forbidden")
    assert refusal(member.put(path_of(made), {"blocks": []})) == (403, "forbidden")
    assert refusal(Caller().put(path_of(made), {"blocks": []})) == (404, "not_found")


# --- Scoring ------------------------------------------------------------------------------------------


def test_the_first_script_write_makes_the_buckets():
    caller = Caller()
    made = caller.make(scoring_enabled=True)
    scored = CHOICE | {"options": [{"value": "a", "score_values": {"fire_mage": 2}}, {"value": "b"}]}

    caller.put(path_of(made), {"blocks": [scored]})
    unknown = caller.put(
        path_of(made),
        {"blocks": [CHOICE | {"options": [{"value": "a", "score_values": {"rogue": 2}}, {"value": "b"}]}]},
    )

    assert caller.get(f"/projects/{made['id']}").json()["scoring"]["buckets"] == [
        {"name": "Fire Mage", "order": 0}
    ]
    assert faults(unknown) == {("blocks[0].options[0].score_values.rogue", "unknown_reference")}


def test_counts_of_blocks_and_questions_are_kept():
    caller = Caller()
    made = caller.make()

    caller.put(path_of(made), {"blocks": [SAYING, TEXT, CHOICE]})

    project = Project.objects.get(pk=made["id"])
    assert (project.block_count, project.question_count, project.revision) == (3, 2, 1)


# --- The type of a block with answers (rule 2.14) -------------------------------------------------


def retyped(made, n=1):
    """The script as it was read, with another type for one open text."""
    blocks = [dict(block) for block in made["script"]["blocks"]]
    blocks[n] |= {"type": "open_numeric"}
    return blocks


def test_a_block_with_answers_cannot_change_its_type():
    caller = Caller()
    made = caller.make(CHOICE, TEXT | {"name": "comment"})
    answer(made["script"]["blocks"][1], project_id=made["id"])

    whole = caller.put(path_of(made), {"blocks": retyped(made)})
    patched = caller.patch(block_path(made, 1), {"type": "open_numeric"})

    for refused, field in ((whole, "blocks[1].type"), (patched, "type")):
        assert refusal(refused) == (409, "conflict")
        assert faults(refused) == {(field, "read_only")}
        assert "There are answers to block 2, “Why?”. Its type" in refused.json()["message"]
        assert "archive the block" in refused.json()["message"]
    assert caller.get(path_of(made)).json()["blocks"][1]["type"] == "open_text"


def test_a_block_without_answers_can_change_its_type():
    caller = Caller()
    made = caller.make(CHOICE, TEXT | {"name": "comment"})
    answer(made["script"]["blocks"][0], made["script"]["blocks"][0]["options"][0], project_id=made["id"])

    written = caller.put(path_of(made), {"blocks": retyped(made)})

    assert written.status_code == 200
    assert written.json()["blocks"][1]["type"] == "open_numeric"


def test_a_block_with_answers_is_archived_to_ask_otherwise():
    caller = Caller()
    made = caller.make(CHOICE, TEXT | {"name": "comment"})
    first, second = made["script"]["blocks"]
    answer(second, project_id=made["id"])

    written = caller.put(
        path_of(made), {"blocks": [first, {"name": "comment", "type": "open_numeric", "prompt": "How many?"}]}
    )

    assert written.status_code == 200
    assert Block.objects.get(pk=second["id"]).is_archived
