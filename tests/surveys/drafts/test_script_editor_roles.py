"""Every address of the script editor, for everybody who may come."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from communities.models import User
from surveys.models import ScriptDraft
from tests.factories import UserFactory
from tests.support.caller import TEXT, Caller
from tests.support.database import taken_back
from tests.support.staff import Staff, send, signed_in
from tests.support.surveys.project_tabs import editor_state

pytestmark = pytest.mark.django_db

# Address below the project: method, body, and status for: own and any editor, a creator at another's.
ACTIONS: dict[str, tuple[str, str, Any, int, int]] = {
    "page": ("get", "script/", None, 200, 200),
    "keep": ("put", "script/draft/", {"blocks": [TEXT], "revision": 1, "version": None}, 200, 403),
    "discard": ("delete", "script/draft/", None, 204, 403),
    "save": ("post", "script/save/", {"version": 1}, 409, 403),
    "duplicate": ("post", "script/duplicate/", None, 201, 201),
    "export": ("get", "script/export/", None, 200, 200),
    "logic": ("post", "script/logic/", {"text": "q1 = 1"}, 200, 200),
    "flow": ("post", "script/flow/", {}, 200, 200),
    "answers": ("get", "script/blocks/{block}/answers/", None, 200, 403),
}
EDITORS = ("admin", "creator at own", "superuser")
STRANGERS = ("member", "foreign admin", "staff of none")


class Scene:
    """A project with its creator, and a browser for each role."""

    def __init__(self, *, is_open: bool = False) -> None:
        self.caller = Caller()
        author = self.caller.beside("creator")
        self.made = (author.make_open if is_open else author.make)(TEXT)
        community = self.caller.community
        self.browsers: dict[str, Client] = {
            "admin": Staff(community=community).client,
            "creator at own": Staff("creator", community=community, user=author.user).client,
            "creator at another's": Staff("creator", community=community).client,
            "member": Staff("member", community=community).client,
            "foreign admin": Staff(community=Caller().community).client,
            "staff of none": Staff("none").client,
            "superuser": Staff("superuser").client,
            "anonymous": Client(),
            "visitor": signed_in(UserFactory.create()),
        }

    def act(self, action: str, role: str, *, project_id: object = None) -> Any:
        method, place, body, *_ = ACTIONS[action]
        block = self.made["script"]["blocks"][0]["id"]
        path = f"/admin/surveys/project/{project_id or self.made['id']}/{place.format(block=block)}"
        return send(self.browsers[role], method, path, body)


@pytest.mark.parametrize("action", ACTIONS)
def test_editors_may_do_everything_with_a_project(action):
    here = Scene()
    for role in EDITORS:
        with taken_back():
            assert (role, here.act(action, role).status_code) == (role, ACTIONS[action][3])


@pytest.mark.parametrize("action", ACTIONS)
def test_creators_read_the_scripts_of_others_and_may_copy_them(action):
    answered = Scene().act(action, "creator at another's")

    assert answered.status_code == ACTIONS[action][4]
    if answered.status_code == 403:
        assert answered.json()["error"] == "forbidden"


@pytest.mark.parametrize("is_open", [False, True])
@pytest.mark.parametrize("action", ACTIONS)
def test_for_all_others_the_project_is_not_there(action, is_open):
    here = Scene(is_open=is_open)
    for role in STRANGERS:
        answered, absent = here.act(action, role), here.act(action, role, project_id=999_999_999)

        assert (role, answered.status_code) == (role, 404)
        if action != "page":
            assert answered.json() == {"error": "not_found", "message": "There is no such project."}
        assert answered.content == absent.content


@pytest.mark.parametrize("action", ACTIONS)
def test_who_is_not_signed_in_as_staff_is_asked_to(action):
    here = Scene()
    for role in ("anonymous", "visitor"):
        answered = here.act(action, role)

        if action == "page":
            assert (answered.status_code, answered["Location"].split("?")[0]) == (302, "/admin/login/")
        else:
            assert (answered.status_code, answered.json()["error"]) == (401, "signed_out")


@pytest.mark.parametrize("action", [action for action in ACTIONS if action != "page"])
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
    assert send(here.browsers["creator at own"], "put", path, ACTIONS["keep"][2]).status_code == 403


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
