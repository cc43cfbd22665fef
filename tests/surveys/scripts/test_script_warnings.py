"""Warnings about a script are returned wherever the script is returned."""

import pytest

from tests.support.caller import CHOICE, TEXT, Caller
from xp.services import achievements

pytestmark = pytest.mark.django_db

ACTION = {"type": "action_block", "name": "prize", "prompt": "Here."}
XP = ACTION | {"action_kind": "give_xp", "action_config": {"xp_amount": 5}}
BADGE = ACTION | {"action_kind": "give_achievement", "action_config": {"xp_role_id": 3}}
WEIGHTED = CHOICE | {"options": [{"value": "red", "score_values": {"mage": 1}}, {"value": "green"}]}


def path_of(made):
    return f"/projects/{made['id']}/script"


def codes(script):
    return [each["code"] for each in script["warnings"]]


def read(caller, made):
    return codes(caller.get(path_of(made)).json())


def test_a_script_has_warnings_wherever_it_is_told():
    caller = Caller()
    made = caller.make(TEXT, WEIGHTED)

    put = caller.put(path_of(made), {"blocks": [TEXT, WEIGHTED]}).json()
    got = caller.get(path_of(made)).json()

    assert codes(made["script"]) == codes(put) == codes(got) == ["scores_ignored"]
    assert got["warnings"] == put["warnings"]
    (warning,) = got["warnings"]
    assert set(warning) == {"field", "block_id", "block_name", "code", "message"}
    assert (warning["field"], warning["block_id"]) == ("blocks[1].options", got["blocks"][1]["id"])


def test_warnings_that_are_sent_back_are_passed_over():
    caller = Caller()
    made = caller.make(WEIGHTED)

    put = caller.put(path_of(made), caller.get(path_of(made)).json())
    posted = caller.post(
        "/projects", {"name": "N", "type": "convo", "script": made["script"] | {"blocks": []}}
    )

    assert "X-Ignored-Fields" not in put.headers
    assert "X-Ignored-Fields" not in posted.headers


def test_warnings_follow_the_projects_rewards_and_privacy():
    caller = Caller()
    made = caller.make(CHOICE | {"name": "colour"}, XP | {"precondition": 'colour = "red"'})
    told = [read(caller, made)]

    for change in ({"rewards": {"use_xp": True}}, {"privacy_mode": "anonymous"}, {"rewards": None}):
        assert caller.patch(f"/projects/{made['id']}", change).status_code == 200
        told.append(read(caller, made))

    assert told == [[], ["double_award"], ["double_award", "tells_the_answers"], ["tells_the_answers"]]


def test_an_achievement_is_unknown_until_somebody_describes_it():
    caller = Caller()
    made = caller.make(TEXT, BADGE)
    before = read(caller, made)

    achievements.define(community_id=Caller().community.pk, number=3, name="Elsewhere")
    still = read(caller, made)
    achievements.define(community_id=caller.community.pk, number=3, name="Champion")

    assert codes(made["script"]) == before == still == ["unknown_achievement"]
    assert read(caller, made) == []


def test_a_formula_with_an_unknown_name_is_told():
    caller = Caller()
    formula = {"type": "calculated_block", "prompt": "", "calculated_formula": "[colour] + [color]"}

    made = caller.make(CHOICE | {"name": "colour"}, formula)

    (warning,) = made["script"]["warnings"]
    assert (warning["field"], warning["code"]) == ("blocks[1].calculated_formula", "unknown_variable")


@pytest.mark.django_db(transaction=True)
def test_achievements_are_asked_for_only_where_a_script_grants_some(django_assert_num_queries):
    caller = Caller()
    plain, granting = caller.make(TEXT, XP), caller.make(TEXT, BADGE)
    caller.get("/projects")

    for made, statements in ((plain, 2), (granting, 3)):
        with django_assert_num_queries(statements):  # the project, its script, achievements
            first = caller.get(path_of(made))
        with django_assert_num_queries(statements - 1):
            again = caller.get(path_of(made))
        assert first.content == again.content
