"""Scores count only where scoring was on when the script was written (rule 5.1)."""

import pytest

from surveys.models import Block, Project
from tests.support.caller import CHOICE, TEXT, Caller, faults

pytestmark = pytest.mark.django_db

SCORED = {
    "type": "single_punch",
    "name": "game",
    "prompt": "?",
    "options": [{"value": "chess", "score_values": {"mage": 2}}, {"value": "go"}],
}


def path_of(made):
    return f"/projects/{made['id']}/script"


def is_scored(made):
    return Project.objects.get(pk=made["id"]).script_is_scored


def ignored(made):
    found = Block.objects.filter(project_id=made["id"], scores_ignored=True, is_archived=False)
    return sorted(found.values_list("name", flat=True))


def switch(caller, made, *, on):
    assert caller.patch(f"/projects/{made['id']}", {"scoring_enabled": on}).status_code == 200


def weights_of(caller, made):
    options = caller.get(path_of(made)).json()["blocks"][0]["options"]
    return [option["score_values"] for option in options]


@pytest.mark.parametrize(
    ("fields", "blocks", "scored"),
    [
        ({"scoring_enabled": True}, [SCORED], True),
        ({"scoring": {"enabled": True}}, [TEXT], True),
        ({"scoring_enabled": True}, [], False),
        ({}, [SCORED], False),
    ],
)
def test_a_script_is_scored_where_scoring_was_on_when_it_was_written(fields, blocks, scored):
    assert is_scored(Caller().make(*blocks, **fields)) is scored


def test_the_first_script_of_an_empty_project_with_scoring_is_scored():
    caller = Caller()
    made = caller.make(scoring_enabled=True)

    caller.put(path_of(made), {"blocks": [SCORED]})

    assert is_scored(made)


def test_scoring_that_comes_after_the_script_does_not_make_it_count():
    caller = Caller()
    made = caller.make(SCORED)

    switch(caller, made, on=True)

    assert not is_scored(made)
    assert weights_of(caller, made) == [None, None]
    assert ignored(made) == ["game"]


def test_writing_the_script_again_makes_it_count():
    caller = Caller()
    made = caller.make(SCORED)
    switch(caller, made, on=True)

    answer = caller.put(path_of(made), {"blocks": [SCORED]})

    assert answer.json()["warnings"] == []
    assert [each["name"] for each in caller.get(f"/projects/{made['id']}").json()["scoring"]["buckets"]] == [
        "Mage"
    ]
    assert is_scored(made)
    assert weights_of(caller, made) == [{"mage": 2}, None]
    assert ignored(made) == []


@pytest.mark.parametrize("by", ["put", "patch"])
def test_a_write_that_changes_nothing_else_makes_it_count_too(by):
    caller = Caller()
    made = caller.make(TEXT)
    switch(caller, made, on=True)
    script = caller.get(path_of(made)).json()
    (block,) = script["blocks"]

    if by == "put":
        first, again = (caller.put(path_of(made), script) for _ in range(2))
    else:
        path = f"{path_of(made)}/blocks/{block['id']}"
        first, again = (caller.patch(path, {"prompt": block["prompt"]}) for _ in range(2))

    assert is_scored(made)
    assert first.headers["ETag"] == f'"{script["revision"] + 1}"'
    assert again.headers["ETag"] == first.headers["ETag"]


def test_words_of_the_outro_are_no_script_written():
    caller = Caller()
    made = caller.make(TEXT)
    switch(caller, made, on=True)
    *_, outro = caller.get(f"{path_of(made)}?expand=outro").json()["blocks"]

    caller.patch(f"{path_of(made)}/blocks/{outro['id']}", {"prompt": "Bye."})

    assert not is_scored(made)


