import pytest

from tests.support.caller import CHOICE, PICTURE, SAYING, TEXT, Caller, faults, refusal

pytestmark = pytest.mark.django_db


def path_of(made):
    return f"/projects/{made['id']}/script"


def block_path(made, n=0):
    return f"{path_of(made)}/blocks/{made['script']['blocks'][n]['id']}"


def outro_of(caller, made):
    *_, outro = caller.get(f"{path_of(made)}?expand=outro").json()["blocks"]
    return outro


# --- One block ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["put", "patch"])
def test_one_block_changes_by_the_fields_sent(method):
    caller = Caller()
    made = caller.make(CHOICE, TEXT, scoring_enabled=True)
    block = made["script"]["blocks"][0]

    answer = caller.call(
        method, block_path(made), {"correct_answer_id": block["options"][2]["id"], "when_correct": "Yes!"}
    )

    assert (answer.status_code, answer.headers["ETag"]) == (200, '"2"')
    assert answer.json() == block | {
        "correct_answer_ids": [block["options"][2]["id"]],
        "correct_answer_index": 2,
        "correct_answer_indexes": [2],
        "when_correct": "Yes!",
    }
    assert caller.get(path_of(made)).json()["blocks"] == [answer.json(), made["script"]["blocks"][1]]


def test_a_block_cannot_bring_a_script_past_what_one_body_can_hold():
    """Rule 3.38."""
    caller = Caller()
    saying = [{"type": "content_block", "prompt": "." * 4_000}] * 188
    options = [{"value": f"{n}", "label": "." * 499} for n in range(49)]
    choice = {"type": "single_punch", "prompt": "?", "options": options}
    made = caller.make(*saying, *[choice] * 10)
    longer = [each | {"value": f"{each['value']:.>400}"} for each in options]

    *kept, refused = (caller.patch(block_path(made, n), {"options": longer}) for n in (188, 189, 190))

    assert [answer.status_code for answer in kept] == [200, 200]
    assert faults(refused) == {("blocks", "too_long")}


def test_a_block_that_was_read_can_be_sent_back():
    """Rule 4.16."""
    caller = Caller()
    made = caller.make(CHOICE, TEXT | {"hide_when": {"variable": "q1", "op": "eq", "value": "red"}})

    answer = caller.put(block_path(made, 1), made["script"]["blocks"][1])

    assert (answer.status_code, answer.json()) == (200, made["script"]["blocks"][1])
    assert answer.headers["ETag"] == '"1"'


def test_a_position_moves_the_block():
    caller = Caller()
    made = caller.make(*(TEXT | {"name": name} for name in "abc"))

    answer = caller.patch(block_path(made, 2), {"position": 0})

    assert (answer.json()["name"], answer.json()["position"]) == ("c", 0)
    assert [block["name"] for block in caller.get(path_of(made)).json()["blocks"]] == ["c", "a", "b"]


def test_null_clears_a_condition_and_what_it_compiled_to():
    caller = Caller()
    made = caller.make(CHOICE, TEXT | {"show_when": {"variable": "q1", "op": "eq", "value": "red"}})

    answer = caller.patch(block_path(made, 1), {"show_when": None}).json()

    assert (answer["show_when"], answer["precondition"]) == (None, None)


def test_faults_of_one_block_are_told_without_a_path():
    caller = Caller()
    made = caller.make(CHOICE)

    answer = caller.patch(
        block_path(made), {"options": [{"value": ""}, {"value": "b"}], "color": "red", "min": 3, "nobody": 1}
    )

    assert {("options[0].value", "blank"), ("color", "invalid"), ("min", "not_allowed")} <= faults(answer)


# --- The outro ----------------------------------------------------------------------------------------


def test_the_missing_id_of_an_outro_block_is_told_before_all_else():
    caller = Caller()
    blocks = [{"type": "sonnet", "prompt": ""}, SAYING | {"section": "outro"}]

    answer = caller.put(path_of(caller.make(TEXT)), {"blocks": blocks}).json()

    assert answer["message"] == "section='outro' requires id for update"
    assert len(answer["violations"]) == 2


