"""When a project last changed: kept by the database, listed, and announced (rules 1.41 and 9.6)."""

from __future__ import annotations

import ast
import json
import re
import uuid
from datetime import datetime
from typing import Any

import pytest
from django.db import models
from django.utils import timezone

from communities.models import Community
from surveys.models import Project, ScriptDraft
from surveys.services.drafts import service as drafts
from surveys.services.projects import removal, schedule, sharing
from tests.factories import CommunityFactory, ProjectFactory, UserFactory
from tests.support import our_code
from tests.support.caller import CHOICE, TEXT, Caller
from tests.support.moments import NOON
from webhooks.models import Event

pytestmark = pytest.mark.django_db

HIDDEN = {"updated_at", "was_open_to_web"}  # nothing of them is returned
COLUMNS = [field for field in Project._meta.concrete_fields if not field.primary_key]
LATER = datetime.fromisoformat("2999-01-01T00:00:00Z")


def changed_at(project_id: str | int) -> datetime:
    return Project.with_deleted.values_list("updated_at", flat=True).get(pk=project_id)


def announced(project_id: str | int) -> list[str]:
    """The types of the events about a project, in the order of being written."""
    bodies = [json.loads(event.body or "") for event in Event.objects.order_by("created_at", "pk")]
    return [each["type"] for each in bodies if each["data"].get("project", {}).get("id") == str(project_id)]


def another(field: models.Field[Any, Any], project: Project) -> Any:
    """A value that a column does not have yet."""
    if isinstance(field, models.ForeignKey):
        made = CommunityFactory.create() if field.related_model is Community else UserFactory.create()
        return made.pk
    if isinstance(field, models.UUIDField):
        return uuid.uuid4()
    if isinstance(field, models.JSONField):
        return ["another"]
    if isinstance(field, models.DateTimeField):
        return LATER
    if isinstance(field, models.BooleanField):
        return not getattr(project, field.attname)
    if isinstance(field, models.IntegerField):
        return (getattr(project, field.attname) or 0) + 1
    if field.choices:
        return next(value for value, _ in field.flatchoices if value != getattr(project, field.attname))
    return "another"


def test_every_column_counts_that_readers_see() -> None:
    counted = set()
    for field in COLUMNS:
        project = ProjectFactory.create(updated_at=NOON, opens_at=NOON)
        others = {"opens_at": None} if field.name == "status" else {}
        Project.with_deleted.filter(pk=project.pk).update(
            **{field.attname: another(field, project), **others}
        )
        if changed_at(project.pk) > NOON:
            counted.add(field.name)

    assert counted == {field.name for field in COLUMNS} - HIDDEN


def test_a_write_that_changes_nothing_does_not_count() -> None:
    project = ProjectFactory.create(updated_at=NOON)

    project.save()
    Project.objects.filter(pk=project.pk).update(name=project.name, updated_at=LATER)

    assert changed_at(project.pk) == NOON


def test_a_write_that_changes_nothing_announces_nothing() -> None:
    caller = Caller()
    made = caller.make_open(CHOICE, TEXT, name="Openings")
    path, before = f"/projects/{made['id']}", changed_at(made["id"])
    read, script = caller.get(path).json(), caller.get(f"{path}/script").json()

    for answer in (
        caller.patch(path, {}),
        caller.put(path, read),
        caller.patch(path, {"name": "Openings"}),
        caller.put(f"{path}/script", script),
        caller.patch(f"{path}/script/blocks/{script['blocks'][0]['id']}", {"prompt": CHOICE["prompt"]}),
    ):
        assert answer.status_code == 200, answer.content

    assert announced(made["id"]) == ["project.created", "project.opened"]
    assert changed_at(made["id"]) == before


def test_a_scheduled_opening_counts_at_once_and_is_announced_when_it_takes_place() -> None:
    caller = Caller()
    made = caller.make(TEXT)
    opening = {"mode": "scheduled", "time": "2999-01-01T00:00:00Z"}

    created = changed_at(made["id"])
    caller.post(f"/projects/{made['id']}/open", {"delivery": {"opening": opening}})
    planned = changed_at(made["id"])
    schedule.open_and_close_due(at=LATER)

    assert announced(made["id"]) == ["project.created", "project.opened"]
    assert created < planned < changed_at(made["id"])


def test_what_staff_do_is_announced_too() -> None:
    caller = Caller()
    made = caller.make(TEXT)
    who: dict[str, Any] = {"actor": caller.actor, "project_id": int(made["id"]), "at": timezone.now()}
    sent = [{**block, "key": str(block["id"])} for block in made["script"]["blocks"]]

    sharing.renew_results_address(**who)
    assert announced(made["id"]) == ["project.created", "project.updated"]
    draft = drafts.keep(**who, blocks=[{**sent[0], "prompt": "Which?"}], revision=1, version=None)
    drafts.save(**who, version=draft.version)
    assert announced(made["id"]) == ["project.created", *["project.updated"] * 2]
    removal.delete_for_now(**who)
    removal.restore(**who)
    assert announced(made["id"]) == ["project.created", *["project.updated"] * 3]
    assert not ScriptDraft.objects.exists()


def test_changed_thanks_of_the_community_are_announced() -> None:
    """Rule 1.56."""
    caller = Caller()
    made, own = caller.make(TEXT), caller.make(TEXT)
    [*_, thanks] = caller.get(f"/projects/{own['id']}/script?expand=outro").json()["blocks"]
    caller.patch(f"/projects/{own['id']}/script/blocks/{thanks['id']}", {"prompt": "Our own."})

    changed = {"thank_you_type": "custom", "thank_you_custom_message": "Cheers!"}
    assert caller.patch("/settings", changed).status_code == 200

    assert announced(made["id"]) == ["project.created", "project.updated"]
    assert announced(own["id"]) == ["project.created", "project.updated"]  # by the edit


WRITERS_OF_ROWS = {  # all announce what they change, or are called by what does
    "services/ai_work/generation.py",
    "services/people/merging.py",  # another author: no event
    "services/people/service.py",  # no author any more: `member.erased`
    "services/projects/opening.py",
    "services/projects/removal.py",
    "services/projects/schedule.py",
    "services/projects/script_writes.py",
    "services/projects/service.py",
    "services/projects/sharing.py",
    "services/scripts/editing.py",
}
WRITES_OF_SCRIPTS = {"replace_script", "patch_block", "save_plan", "write_script"}


def test_nothing_else_writes_projects_or_scripts() -> None:
    rows, writers_of_scripts = set(), set()
    for module in our_code.modules(apps=("surveys",)):
        name = module.path.removeprefix("surveys/")
        if re.search(r"UPDATE surveys_project\b", module.source):
            rows.add(name)
        for node in ast.walk(module.tree):
            if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
                continue
            of, method = ast.unparse(node.func.value), node.func.attr
            if method in ("save", "update") and ("project" in of.lower().split("__")[0].split("(")[0]):
                rows.add(name)
            if method in WRITES_OF_SCRIPTS and of in ("editing", "scripts"):
                writers_of_scripts.add(name)

    assert rows == WRITERS_OF_ROWS
    assert writers_of_scripts == {"services/ai_work/generation.py", "services/projects/script_writes.py"}