def test_scores_do_not_begin_to_count_while_the_project_is_active():
    caller = Caller()
    made = caller.make(TEXT)
    switch(caller, made, on=True)
    caller.post(f"/projects/{made['id']}/open")

    answer = caller.put(path_of(made), caller.get(path_of(made)).json())

    assert answer.status_code == 200
    assert not is_scored(made)
    assert caller.get(f"/projects/{made['id']}").json()["scoring"]["buckets"] == []


def test_points_for_a_bucket_that_is_not_declared_are_refused_in_the_second_writing_too():
    caller = Caller()
    made = caller.make(SCORED)
    caller.patch(f"/projects/{made['id']}", {"scoring": {"enabled": True, "buckets": [{"name": "Rogue"}]}})

    answer = caller.put(path_of(made), {"blocks": [SCORED]})

    assert faults(answer) == {("blocks[0].options[0].score_values.mage", "unknown_reference")}
    assert not is_scored(made)


def test_what_counts_once_counts_again_when_scoring_comes_back():
    caller = Caller()
    made = caller.make(SCORED, scoring_enabled=True)

    switch(caller, made, on=False)
    caller.put(path_of(made), caller.get(path_of(made)).json())
    switch(caller, made, on=True)

    assert is_scored(made)
    assert weights_of(caller, made) == [{"mage": 2}, None]
    assert caller.get(path_of(made)).json()["warnings"] == []


def buckets_of(caller, made):
    return [bucket["name"] for bucket in caller.get(f"/projects/{made['id']}").json()["scoring"]["buckets"]]


def with_weights(block, **scores):
    first, *others = block["options"]
    return {"options": [first | {"score_values": scores}, *others]}


@pytest.mark.parametrize("by", ["put", "patch"])
def test_no_bucket_is_made_while_points_that_were_ignored_are_awaited(by):
    caller = Caller()
    made = caller.make(SCORED, SCORED | {"name": "other"}, TEXT)
    switch(caller, made, on=True)
    first, _, text = caller.get(path_of(made)).json()["blocks"]

    if by == "put":
        caller.put(path_of(made), caller.get(path_of(made)).json())
    else:
        caller.patch(f"{path_of(made)}/blocks/{text['id']}", {"prompt": "Why, then?"})
    awaiting = is_scored(made), buckets_of(caller, made), ignored(made)
    answer = caller.patch(f"{path_of(made)}/blocks/{first['id']}", with_weights(first, warm=1))

    assert awaiting == (True, [], ["game", "other"])
    assert answer.status_code == 200
    assert (buckets_of(caller, made), ignored(made)) == (["Warm"], ["other"])


def test_the_second_write_brings_no_bucket_and_is_told_where_one_is_declared():
    caller = Caller()
    made = caller.make(SCORED, SCORED | {"name": "other"})
    switch(caller, made, on=True)
    paths = [f"{path_of(made)}/blocks/{block['id']}" for block in made["script"]["blocks"]]
    first, second = made["script"]["blocks"]
    caller.patch(paths[0], with_weights(first, warm=1))

    refused = caller.patch(paths[1], with_weights(second, cold=1))
    declared = {"scoring": {"enabled": True, "buckets": [{"name": "Warm"}, {"name": "Cold"}]}}
    caller.patch(f"/projects/{made['id']}", declared)
    taken = caller.patch(paths[1], with_weights(second, cold=1))

    assert faults(refused) == {("options[0].score_values.cold", "unknown_reference")}
    assert "`scoring.buckets`" in refused.json()["message"]
    assert taken.status_code == 200
    assert buckets_of(caller, made) == ["Warm", "Cold"]
    assert ignored(made) == []


def test_whoever_wants_no_points_any_more_gets_the_bucket_of_all_scripts():
    caller = Caller()
    made = caller.make(SCORED)
    switch(caller, made, on=True)
    (block,) = made["script"]["blocks"]

    caller.patch(f"{path_of(made)}/blocks/{block['id']}", with_weights(block))

    assert (buckets_of(caller, made), ignored(made)) == (["Score"], [])


