"""A title that neighbouring questions share: what is refused, and where it stands (rules 3.123 and 6.137)."""

import pytest

from tests.support.caller import CHOICE, TEXT, Caller, faults

pytestmark = pytest.mark.django_db

OPEN = {"audience": {"participation": "open_web"}}
ROW = CHOICE | {"group": "Colours"}
RATING = {"type": "rating", "prompt": "How good?", "max": 5, "group": "The food"}
LABELS = {"scale": {"label_left": "Bad"}}


def write(caller, *blocks):
    return caller.post("/projects", {"name": "A", "type": "convo", "script": {"blocks": list(blocks)}})


@pytest.mark.parametrize(
    "blocks",
    [
        [ROW, ROW, TEXT],
        [ROW],  # the others may be written later
        [ROW | {"group": "Other colours"}, ROW, CHOICE],
        [RATING, RATING | {"max": None}],
        [RATING | LABELS, RATING | LABELS, ROW | {"type": "multi_punch", "group": "Several"}],
    ],
)
def test_neighbours_with_equal_answers_share_a_title(blocks):
    """Rule 3.123."""
    made = write(Caller(), *blocks)

    assert made.status_code == 201, made.content
    read = [block["group"] for block in made.json()["script"]["blocks"]]
    assert read == [block.get("group") for block in blocks]


@pytest.mark.parametrize(
    ("blocks", "words"),
    [
        ([ROW, TEXT, ROW], "other blocks stand between them"),
        ([ROW, CHOICE, ROW], "other blocks stand between them"),
        ([ROW, RATING, ROW], "other blocks stand between them"),
        ([ROW, RATING | {"group": "Colours"}], "the same `type`"),
        ([ROW, ROW | {"options": ROW["options"][:2]}], "the same `options`"),
        ([ROW, ROW | {"options": ROW["options"][::-1]}], "the same `options`"),
        ([RATING, RATING | {"max": 4}], "the same `max`"),
        ([RATING, RATING | LABELS], "the same `scale`"),
    ],
)
def test_anything_else_is_refused_at_the_later_block(blocks, words):
    """Rule 3.123."""
    refused = write(Caller(), *blocks)

    last = len(blocks) - 1
    assert (refused.status_code, faults(refused)) == (400, {(f"script.blocks[{last}].group", "conflicting")})
    assert words in refused.json()["message"]


@pytest.mark.parametrize(
    ("block", "code"),
    [
        (TEXT | {"group": "A"}, "not_allowed"),
        (ROW | {"group": "x" * 201}, "too_long"),
        (ROW | {"group": 5}, "invalid_type"),
    ],
)
def test_a_title_belongs_to_choices_and_scales_and_is_short(block, code):
    refused = write(Caller(), block)

    assert faults(refused) == {("script.blocks[0].group", code)}


@pytest.mark.parametrize(
    ("rows", "row"),
    [
        (10, ROW | {"options": [{"value": str(n)} for n in range(100)]}),
        (100, RATING | {"type": "opinion_scale", "min": 1, "max": 10}),
    ],
)
def test_the_rows_of_a_group_have_at_most_1000_options_together(rows, row):
    """Rule 6.139."""
    blocks = [row] * rows

    assert write(Caller(), *blocks).status_code == 201
    assert write(Caller(), *blocks, row | {"group": "Next"}).status_code == 201
    refused = write(Caller(), *blocks, row, row)
    assert (refused.status_code, faults(refused)) == (400, {(f"script.blocks[{rows}].group", "too_many")})


def test_one_block_alone_cannot_leave_its_group_behind():
    """Rule 3.123."""
    caller = Caller()
    made = caller.make(ROW | {"group": "x" * 200}, ROW | {"group": "x" * 200})
    path = f"/projects/{made['id']}/script/blocks/{made['script']['blocks'][1]['id']}"

    refused = caller.patch(path, {"options": [{"value": "black"}]})

    assert faults(refused) == {("group", "conflicting")}
    assert caller.patch(path, {"options": [{"value": "black"}], "group": None}).status_code == 200


def test_a_title_changes_while_the_project_is_active():
    """Rule 3.123."""
    caller = Caller()
    made = caller.make_open(ROW, delivery=OPEN)
    path = f"/projects/{made['id']}/script/blocks/{made['script']['blocks'][0]['id']}"

    assert caller.patch(path, {"group": "Paints"}).json()["group"] == "Paints"
    told = caller.post(f"/projects/{made['id']}/conversations", {}).json()
    assert told["step"]["block"]["group"] == "Paints"
