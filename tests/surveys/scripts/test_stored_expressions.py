"""Everything stored that names parts of a script: each field is listed here, and those that last follow the
script.
"""

from __future__ import annotations

from typing import Any

import pytest
from django.apps import apps
from django.db.models import JSONField, TextField

from surveys.models import Block, Dashboard, Project
from tests.support.caller import TEXT, Caller
from tests.support.surveys.script_paths import path_of

pytestmark = pytest.mark.django_db

COLOUR = {
    "type": "single_punch",
    "name": "first",
    "prompt": "Which colour?",
    "options": [{"value": "red"}, {"value": "green"}],
}
OTHER = {**TEXT, "name": "second"}
EXPRESSION, CONDITION = 'first = "red"', {"block": "first", "op": "eq", "value": "red"}
# Before a new name of a block and a new value of its option, and after them.
EXPRESSIONS = EXPRESSION, 'colour = "crimson"'
CONDITIONS = CONDITION, {"block": "colour", "op": "eq", "value": "crimson"}
FORMULAS = 'if [first] = "red" then 1 else 0', 'if [colour] = "crimson" then 1 else 0'
TEXTS = "You said [first].", "You said [colour]."
ADDRESSES = "https://a.example/?c=[first]", "https://a.example/?c=[colour]"
FOLLOWING: dict[str, tuple[Any, ...]] = {
    **dict.fromkeys(
        ("Block.prompt", "Block.description", "Block.when_correct", "Block.when_incorrect"), TEXTS
    ),
    "Block.precondition": EXPRESSIONS,
    "Block.show_when": CONDITIONS,
    "Block.hide_when": CONDITIONS,
    "Block.calculated_formula": FORMULAS,
    "Project.quotas": tuple([{"where": each, "limit": 9, "message": None}] for each in EXPRESSIONS),
    "Project.end": tuple({"url": each, "label": None, "redirect": False} for each in ADDRESSES),
    "Project.ends": tuple([{"where": each, "message": None}] for each in EXPRESSIONS),
    "Dashboard.where": EXPRESSIONS,
}
# Read with the script of their revision only, or sent whole by those who wrote them.
OF_A_REVISION = """
    ResultsCount.part ScriptDraft.blocks ScriptDraft.base Generation.request Generation.draft
"""
# They say what was: nobody reads them with a script.
FROZEN = """
    AuditEntry.before AuditEntry.after Event.body IdempotentRequest.headers Delivery.response_body
    Delivery.error Delivery.attempts Analysis.error Analysis.summary Analysis.blocks_as_json
    Analysis.scores_as_json Analysis.variables_as_json Analysis.spending Generation.error
    ResponseFile.error ResponseFile.counts ResultsCount.error ResultsCount.violations
"""
# They name blocks and options by ids, or name nothing of a script but its buckets.
WITHOUT_NAMES = """
    Dashboard.block_ids Conversation.state ResponseFile.matching Analysis.checkpoint Option.score_values
    Block.action_config Block.scale Block.advance Project.hidden_fields Project.consent Project.generation
    Project.delivery Project.rewards Project.presentation Answer.value UnsentAnswer.text Theme.phrases
    Reminder.text CommunitySettings.thank_you_custom_message ChatInstallation.snapshot
    ChatInstallation.looked_up Member.attributes Picture.address
"""


def test_each_field_with_room_for_an_expression_is_listed() -> None:
    """Rule 6.472. A new field with names of a script follows the script, or says here why not."""
    listed = [*FOLLOWING, *OF_A_REVISION.split(), *FROZEN.split(), *WITHOUT_NAMES.split()]
    fields = [
        f"{model.__name__}.{field.name}"
        for app in ("communities", "xp", "webhooks", "surveys")
        for model in apps.get_app_config(app).get_models()
        for field in model._meta.concrete_fields
        if isinstance(field, JSONField | TextField) or field.name == "where"
    ]

    assert sorted(listed) == sorted(fields)


def stored(project_id: str, label: str, ids: dict[str, int]) -> Any:
    model, _, field = label.partition(".")
    if model == "Project":
        return getattr(Project.objects.get(pk=project_id), field)
    if model == "Dashboard":
        return getattr(Dashboard.objects.get(project_id=project_id), field)
    return getattr(Block.objects.get(pk=ids[field]), field)


def blocks_with() -> list[dict[str, Any]]:
    """A block for each field of blocks that names `first`, named like the field."""
    computed = {"type": "calculated_block", "prompt": "One or none"}
    graded = {**COLOUR, "correct_answer_index": 0}
    kinds: dict[str, dict[str, Any]] = {
        "calculated_formula": computed,
        "when_correct": graded,
        "when_incorrect": graded,
    }
    fields = {
        label.removeprefix("Block."): before for label, (before, _) in FOLLOWING.items() if "Block" in label
    }
    return [{**kinds.get(name, TEXT), "name": f"of_{name}", name: before} for name, before in fields.items()]


def test_whatever_names_a_part_of_a_script_follows_it() -> None:
    """Rules 3.30, 3.31, 6.185 and 6.472."""
    caller = Caller()
    settings = {name: FOLLOWING[f"Project.{name}"][0] for name in ("quotas", "end", "ends")}
    made = caller.make(COLOUR, OTHER, *blocks_with(), settings=settings)
    blocks = made["script"]["blocks"]
    ids = {each["name"].removeprefix("of_"): each["id"] for each in blocks}
    board = {"block_ids": [blocks[0]["id"]], "where": EXPRESSION}
    assert caller.put(f"/projects/{made['id']}/dashboard", board).status_code == 200
    before = {label: stored(made["id"], label, ids) for label in FOLLOWING}

    options = [{**blocks[0]["options"][0], "value": "crimson"}, blocks[0]["options"][1]]
    renamed = [
        {**blocks[0], "name": "colour", "options": options},
        {**blocks[1], "name": "first"},
        *blocks[2:],
    ]
    answer = caller.put(path_of(made), {"blocks": renamed})

    assert answer.status_code == 200, answer.content
    after = {label: stored(made["id"], label, ids) for label in FOLLOWING}
    wrong = [
        (label, before[label], after[label])
        for label, (was, now) in FOLLOWING.items()
        if not (same(before[label], was) and same(after[label], now))
    ]
    assert not wrong


def same(found: Any, wanted: Any) -> bool:
    """Whether a stored value has what is wanted, apart from defaults."""
    if isinstance(wanted, list):
        return len(found) == len(wanted) and all(map(same, found, wanted))
    if isinstance(wanted, dict):
        return all(found.get(name) == value for name, value in wanted.items())
    return bool(found == wanted)
