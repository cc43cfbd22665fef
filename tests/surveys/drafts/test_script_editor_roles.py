"""Refusals of the script editor's addresses, and its pages for people who may only read."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from communities.models import User
from surveys.models import ScriptDraft
from tests.support.caller import TEXT, Caller
from tests.support.staff import Staff, send, signed_in
from tests.support.surveys.project_tabs import editor_state

pytestmark = pytest.mark.django_db

# Address below the project: method and body. The permitted roles are in the tables of `tests.support.access`.
ACTIONS: dict[str, tuple[str, str, Any]] = {
    "keep": ("put", "script/draft/", {"blocks": [TEXT], "revision": 1, "version": None}),
    "save": ("post", "script/save/", {"version": 1}),
    "duplicate": ("post", "script/duplicate/", None),
    "export": ("get", "script/export/", None),
    "logic": ("post", "script/logic/", {"text": "q1 = 1"}),
    "archived": ("get", "script/archived/", None),
    "answers": ("get", "script/blocks/{block}/answers/", None),
}


class Scene:
    """A project with its creator, and a browser for each of three roles."""

    def __init__(self) -> None:
        self.caller = Caller()
        author = self.caller.beside("creator")
        self.made = author.make(TEXT)
        community = self.caller.community
        self.browsers: dict[str, Client] = {
            "admin": Staff(community=community).client,
            "creator at own": Staff("creator", community=community, user=author.user).client,
            "creator at another's": Staff("creator", community=community)
            .given("read", int(self.made["id"]))
            .client,
        }

    def act(self, action: str, role: str) -> Any:
        method, place, body = ACTIONS[action]
        block = self.made["script"]["blocks"][0]["id"]
        path = f"/admin/surveys/project/{self.made['id']}/{place.format(block=block)}"
        return send(self.browsers[role], method, path, body)


@pytest.mark.parametrize("action", ACTIONS)
def test_other_methods_are_refused_in_json(action):
    here = Scene()
    place = ACTIONS[action][1].format(block=1)

    answered = send(here.browsers["admin"], "patch", f"/admin/surveys/project/{here.made['id']}/{place}", {})

    assert (answered.status_code, answered.json()["error"]) == (405, "method_not_allowed")


def test_a_reader_sees_the_script_and_no_draft_of_anybody():
    here = Scene()
    here.act("keep", "admin")
    user = User.objects.get(pk=here.browsers["creator at another's"].session["_auth_user_id"])

    state = editor_state(signed_in(user), here.made["id"])

    assert (state["may_edit"], state["draft"], state["answered"]) == (False, None, [])
    assert [block["name"] for block in state["script"]["blocks"]] == ["q0", "thank_you"]
    assert ScriptDraft.objects.count() == 1


def test_a_copy_belongs_to_who_made_it():
    here = Scene()

    copied = here.act("duplicate", "creator at another's").json()

    assert here.browsers["creator at another's"].get(copied["url"]).status_code == 200
    path = copied["url"] + "draft/"
    kept = send(here.browsers["creator at another's"], "put", path, ACTIONS["keep"][2])
    assert kept.status_code == 200
    assert send(here.browsers["creator at own"], "put", path, ACTIONS["keep"][2]).status_code == 404


def test_readers_are_told_in_json_that_they_may_not_edit():
    answered = Scene().act("save", "creator at another's")

    assert (answered.status_code, answered.json()["error"]) == (403, "forbidden")


@pytest.mark.parametrize(("token", "status"), [("", 403), ("right", 200)])
def test_requests_need_the_token_of_the_page(token, status):
    caller = Caller()
    made = caller.make(TEXT)
    client = signed_in(Staff(community=caller.community).user, enforce_csrf_checks=True)
    page = client.get(f"/admin/surveys/project/{made['id']}/script/")
    sent = page.context["csrf_token"] if token else ""

    answered = send(
        client,
        "put",
        f"/admin/surveys/project/{made['id']}/script/draft/",
        ACTIONS["keep"][2],
        **{"X-CSRFToken": str(sent)},
    )

    assert answered.status_code == status
    assert answered.json().get("error") == (None if token else "forbidden")
