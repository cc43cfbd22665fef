"""Projects with rewards, created like the interface creates them (with a real outro), and their earners."""

from __future__ import annotations

from typing import Any

from communities.models import Member
from surveys.models import Project
from surveys.services.projects import opening
from surveys.services.projects import service as projects
from tests.support.actors import superuser_actor
from tests.support.moments import LUNCHTIME
from tests.support.surveys import scenario
from tests.support.surveys.visitor import Visitor

QUESTION: dict[str, Any] = {
    "type": "single_punch",
    "name": "colour",
    "prompt": "Which colour?",
    "required": True,
    "options": [{"value": "red"}, {"value": "green"}],
}
OPEN_WEB = {"participation": "open_web"}
PRIVATE = {"participation": "private"}


def giving(kind: str = "give_xp", *, prompt: str = "Here you are.", **config: Any) -> dict[str, Any]:
    """An action block; its picture is `image_url`."""
    block = {"type": "action_block", "prompt": prompt, "action_kind": kind}
    if "image_url" in config:
        block["image_url"] = config.pop("image_url")
    return {**block, "action_config": config}


def project(*blocks: dict[str, Any], audience: dict[str, str] = PRIVATE, **fields: Any) -> Project:
    """An open project; only for members unless `audience` is given."""
    author = superuser_actor(community_id=scenario.community().pk)
    made = projects.create_project(
        actor=author,
        fields={"name": "What do you think?", "type": "convo", "privacy_mode": "transparent", **fields},
        script={"blocks": list(blocks)},
        at=LUNCHTIME,
    )
    return opening.open_project(
        actor=author,
        project_id=made.project.pk,
        fields={"delivery": {"audience": audience}},
        at=LUNCHTIME,
    )


def signed_in(made: Project, member: Member | None = None, **how: Any) -> Visitor:
    """A member at the project's page who has not answered yet."""
    visitor = Visitor(made, **how)
    visitor.client.force_login((member or scenario.member()).user)
    return visitor.look()


def option(made: Project, name: str = "colour", place: int = 0) -> int:
    block = next(block for block in scenario.script(made).blocks if block.name == name)
    found = block.options[place].id
    assert isinstance(found, int)
    return found
