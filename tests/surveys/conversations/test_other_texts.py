"""An option with a text of the respondent's own, such as “Other” (rules 3.152 to 3.154, 6.152 to 6.156)."""

import json
import uuid

import pytest

from surveys.engine.walk import prefill
from surveys.engine.walk.runner import State
from surveys.models import Answer, Conversation
from tests.support.caller import CHOICE, Caller, faults
from tests.support.engine import script_builder
from tests.support.surveys.event_log import bodies, listener
from tests.support.surveys.exports import lines
from tests.support.surveys.participants import Talk, a_member

pytestmark = pytest.mark.django_db

ON_WEB = {"audience": {"participation": "open_web"}}
OTHER = {"value": "Other", "is_other": True}
GAMES = {**CHOICE, "name": "games", "options": [{"value": "chess", "label": "Chess"}, {"value": "go"}, OTHER]}
SEVERAL = {**GAMES, "type": "multi_punch"}
TELL = {"type": "content_block", "name": "told", "prompt": "You play [Games]."}


@pytest.fixture
def caller():
    return Caller()


def send(talk, **raw):
    return talk.caller.post(f"{talk.path}/answers", {"block_id": talk.block["id"], **raw})


def exported(caller, made, query=""):
    answer = caller.get(f"/projects/{made['id']}/responses/export?format=csv{query}")
    return lines(b"".join(answer.streaming_content))


def ids_of(talk):
    return [option["id"] for option in talk.block["options"]]


@pytest.mark.parametrize(
    ("block", "field", "code"),
    [
        ({**GAMES, "options": [OTHER, {**OTHER, "value": "Else"}]}, "options[1].is_other", "too_many"),
        ({**GAMES, "type": "ranking"}, "options[2].is_other", "not_allowed"),
        ({"type": "rating", "prompt": "?", "options": [OTHER]}, "options[0].is_other", "not_allowed"),
        ({**GAMES, "options": [{**OTHER, "is_other": 1}]}, "options[0].is_other", "invalid_type"),
    ],
)
def test_one_option_of_a_choice_has_a_text(caller, block, field, code):
    answer = caller.post("/projects", {"name": "x", "type": "convo", "script": {"blocks": [block]}})

    assert answer.status_code == 400
    assert (f"script.blocks[0].{field}", code) in faults(answer)


@pytest.mark.parametrize("type", ["single_punch", "multi_punch"])
def test_the_text_is_needed_with_its_option_and_refused_without(caller, type):
    made = caller.make_open({**GAMES, "type": type}, TELL, delivery=ON_WEB)
    talk = Talk(caller, made)
    chess, _, other = ids_of(talk)

    refused = [
        send(talk, option_id=other),
        send(talk, value="Other"),
        send(talk, option_id=other, other_text=" \u200b "),
        send(talk, option_id=other, other_text="x" * 501),
        send(talk, option_id=other, other_text="a\x00b"),
        send(talk, option_id=other, other_text=7),
        send(talk, option_id=chess, other_text="Tabletop"),
    ]

    assert [answer.status_code for answer in refused] == [400] * 7
    codes = [answer.json()["violations"][0] for answer in refused]
    assert {each["field"] for each in codes} == {"other_text"}
    assert [each["code"] for each in codes[:4]] == ["required", "required", "required", "too_long"]
    assert codes[6]["code"] == "not_allowed"
    assert send(talk, option_id=chess, other_text="  ").status_code == 200
    assert Talk(caller, made).told["step"]["block"]["options"][2]["is_other"] is True


def test_the_text_is_told_wherever_the_answer_is(caller):
    made = caller.make_open(SEVERAL, TELL, delivery=ON_WEB)
    talk = Talk(caller, made)
    chess, _, other = ids_of(talk)

    told = send(talk, option_ids=[other, chess], other_text="  Cafe\u0301 games [Games] ").json()

    assert told["step"]["block"]["prompt"] == "You play Chess, Caf\u00e9 games [Games]."
    back = caller.post(f"{talk.path}/back").json()
    assert back["step"]["answer"] == {"option_ids": [chess, other], "other_text": "Caf\u00e9 games [Games]"}
    talk.told = back
    send(talk, option_ids=[other], other_text="Mahjong")
    caller.post(f"{talk.path}/continue")
    (response,) = caller.get(f"/projects/{made['id']}/responses").json()["data"]
    assert [(each["value"], each["other_text"]) for each in response["answers"]] == [("Other", "Mahjong")]
    one = caller.get(f"/responses/{response['id']}").json()
    assert one["answers"] == response["answers"]
    assert list(Answer.objects.values_list("value", flat=True)) == ["Other"]