def test_a_script_that_is_read_and_sent_back_still_tells_of_what_was_ignored():
    caller = Caller()
    made = caller.make(SCORED)
    switch(caller, made, on=True)

    answer = caller.put(path_of(made), caller.get(path_of(made)).json())

    assert [each["code"] for each in answer.json()["warnings"]] == ["scores_ignored"]
    assert weights_of(caller, made) == [None, None]


@pytest.mark.parametrize(("points", "is_ignored"), [(2, []), (3, ["game"])])
def test_points_that_are_sent_as_they_are_stored_are_not_ignored(points, is_ignored):
    caller = Caller()
    made = caller.make(SCORED, scoring_enabled=True)
    script = caller.get(path_of(made)).json()
    script["blocks"][0]["options"][0]["score_values"]["mage"] = points
    switch(caller, made, on=False)

    caller.put(path_of(made), script)
    told = ignored(made)
    switch(caller, made, on=True)

    assert told == ignored(made) == is_ignored
    assert weights_of(caller, made) == [{"mage": 2}, None]


# --- What was ignored -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("option", "is_ignored"),
    [
        ({"score_values": {"mage": 2}}, True),
        ({"score_values": {}}, False),
        ({"score_values": None}, False),
        ({}, False),
    ],
)
def test_points_are_ignored_where_there_are_any(option, is_ignored):
    options = [{"value": "chess"} | option, {"value": "go"}]

    made = Caller().make(SCORED | {"options": options}, TEXT)

    assert ignored(made) == (["game"] if is_ignored else [])


@pytest.mark.parametrize("by", ["put", "patch"])
def test_what_was_ignored_is_remembered_until_options_are_sent_that_count(by):
    caller = Caller()
    made = caller.make(SCORED, TEXT)
    block, text = made["script"]["blocks"]

    def write(**change):
        if by == "patch":
            answer = caller.patch(f"{path_of(made)}/blocks/{block['id']}", change)
        else:
            answer = caller.put(path_of(made), {"blocks": [block | change, text]})
        assert answer.status_code == 200, answer.content
        return ignored(made)

    plain = {"options": block["options"]}
    assert write(name="sport", prompt="Which?") == ["sport"]
    assert write(**plain) == ["sport"] if by == "patch" else ["game"]
    switch(caller, made, on=True)
    assert len(ignored(made)) == 1
    assert len(write(**plain)) == 1
    assert write(options=[option | {"score_values": {}} for option in block["options"]]) == []


def test_another_blocks_change_forgets_nothing():
    caller = Caller()
    made = caller.make(SCORED, TEXT)
    switch(caller, made, on=True)
    _, text = made["script"]["blocks"]

    caller.patch(f"{path_of(made)}/blocks/{text['id']}", {"prompt": "Why, then?"})

    assert ignored(made) == ["game"]
    assert [each["code"] for each in caller.get(path_of(made)).json()["warnings"]] == ["scores_ignored"]


def test_points_sent_while_active_are_ignored_and_remembered():
    caller = Caller()
    made = caller.make_open(CHOICE | {"name": "colour"})
    (block,) = made["script"]["blocks"]
    options = [option | {"score_values": {"mage": 1}} for option in block["options"]]

    answer = caller.patch(f"{path_of(made)}/blocks/{block['id']}", {"options": options})

    assert answer.status_code == 200
    assert ignored(made) == ["colour"]


def test_a_clone_is_in_the_same_trap():
    caller = Caller()
    trapped, sound = caller.make(SCORED), caller.make(SCORED, scoring_enabled=True)
    switch(caller, trapped, on=True)

    copies = [caller.post(f"/projects/{made['id']}/clone").json() for made in (trapped, sound)]

    assert [is_scored(copy) for copy in copies] == [False, True]
    assert [ignored(copy) for copy in copies] == [["game"], []]


def test_what_was_ignored_is_no_part_of_the_block():
    caller = Caller()

    (block,) = caller.make(SCORED)["script"]["blocks"]

    assert "scores_ignored" not in block