@pytest.mark.parametrize("by", ["put script", "put block", "patch block"])
def test_presentation_of_the_outro_can_change_and_nothing_else(by):
    caller = Caller()
    made = caller.make(TEXT)
    outro = outro_of(caller, made)
    sent = outro | {
        "prompt": "Bye!",
        "image_url": PICTURE,
        "name": "other",
        "type": "open_text",
    }

    if by == "put script":
        answer = caller.put(path_of(made), {"blocks": [made["script"]["blocks"][0], sent]})
    else:
        answer = caller.call(by.split()[0], f"{path_of(made)}/blocks/{outro['id']}", sent)

    assert answer.status_code == 200
    assert outro_of(caller, made) == outro | {"prompt": "Bye!", "image_url": PICTURE}


def test_a_script_without_its_outro_keeps_it():
    caller = Caller()
    made = caller.make(TEXT)
    outro = outro_of(caller, made)

    caller.put(path_of(made), {"blocks": [TEXT, TEXT]})

    assert outro_of(caller, made) == outro | {"position": 2}


def test_an_outro_cannot_be_made_of_another_block():
    caller = Caller()
    made = caller.make(TEXT)
    (block,) = made["script"]["blocks"]

    put = caller.put(path_of(made), {"blocks": [block | {"section": "outro"}]})
    patch = caller.patch(block_path(made), {"section": "outro"})

    assert ("blocks[0].id", "not_found") in faults(put)
    assert ("section", "not_allowed") in faults(patch)


def test_an_outro_prompt_is_never_blank():
    caller = Caller()
    made = caller.make(TEXT)

    answer = caller.patch(f"{path_of(made)}/blocks/{outro_of(caller, made)['id']}", {"prompt": " "})

    assert faults(answer) == {("prompt", "blank")}


@pytest.mark.parametrize("by", ["put script", "patch block"])
def test_an_outro_that_pauses_says_for_how_long(by):
    caller = Caller()
    made = caller.make(TEXT)
    outro = outro_of(caller, made)

    def pause(**seconds):
        change = {"continue": {"after": "pause", **seconds}}
        if by == "patch block":
            return caller.patch(f"{path_of(made)}/blocks/{outro['id']}", change)
        return caller.put(path_of(made), {"blocks": [*made["script"]["blocks"], outro | change]})

    path = "" if by == "patch block" else "blocks[1]."
    assert faults(pause()) == {(f"{path}continue.pause", "required")}
    assert faults(pause(pause=301)) == {(f"{path}continue.pause", "too_large")}
    assert pause(pause=5).status_code == 200
    assert outro_of(caller, made)["continue"] == {"after": "pause", "pause": 5, "label": None}


# --- While active -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "is_wording"),
    [
        ({"prompt": "New words?"}, True),
        ({"image_url": PICTURE}, True),
        ({"required": True}, False),
        ({"name": "other"}, False),
        ({"precondition": "true"}, False),
        ({"type": "open_numeric"}, False),
    ],
)
def test_while_active_wording_may_change_and_structure_may_not(change, is_wording):
    caller = Caller()
    made = caller.make_open(TEXT | {"name": "Why"}, TEXT)

    answer = caller.patch(block_path(made), change)

    assert answer.status_code == (200 if is_wording else 409)
    if not is_wording:
        assert answer.json()["error"] == "conflict"
        assert answer.json()["violations"]


def on_the_web(*blocks):
    """A caller, and an open project of theirs."""
    caller = Caller()
    made = caller.make(*blocks)
    caller.post(f"/projects/{made['id']}/open", {"delivery": {"audience": {"participation": "open_web"}}})
    return caller, made