def test_a_retry_changes_nothing_and_another_text_is_another_answer(caller):
    made = caller.make_open(GAMES, TELL, delivery=ON_WEB)
    talk = Talk(caller, made)
    block_id, other = talk.block["id"], ids_of(talk)[2]
    body = {"block_id": block_id, "option_id": other, "other_text": "Mahjong"}
    caller.post(f"{talk.path}/answers", body)

    again = caller.post(f"{talk.path}/answers", body)
    another = caller.post(f"{talk.path}/answers", body | {"other_text": "Shogi"})

    assert (again.status_code, another.status_code) == (200, 409)


def test_logic_compares_the_value_and_not_the_text(caller):
    shown = {**TELL, "show_when": {"block": "games", "op": "eq", "value": "Other"}}
    hidden = {**TELL, "name": "not", "show_when": {"block": "games", "op": "eq", "value": "go"}}
    made = caller.make_open(GAMES, hidden, shown, delivery=ON_WEB)
    talk = Talk(caller, made)

    told = send(talk, value="Other", other_text="go").json()

    assert told["step"]["block"]["name"] == "told"


def test_results_count_the_option_and_exports_have_a_column_for_the_text(caller):
    made = caller.make_open(SEVERAL, GAMES | {"name": "second"}, delivery=ON_WEB)
    for text in ("=Shogi", "Mahjong"):
        talk = Talk(caller, made)
        chess, _, other = ids_of(talk)
        talk.told = send(talk, option_ids=[chess, other], other_text=text).json()
        send(talk, value="go")

    (first, _) = caller.get(f"/projects/{made['id']}/analysis/results").json()["blocks"]
    assert [each["count"] for each in first["distribution"]] == [2, 2]
    header, *rows = exported(caller, made)
    assert header[-2:] == ["games other text", "second other text"]
    assert [row[-2:] for row in rows] == [["'=Shogi", ""], ["Mahjong", ""]]
    header, *rows = exported(caller, made, "&form=long")
    item, value = header.index("item"), header.index("value")
    assert [(row[item], row[value]) for row in rows if row[item]] == [
        ("Other", "'=Shogi"),
        ("Other", "Mahjong"),
    ]


@pytest.mark.parametrize("how", ["off", "option removed", "block removed"])
def test_a_table_keeps_the_texts_of_an_option_that_has_none_now(caller, how):
    """Rule 6.190."""
    made = caller.make_open(GAMES, TELL, delivery=ON_WEB)
    talk = Talk(caller, made)
    send(talk, option_id=ids_of(talk)[2], other_text="Tabletop")

    rewrite(caller, made, how)

    header, row = exported(caller, made)
    assert (header[-1], row[-1]) == ("games other text", "Tabletop")
    header, *rows = exported(caller, made, "&form=long")
    assert "Tabletop" in [row[header.index("value")] for row in rows]


def test_an_answer_whose_option_lost_its_text_can_be_sent_again(caller):
    """Rule 6.190."""
    made = caller.make_open(GAMES, TELL, {**TELL, "type": "open_text", "name": "more"}, delivery=ON_WEB)
    talk = Talk(caller, made)
    other = ids_of(talk)[2]
    send(talk, option_id=other, other_text="Tabletop")
    rewrite(caller, made, "off")
    caller.post(f"/projects/{made['id']}/open", {})

    back = caller.post(f"{talk.path}/back").json()["step"]

    assert back["answer"] == {"option_id": other}
    assert send(talk, **back["answer"]).status_code == 200


