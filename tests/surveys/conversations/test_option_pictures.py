"""Pictures on the options of choices and rankings (rules 3.155, 3.156 and 6.151)."""

import re

import pytest

from communities.models import Picture
from communities.services.pictures import copies, places
from surveys.models import Project
from tests.support.caller import CHOICE, TEXT, Caller, faults
from tests.support.pictures import copied, foreign_pictures
from tests.support.surveys.participants import Talk
from tests.support.surveys.visitor import Visitor

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("redis")]

KNIGHT, ROOK = "https://author.example/knight.png", "https://author.example/rook.png"
ON_WEB = {"audience": {"participation": "open_web"}}
PIECES = {
    **CHOICE,
    "name": "piece",
    "options": [
        {"value": "knight", "image_url": KNIGHT, "image_alt": "A horse's head"},
        {"value": "rook", "image_url": ROOK},
        {"value": "pawn"},
    ],
}


@pytest.fixture
def caller():
    return Caller()


def pictured(count):
    return [{"value": f"{n}", "image_url": f"https://author.example/{n}.png"} for n in range(count)]


def post(caller, *blocks):
    return caller.post("/projects", {"name": "x", "type": "convo", "script": {"blocks": list(blocks)}})


@pytest.mark.parametrize(
    ("block", "field", "code"),
    [
        ({"type": "rating", "prompt": "?", "options": pictured(1)}, "options[0].image_url", "not_allowed"),
        ({**CHOICE, "options": pictured(31)}, "options[30].image_url", "too_many"),
        (
            {**CHOICE, "options": [{"value": "a", "image_url": "http://a.example/a"}]},
            "options[0].image_url",
            "invalid",
        ),
        (
            {**CHOICE, "options": [{"value": "a", "image_url": "https://127.0.0.1/a"}]},
            "options[0].image_url",
            "not_allowed",
        ),
        ({**CHOICE, "options": [{"value": "a", "image_alt": "x" * 501}]}, "options[0].image_alt", "too_long"),
    ],
)
def test_pictures_that_an_option_cannot_have_are_refused(caller, block, field, code):
    assert (f"script.blocks[0].{field}", code) in faults(post(caller, block))


def test_a_script_has_a_bounded_number_of_pictures_on_options(caller):
    blocks = [{**CHOICE, "options": pictured(30)} for _ in range(6)]

    assert post(caller, *blocks, {**CHOICE, "options": pictured(20)}).status_code == 201
    assert faults(post(caller, *blocks, {**CHOICE, "options": pictured(21)})) == {
        ("script.blocks", "too_many")
    }


def test_pictures_are_fetched_and_kept_while_an_option_has_them(caller):
    made = caller.make(PIECES)

    assert set(Picture.objects.values_list("address", flat=True)) == {KNIGHT, ROOK}
    assert {place for each in places.all_places() for place in each.columns} >= {"surveys_option.image_url"}
    block = made["script"]["blocks"][0]
    assert [option["image_alt"] for option in block["options"]] == ["A horse's head", None, None]


def test_a_step_has_our_copies_and_pictures_may_change_while_open(caller):
    made = caller.make_open(PIECES, delivery=ON_WEB, settings={"privacy_mode": "anonymous"})
    copied(caller.community.pk, KNIGHT)

    seen = Talk(caller, made).block["options"]

    assert seen[0]["image_url"] == copies.in_community(caller.community.pk, [KNIGHT])[KNIGHT].url
    assert "author.example" not in str(seen)
    assert seen[0]["image_alt"] == "A horse's head"
    assert seen[1]["image_url"] is None
    assert "image_url" not in seen[2]
    block = made["script"]["blocks"][0]
    options = [option | {"image_url": None} for option in block["options"]]
    path = f"/projects/{made['id']}/script/blocks/{block['id']}"
    assert caller.patch(path, {"options": options}).status_code == 200


@pytest.mark.parametrize("type", ["single_punch", "multi_punch", "ranking"])
def test_a_page_draws_cards_with_our_copies_and_a_label_where_there_is_none(settings, caller, type):
    settings.LEAST_SECONDS_TO_FIRST_ANSWER = 0
    made = caller.make_open({**PIECES, "type": type}, TEXT, delivery=ON_WEB)
    copied(caller.community.pk, KNIGHT)
    project = Project.objects.get(pk=int(made["id"]))

    visitor = Visitor(project).look()

    assert len(re.findall(r'<img class="option-picture"', visitor.page)) == 1
    assert visitor.has_control(r'<img class="option-picture" src="/[^"]+" alt="A horse\'s head"')
    assert foreign_pictures(visitor.page) == []
    assert all(value in visitor.page for value in ("knight", "rook", "pawn"))
