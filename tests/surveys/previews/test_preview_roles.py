"""Who may see a preview, and start a draft from something."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from tests.support.caller import TEXT, Caller
from tests.support.staff import Staff, send

pytestmark = pytest.mark.django_db

# Address below the script: method, body, and status for: editors, a creator at another's project.
ACTIONS: dict[str, tuple[str, str, Any, int, int]] = {
    "look": ("get", "preview/", None, 200, 200),
    "state": ("get", "preview/state/", None, 200, 200),
    "restart": ("post", "preview/restart/", {"at": None}, 200, 200),
    "generate": ("post", "generate/", {"template": "general-survey"}, 200, 403),
    "job": ("get", "generate/1/", None, 404, 403),
    "cancel": ("delete", "generate/1/", None, 404, 403),
    "templates": ("get", "templates/", None, 200, 403),
    "projects": ("get", "projects/", None, 200, 403),
}


class Scene:
    """A project of a creator, and browsers of everybody else."""

    def __init__(self) -> None:
        self.caller = Caller()
        author = self.caller.beside("creator")
        community = self.caller.community
        self.made = author.make(TEXT)
        self.editors = {
            "admin": Staff(community=community).client,
            "creator at own": Staff("creator", community=community, user=author.user).client,
            "superuser": Staff("superuser").client,
        }
        self.reader = Staff("creator", community=community).client
        self.strangers = {
            "member": Staff("member", community=community).client,
            "foreign admin": Staff(community=Caller().community).client,
            "staff of none": Staff("none").client,
        }

    def act(self, action: str, client: Client, *, project_id: object = None) -> Any:
        method, place, body, *_ = ACTIONS[action]
        return send(
            client, method, f"/admin/surveys/project/{project_id or self.made['id']}/script/{place}", body
        )


@pytest.mark.parametrize("action", ACTIONS)
def test_everybody_may_do_what_their_role_allows(action):
    scene = Scene()
    for role, client in scene.editors.items():
        assert (role, scene.act(action, client).status_code) == (role, ACTIONS[action][3])
    assert scene.act(action, scene.reader).status_code == ACTIONS[action][4]


@pytest.mark.parametrize("action", ACTIONS)
def test_for_all_others_the_project_is_not_there(action):
    scene = Scene()
    for role, client in scene.strangers.items():
        answered, absent = scene.act(action, client), scene.act(action, client, project_id=999_999_999)
        assert (role, answered.status_code, absent.status_code) == (role, 404, 404)


@pytest.mark.parametrize("action", ACTIONS)
def test_without_a_sign_in_nothing_is_told(action):
    scene = Scene()
    answered = scene.act(action, Client())

    assert answered.status_code == (302 if action == "look" else 401)
    assert b"Why?" not in answered.content


def test_a_form_of_another_site_moves_nothing():
    scene = Scene()
    client = Client(enforce_csrf_checks=True)
    client.force_login(Staff(community=scene.caller.community).user)

    refused = client.post(f"/admin/surveys/project/{scene.made['id']}/script/preview/", {"do": "again"})

    assert refused.status_code == 403