def rewrite(caller, made, how):
    """Take the text from the last option of the first block, or remove the option or the block."""
    project = f"/projects/{made['id']}"
    caller.post(f"{project}/close", {})
    read = caller.get(f"{project}/script").json()["blocks"]
    blocks = [block for block in read if block["section"] != "outro"]
    if how == "off":
        blocks[0]["options"][2]["is_other"] = None
    elif how == "option removed":
        blocks[0]["options"].pop()
    else:
        blocks = [{**block, "prompt": "-", "position": n} for n, block in enumerate(blocks[1:])]
    assert caller.put(f"{project}/script", {"blocks": blocks}).status_code == 200


def test_an_export_is_imported_with_its_texts(caller):
    made = caller.make_open(SEVERAL, delivery=ON_WEB)
    talk = Talk(caller, made)
    chess, _, other = ids_of(talk)
    send(talk, option_ids=[chess, other], other_text="Mahjong")
    (response,) = caller.get(f"/projects/{made['id']}/responses").json()["data"]
    copy = caller.post(f"/projects/{made['id']}/clone").json()
    before = {
        **response,
        "answers": [{k: v for k, v in each.items() if k != "other_text"} for each in response["answers"]],
    }

    for given in (response, before):
        assert caller.post(f"/projects/{copy['id']}/responses", {"data": [given]}).json() == {
            "imported": 1,
        }

    stored = caller.get(f"/projects/{copy['id']}/responses").json()["data"]
    texts = {tuple(each.get("other_text") for each in one["answers"]) for one in stored}
    assert texts == {(None, "Mahjong"), (None, None)}
    wrong = {**response, "answers": [{**response["answers"][0], "other_text": "Go"}]}
    refused = caller.post(f"/projects/{copy['id']}/responses", {"data": [wrong]})
    assert refused.json()["violations"][0]["field"].endswith("answers[0].other_text")


def test_a_filled_in_option_waits_for_its_text():
    options = ["chess", {"value": "Other", "is_other": True}]
    script = script_builder.script({"type": "single_punch", "options": options}, {"type": "open_text"})
    ahead = prefill.Prefill({1: ["Other"]}, skips=True)

    assert prefill.reply_to(script, script.blocks[0], ahead) == {"option_ids": [11]}
    assert prefill.given_reply(script, State(), ahead) is None
    assert prefill.given_reply(script, State(), prefill.Prefill({1: ["chess"]}, skips=True)) is not None


def test_a_state_keeps_the_text_beside_its_answers(caller):
    made = caller.make_open(GAMES, TELL, delivery=ON_WEB)
    talk = Talk(caller, made)
    other = ids_of(talk)[2]
    send(talk, option_id=other, other_text="Mahjong")

    state = Conversation.objects.get(pk=uuid.UUID(talk.told["id"])).state

    key = str(talk.block["id"])
    assert state["answers"][key] == {"option_ids": [other]}
    assert state["other"] == {key: {"option_id": other, "text": "Mahjong"}}


def test_a_poll_takes_a_vote_with_a_text(caller):
    made = caller.make_open(GAMES, type="poll", delivery=ON_WEB, settings={"change_poll": True})
    talk = Talk(caller, made)

    told = send(talk, value="Other", other_text="Mahjong").json()

    assert told["status"] == "completed"
    by_chat = {"delivery": {"audience": {"response_channel": "chat"}, "invitation": {"post_channel_id": "1"}}}
    body = {"name": "x", "type": "poll", "script": {"blocks": [SEVERAL]}, **by_chat}
    assert ("script.blocks[0].options[2].is_other", "not_allowed") in faults(caller.post("/projects", body))


def test_events_and_the_data_of_a_person_have_the_text(caller):
    listener(caller.community.pk, "response.submitted")
    member = a_member(caller)
    made = caller.make_open(GAMES, delivery=ON_WEB)
    talk = Talk(caller, made, member_id=member)

    assert send(talk, value="Other", other_text="Mahjong").json()["status"] == "completed"

    (event,) = bodies(caller.community.pk)
    assert [each["other_text"] for each in event["data"]["response"]["answers"]] == ["Mahjong"]
    data = caller.get(f"/members/{member}/data").json()
    assert '"other_text": "Mahjong"' in json.dumps(data)
