"""Turning scoring on or off beside a draft changes no script and causes no collision."""

from __future__ import annotations

from typing import Any

import pytest

from surveys.services.scripts import cache
from tests.support.caller import CHOICE, Caller
from tests.support.staff import Staff
from tests.support.surveys.project_tabs import editor_state
from tests.support.surveys.script_paths import path_of

pytestmark = pytest.mark.django_db

POINTS = CHOICE | {"options": [{"value": "red", "score_values": {"score": 3}}, {"value": "green"}]}


class Desk:
    """A creator's editor of one project, as opened: with the fingerprint of the script that it shows."""

    def __init__(self, *blocks: Any, **fields: Any) -> None:
        self.caller = Caller()
        self.made = self.caller.make(*blocks, **fields)
        self.staff = Staff(community=self.caller.community)
        self.path = f"/admin/surveys/project/{self.made['id']}/script/"
        self.opened = self.state

    @property
    def state(self) -> dict[str, Any]:
        return editor_state(self.staff.client, self.made["id"])

    def keep(self, **changes: Any) -> int:
        block, *others = self.opened["script"]["blocks"]
        kept = self.staff.send(
            "put",
            f"{self.path}draft/",
            {
                "blocks": [{**block, **changes}, *others],
                "revision": self.opened["revision"],
                "fingerprint": self.opened["fingerprint"],
                "version": None,
            },
        )
        assert kept.status_code == 200, kept.content
        version: int = kept.json()["version"]
        return version

    def save(self, version: int) -> Any:
        return self.staff.send("post", f"{self.path}save/", {"version": version})

    def score(self, *, enabled: bool) -> None:
        answer = self.caller.patch(f"/projects/{self.made['id']}", {"scoring_enabled": enabled})
        assert answer.status_code == 200, answer.content

    def forget(self) -> None:
        """Forget earlier revisions, as another process would never have known them."""
        cache._cache.clear()

    @property
    def stored(self) -> list[dict[str, Any]]:
        return list(self.caller.get(path_of(self.made)).json()["blocks"])


@pytest.mark.parametrize(("when", "enabled"), [("before the first draft", True), ("after it", False)])
def test_scoring_that_is_turned_on_or_off_is_no_collision(when, enabled):
    desk = Desk(POINTS if not enabled else CHOICE, scoring_enabled=not enabled)
    if when == "before the first draft":
        desk.score(enabled=enabled)
        desk.forget()
    version = desk.keep(prompt="Which paint?")
    if when == "after it":
        desk.score(enabled=enabled)
        desk.forget()

    assert desk.state["draft"]["is_behind"] is False
    assert desk.save(version).status_code == 200
    assert desk.stored[0]["prompt"] == "Which paint?"


def test_points_that_come_back_with_scoring_survive_a_draft_from_before():
    desk = Desk(POINTS, scoring_enabled=True)
    desk.score(enabled=False)
    desk.opened = desk.state
    version = desk.keep(prompt="Which paint?")
    desk.score(enabled=True)

    shown = desk.state["draft"]["blocks"][0]["options"]
    assert [option.get("score_values") for option in shown] == [{"score": 3}, None]
    desk.save(version)

    assert [option["score_values"] for option in desk.stored[0]["options"]] == [{"score": 3}, None]


@pytest.mark.parametrize("change", ["a text", "points"])
def test_a_script_that_was_changed_before_the_first_draft_is_told(change):
    desk = Desk(POINTS, scoring_enabled=True)
    block = desk.stored[0]
    options = [option | {"score_values": {"score": 9}} for option in block["options"]]
    theirs = block | ({"prompt": "Theirs?"} if change == "a text" else {"options": options})
    desk.caller.put(path_of(desk.made), {"blocks": [theirs]})
    desk.forget()
    version = desk.keep(prompt="Mine?")

    assert desk.state["draft"]["is_behind"] is True
    refused = desk.save(version)

    assert refused.status_code == 409
    assert refused.json()["collision"]["base"] is None


def test_what_was_just_saved_is_what_the_next_draft_begins_from():
    desk = Desk(POINTS, scoring_enabled=True)
    desk.opened = {**desk.opened, **desk.save(desk.keep(prompt="Which paint?")).json()}
    desk.score(enabled=False)
    desk.forget()

    version = desk.keep(prompt="Which ink?")

    assert desk.save(version).status_code == 200
