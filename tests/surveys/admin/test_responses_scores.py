"""The scores in the list of responses, and their readers."""

import re

import pytest

from surveys.models import Project
from tests.support import caller as api
from tests.support.caller import Caller
from tests.support.surveys import scenario
from tests.support.surveys.project_tabs import client_as, look, superuser

pytestmark = pytest.mark.django_db


@pytest.fixture(scope="module")
def client(kept_rows):
    return superuser()


def answered(made, *said):
    """A response; its id."""
    return scenario.say(scenario.begin(made), *said).conversation.pk


def scored(*blocks, keys=("wit",), **fields):
    """A project of questions worth 2, or 4.5 points, in each of these buckets."""
    worth = [{"value": value, "score_values": dict.fromkeys(keys, n)} for value, n in (("a", 2), ("b", 4.5))]
    survey = Caller().make_open({**api.CHOICE, "options": worth}, *blocks, scoring_enabled=True, **fields)
    Project.objects.filter(pk=survey["id"]).update(participation="open_web")
    return Project.objects.get(pk=survey["id"])


def cells(shown, label):
    """The cells of one column, as their readers see them."""
    found = re.findall(rf'<td data-label="{label}"[^>]*>(.*?)</td>', shown, re.S)
    return [" ".join(re.sub(r"<[^>]+>", " ", each).split()) for each in found]


@pytest.mark.parametrize("privacy_mode", ["semi-private", "anonymous"])
def test_the_list_tells_the_score_of_each_response_so_far(client, privacy_mode):
    made = scored(api.TEXT, privacy_mode=privacy_mode)
    answered(made, 0)
    answered(made, 1, "done")

    assert sorted(cells(look(client, made, page="responses"), "Score")) == ["2 of 4.5", "4.5 of 4.5"]


@pytest.mark.parametrize(
    ("keys", "buckets"),
    [("ab", "A 2 · B 2"), ("abc", "A 2 · B 2 · C 2"), ("abcd", "A 2 · B 2 · C 2 …")],
)
def test_the_list_tells_the_points_of_the_first_buckets(client, keys, buckets):
    made = scored(keys=keys)
    answered(made, 0)

    total = f"{2 * len(keys)} of {len(keys) * 4.5:g}"
    assert cells(look(client, made, page="responses"), "Score") == [f"{total} {buckets}"]


def test_a_member_is_told_no_scores_in_the_list():
    made = scored(privacy_mode="transparent")
    Project.objects.filter(pk=made.pk).update(community=scenario.community())
    answered(made, 0)

    shown = {role: look(client_as(role, made), made, page="responses") for role in ("creator", "member")}

    assert cells(shown["creator"], "Score") == ["2 of 4.5"]
    assert cells(shown["member"], "Score") == []