def test_while_active_blocks_and_options_come_and_do_not_go():
    """Rule 2.10."""
    caller = Caller()
    made = caller.make_open(TEXT, CHOICE | {"required": True})
    text, choice = made["script"]["blocks"]
    turned = [{"id": option["id"], "value": option["value"]} for option in choice["options"][::-1]]
    more = choice | {"options": [{"value": "violet"}, *turned], "required": False}

    for sent in ([text], [text, choice | {"options": choice["options"][:1]}]):
        assert refusal(caller.put(path_of(made), {"blocks": sent})) == (409, "conflict")
    assert caller.get(path_of(made)).json()["blocks"] == [text, choice]
    assert caller.put(path_of(made), {"blocks": [text, TEXT, more]}).status_code == 200
    _, new, stored = caller.get(path_of(made)).json()["blocks"]
    values = [option["value"] for option in more["options"]]
    assert ([option["value"] for option in stored["options"]], stored["required"]) == (values, False)
    assert caller.put(path_of(made), {"blocks": [text, stored]}).status_code == 409
    assert refusal(caller.patch(block_path(made, 1), {"required": True})) == (409, "conflict")
    assert new["id"] not in (text["id"], choice["id"])


def test_while_active_blocks_move_until_a_respondent_has_seen_them():
    """Rule 2.12."""
    caller, made = on_the_web(TEXT, TEXT, TEXT, TEXT)

    def moved(order):
        blocks = caller.get(path_of(made)).json()["blocks"]
        sent = [blocks[n] | {"position": None} for n in order]
        return caller.put(path_of(made), {"blocks": sent}).status_code

    assert moved([0, 2, 1, 3]) == 200
    begun = caller.post(f"/projects/{made['id']}/conversations", {}).json()
    caller.post(
        f"/conversations/{begun['id']}/answers", {"block_id": begun["step"]["block"]["id"], "value": "a"}
    )
    assert moved([1, 0, 2, 3]) == 409  # passed
    assert moved([0, 2, 1, 3]) == 409  # the respondent is at the second one
    assert moved([0, 1, 3, 2]) == 200


def test_a_conversation_that_has_begun_goes_on_with_the_new_script():
    """Rule 2.20."""
    caller, made = on_the_web(TEXT, CHOICE)
    begun = caller.post(f"/projects/{made['id']}/conversations", {}).json()
    answers = f"/conversations/{begun['id']}/answers"
    at_choice = caller.post(answers, {"block_id": begun["step"]["block"]["id"], "value": "a"}).json()
    text, choice = made["script"]["blocks"]
    more = choice | {"options": [*choice["options"], {"value": "violet", "display_order": 9}]}
    caller.put(path_of(made), {"blocks": [TEXT, text, more, TEXT | {"prompt": "And?"}]})
    _, _, stored, _ = caller.get(path_of(made)).json()["blocks"]
    vote = {"block_id": choice["id"], "option_ids": [stored["options"][-1]["id"]]}

    assert at_choice["step"]["block"]["id"] == choice["id"]
    assert caller.post(answers, vote).json()["step"]["block"]["prompt"] == "And?"


@pytest.mark.parametrize("change", [{"name": "shade"}, {"type": "multi_punch"}])
def test_while_active_a_change_of_structure_is_a_conflict_even_where_it_breaks_a_reference(change):
    caller = Caller()
    made = caller.make_open(CHOICE | {"name": "colour"}, TEXT | {"precondition": 'colour = "red"'})

    assert refusal(caller.patch(block_path(made), change)) == (409, "conflict")


def test_while_active_labels_may_change_and_values_may_not():
    caller = Caller()
    made = caller.make_open(CHOICE)
    options = made["script"]["blocks"][0]["options"]

    label = caller.patch(block_path(made), {"options": [options[0] | {"label": "Rouge"}, *options[1:]]})
    value = caller.patch(block_path(made), {"options": [options[0] | {"value": "rouge"}, *options[1:]]})

    assert (label.status_code, refusal(value)) == (200, (409, "conflict"))


def test_a_pending_opening_freezes_nothing_yet():
    caller = Caller()
    made = caller.make(TEXT)
    delivery = {"opening": {"mode": "scheduled", "time": "2999-01-01T00:00:00Z"}}
    caller.post(f"/projects/{made['id']}/open", {"delivery": delivery})

    assert caller.put(path_of(made), {"blocks": [TEXT, TEXT]}).status_code == 200
