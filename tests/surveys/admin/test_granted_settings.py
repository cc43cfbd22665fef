"""Which settings and which parts of a script somebody with `edit` changes: none that tells single answers."""

from __future__ import annotations

import re
from dataclasses import fields
from typing import Any

import pytest

from communities.ground.actors import Actor, Level
from communities.ground.errors import InvalidRequest
from surveys.engine.rules.script import leading_out
from surveys.engine.script import PICTURE_FIELDS, Block
from surveys.models import Dashboard, Project
from surveys.models.project import SETTINGS
from surveys.services.drafts import checking
from surveys.services.projects import script_writes
from surveys.services.projects.service import update_project
from surveys.services.representations import script as script_json
from tests.factories import MemberFactory
from tests.support.database import taken_back
from tests.support.moments import NOON
from tests.support.surveys import scenario
from tests.support.surveys.project_tabs import draft, form_of, project_staff, send, tab

pytestmark = pytest.mark.django_db

QUOTA = {"where": 'Q0 = "red"', "limit": 1, "message": None}
END = {"where": 'Q0 = "red"', "message": None, "url": "https://a.example/", "label": None, "redirect": False}
PLAIN_END = {"url": "https://a.example/", "label": "On", "redirect": True}
# A new value of each setting, and the privacy modes in which owners alone write it.
OPEN, ALL = "", "anonymous semi-private transparent"
UNREAD = "anonymous semi-private"
VALUES: dict[str, tuple[Any, str]] = {
    "privacy_mode": (None, ALL),
    "keep_responses_days": (9, ALL),
    "quotas": ([QUOTA], UNREAD),
    "ends": ([END], UNREAD),
    "max_completes": (9, "anonymous"),
    "end": (PLAIN_END, OPEN),
    "max_completes_per_user": (3, OPEN),
    "change_poll": (True, OPEN),
    "poll_results_mode": ("public", OPEN),
    "reveal_results": (True, OPEN),
    "share_results": (True, OPEN),
    "lock_graded_answers": (False, OPEN),
    "hidden_fields": ({"campaign": ["mail"]}, OPEN),
    "consent": ("I agree", OPEN),
    "max_begun_per_minute": (7, OPEN),
    "advance_on_choice": (False, OPEN),
    "review": (True, OPEN),
    "mail_copy": (True, OPEN),
    "indexed": (True, OPEN),
}
VIDEO = "https://vimeo.com/76979871"
BARE = "Read https://collector.example/no, please."
OTHER_MODE = {"anonymous": "transparent", "semi-private": "transparent", "transparent": "semi-private"}


def editor(project: Project, level: Level = Level.EDIT) -> Actor:
    user_id = MemberFactory.create(community=project.community).user_id
    return Actor(user_id, "member", project.community_id, "custom", grants={project.pk: level})


def refused(project: Project, level: Level = Level.EDIT, **sent: Any) -> set[str]:
    """The fields that a change by somebody with this level is refused for."""
    return refused_to(editor(project, level), project, **sent)


def refused_to(actor: Actor, project: Project, **sent: Any) -> set[str]:
    """The fields that a change by this person is refused for."""
    try:
        update_project(actor=actor, project_id=project.pk, fields={"settings": sent}, at=NOON)
    except InvalidRequest as refusal:
        return {each["field"] for each in refusal.violations}
    return set()


def test_every_setting_has_a_row() -> None:
    assert set(VALUES) == set(SETTINGS)


@pytest.mark.parametrize("privacy", OTHER_MODE)
def test_editors_write_no_setting_that_tells_single_answers(privacy: str) -> None:
    """Rules 1.82 and 1.89."""
    project = draft(privacy_mode=privacy)
    somebody, owner = editor(project), editor(project, Level.OWN)
    for name, (value, closed) in VALUES.items():
        sent: dict[str, Any] = {name: OTHER_MODE[privacy] if name == "privacy_mode" else value}
        with taken_back():
            found = refused_to(somebody, project, **sent)
            assert bool(found) == (f"settings.{name}" in found) == (privacy in closed.split()), name
            assert f"settings.{name}" not in refused_to(owner, project, **sent)


@pytest.mark.parametrize(
    "url", ["https://a.example/?id=[response_id]", "https://a.example/?a=[Q0]", "https://a.example/[field.x]"]
)
def test_editors_send_no_tokens_to_another_site(url: str) -> None:
    """Rule 1.89."""
    project = draft(privacy_mode="semi-private")

    assert refused(project, end={**PLAIN_END, "url": url}) == {"settings.end.url"}
    assert refused(project, Level.OWN, end={**PLAIN_END, "url": url}) == set()
    assert refused(project, end={"label": "Further"}) == set()


def test_what_owners_have_set_stays_when_editors_save_other_fields() -> None:
    """Rule 1.89."""
    project = draft(privacy_mode="semi-private")
    owned = {"quotas": [QUOTA], "ends": [END], "end": {**PLAIN_END, "url": "https://a.example/?a=[Q0]"}}
    assert refused(project, Level.OWN, **owned) == set()
    staff = project_staff("member").given("edit", project.pk)

    answer = send(staff, project, "delivery", consent="I agree")

    assert answer.status_code == 302
    project.refresh_from_db()
    assert project.consent == "I agree"
    assert {name: getattr(project, name) for name in owned} == owned
    page = staff.read(tab(project.pk, "delivery"))
    for name in ("keep_responses_days", "quotas-0-where", "ends-0-url", "privacy_mode"):
        assert re.search(rf'name="{name}"[^>]*disabled', page), name


def test_a_form_that_sends_them_all_the_same_changes_nothing() -> None:
    """Rule 1.89."""
    project = draft(privacy_mode="semi-private")
    staff = project_staff("member").given("edit", project.pk)
    form = form_of(staff.client.get(tab(project.pk, "delivery")))
    own = {"quotas-0-where": 'Q0 = "red"', "quotas-0-limit": "1", "privacy_mode": "transparent"}

    staff.client.post(tab(project.pk, "delivery"), {**form, **own})
    answer = staff.client.post(tab(project.pk, "delivery"), {**form, "end_url": "https://a.example/[Q0]"})

    project.refresh_from_db()
    assert (project.quotas, project.end, project.privacy_mode) == ([], None, "semi-private")
    assert "only owners of the project and admins change this" in answer.content.decode()


# --- Scripts ----------------------------------------------------------------------------------------------

LINK = {"type": "content_block", "name": "bye", "prompt": "[Go on](https://a.example/?a=[Q0])"}
GIFT = {
    "type": "action_block",
    "name": "gift",
    "prompt": "Thanks.",
    "action_kind": "give_xp",
    "action_config": {"xp_amount": 5},
}
TOLD = {**GIFT, "precondition": 'Q0 = "red"'}


def written(project: Project, *more: Any, level: Level = Level.EDIT, to: Any = None) -> set[str]:
    """The fields that a script with more blocks is refused for."""
    project = Project.objects.get(pk=project.pk)
    blocks = [*script_json.all_blocks(project, scenario.script(project)), *more]
    blocks = [to(dict(each)) for each in blocks] if to else blocks
    try:
        script_writes.replace_script(
            actor=editor(project, level),
            project_id=project.pk,
            body={"blocks": [each for each in blocks if each.get("section") != "outro"]},
            at=NOON,
        )
    except InvalidRequest as refusal:
        return {each["field"] for each in refusal.violations}
    return set()


def test_editors_write_no_script_that_tells_who_answered_what() -> None:
    """Rule 1.90."""
    project = draft(privacy_mode="semi-private")

    assert written(project, LINK) == {"blocks[1].prompt"}
    assert written(project, TOLD) == {"blocks[1].precondition", "blocks[1].action_kind"}
    assert written(draft(privacy_mode="transparent"), LINK, TOLD) == set()
    assert written(project, GIFT) == set()
    assert written(project, {**TOLD, "name": "more"}, LINK, level=Level.OWN) == set()

    def renamed(block: Any) -> Any:
        return {**block, "name": "colour"} if block["name"] == "q0" else block

    def generous(block: Any) -> Any:
        return {**block, "action_config": {"xp_amount": 6}} if block["name"] == "more" else block

    assert written(project, to=renamed) == set()
    assert written(project, to=generous) == {"blocks[2].action_kind"}


def test_the_editor_names_them_while_one_writes() -> None:
    """Rule 1.90."""
    project = draft(privacy_mode="semi-private")
    blocks: list[Any] = [*script_json.all_blocks(project, scenario.script(project)), LINK, TOLD]
    blocks = [each for each in blocks if each.get("section") != "outro"]

    checked = {
        level: checking.check(actor=editor(project, level), project=project, blocks=blocks, at=NOON)
        for level in (Level.EDIT, Level.OWN)
    }

    assert [each["field"] for each in checked[Level.EDIT]["violations"]] == [
        "blocks[1].prompt",
        "blocks[2].precondition",
        "blocks[2].action_kind",
    ]
    assert checked[Level.OWN]["violations"] == []


Q = {"type": "single_punch", "prompt": "Is your boss good?", "options": [{"value": "yes"}, {"value": "no"}]}
SEEN = {**Q, "name": "seen", "precondition": 'field.employee != "103"'}
FORMULA = {
    "type": "calculated_block",
    "name": "calc",
    "prompt": "x",
    "calculated_formula": 'if [Q0] = "red" then 1 else 0',
}
BY_FORMULA = {**GIFT, "precondition": "Calc = 1"}
BY_SCORE = {**GIFT, "action_config": {"source_key": "score"}}
BRANCH = {**LINK, "prompt": "Thanks.", "precondition": 'Q0 = "red"'}


@pytest.mark.parametrize(
    ("block", "field"),
    [
        (SEEN, "precondition"),
        (FORMULA, "calculated_formula"),
        ({**Q, "show_when": {"block": "Q0", "op": "eq", "value": "red"}}, "show_when"),
    ],
)
def test_editors_write_no_conditions_and_formulas(block: Any, field: str) -> None:
    """Rule 1.152."""
    project = draft(privacy_mode="semi-private", hidden_fields=["employee"])

    assert written(project, block) == {f"blocks[1].{field}"}
    assert written(draft(privacy_mode="transparent", hidden_fields=["employee"]), block) == set()
    assert written(project, block, level=Level.OWN) == set()
    assert written(project) == set()
    assert written(project, to=lambda each: {**each, "prompt": "Is it?"}) == set()


def changed(which: str, **fields: Any) -> Any:
    return lambda block: {**block, **fields} if block["name"] == which else block


@pytest.mark.parametrize(
    ("change", "field"),
    [
        (changed("gift", precondition="Calc = 0"), "blocks[2].precondition"),
        (changed("gift", precondition=None), "blocks[2].precondition"),
        (changed("calc", calculated_formula="1"), "blocks[1].calculated_formula"),
        (changed("q0", prompt="Is your boss good?"), "blocks[0].prompt"),
        (changed("q0", options=[{"value": "red"}, {"value": "boss"}]), "blocks[0].options"),
        (
            changed("q0", id=None, options=[{"value": "red"}, {"value": "boss"}]),
            "blocks[1].calculated_formula",
        ),
    ],
)
def test_editors_change_nothing_on_which_a_gift_depends(change: Any, field: str) -> None:
    """Rule 1.152."""
    project = draft(privacy_mode="semi-private")
    assert written(project, FORMULA, BY_FORMULA, level=Level.OWN) == set()

    assert field in written(project, to=change)
    assert written(project, to=changed("q0", name="colour")) == set()
    assert written(project, to=changed("gift", prompt="Well done.")) == set()


def test_gifts_by_a_score_depend_on_answers_too() -> None:
    """Rule 1.90."""
    project = draft(privacy_mode="semi-private", scoring_enabled=True)

    assert written(project, BY_SCORE) == {"blocks[1].action_kind"}
    assert written(project, BY_SCORE, level=Level.OWN) == set()
    assert written(project, to=changed("gift", prompt="Well done.")) == set()


@pytest.mark.parametrize(
    "leading",
    [{"prompt": "[Read this](https://collector.example/no)"}, {"prompt": BARE}, {"video_url": VIDEO}],
)
def test_editors_write_no_link_into_what_some_see(leading: dict[str, str]) -> None:
    """Rules 1.90, 1.700 and 6.702."""
    project = draft(privacy_mode="semi-private")
    assert written(project, BRANCH, level=Level.OWN) == set()

    assert written(project, to=changed("bye", **leading)) == {f"blocks[1].{key}" for key in leading}
    assert written(project, to=changed("bye", prompt="Bye.")) == set()


def test_every_address_of_a_block_leads_out_or_is_copied() -> None:
    """Rule 1.700. Pictures are served by this site (rule 7.15)."""
    addresses = {each.name for each in fields(Block) if each.name.endswith("_url")} - {*PICTURE_FIELDS}

    given: dict[str, Any] = dict.fromkeys(addresses, VIDEO)

    assert addresses == {*leading_out(Block(type="content_block", **given))}


def test_no_link_on_an_anonymous_project_depends_on_answers() -> None:
    """Rules 1.154, 1.700 and 6.702."""
    project = draft(privacy_mode="anonymous", hidden_fields={"team": ["a", "b"]})
    link = {**BRANCH, "prompt": "[Read this](https://collector.example/no)"}
    right = {**Q, "correct_answer_index": 0, "when_correct": "[Right](https://collector.example/right)"}

    assert written(project, link, level=Level.OWN) == {"blocks[1].precondition"}
    for leading in ({"prompt": BARE}, {"video_url": VIDEO}):
        assert written(project, {**BRANCH, **leading}, level=Level.OWN) == {"blocks[1].precondition"}
    assert written(project, right, level=Level.OWN) == {"blocks[1].when_correct"}
    assert written(project, BRANCH, level=Level.OWN) == set()
    assert (
        written(project, {**link, "name": "team", "precondition": 'field.team = "a"'}, level=Level.OWN)
        == set()
    )


def test_editors_leave_what_expressions_of_settings_select() -> None:
    """Rule 1.152."""
    project = draft(privacy_mode="semi-private")
    assert refused(project, Level.OWN, quotas=[QUOTA]) == set()

    again = {"type": "single_punch", "name": "q0", "prompt": "Boss?", "options": [{"value": "red"}]}

    assert written(project, to=lambda each: again if each["name"] == "q0" else each) == {"blocks"}
    assert written(project, to=changed("q0", name="colour")) == set()


def test_editors_leave_what_a_dashboard_selects() -> None:
    """Rules 1.152 and 6.472: with totals known, other shared figures would tell what some have answered."""
    project = draft(privacy_mode="semi-private")
    secret = {"type": "single_punch", "name": "secret", "prompt": "Ill?", "options": [{"value": "red"}]}
    assert written(project, secret, level=Level.OWN) == set()
    board = Dashboard.objects.create(project=project, where='Q0 = "red"', is_shared=True)
    again = {**secret, "name": "q0"}
    names = {"q0": "secret", "secret": "q0"}

    assert written(project, to=lambda each: again if each["name"] == "q0" else each) == {"blocks"}
    assert written(project, to=lambda each: {**each, "name": names.get(each["name"], each["name"])}) == set()
    board.refresh_from_db()
    assert board.where == 'secret = "red"'


def test_editors_leave_the_points_by_which_a_dashboard_selects() -> None:
    """Rule 1.701. Points count where a score is named, and so does the correct answer."""
    project = draft(privacy_mode="semi-private", scoring_enabled=True)
    points = {"type": "single_punch", "name": "ill", "prompt": "Ill?"}
    options: list[dict[str, Any]] = [{"value": "yes", "score_values": {"total": 2}}, {"value": "no"}]
    assert written(project, {**points, "options": options}, level=Level.OWN) == set()
    board = Dashboard.objects.create(project=project, where="score > 1", is_shared=True)
    swapped = changed("ill", options=[{"value": "yes"}, {**options[0], "value": "no"}])
    right = changed("ill", correct_answer_index=1)
    other = {**points, "name": "tired", "options": options}

    for change in (swapped, right):
        assert written(project, to=change) == {"blocks"}
    assert written(project, other) == {"blocks"}
    assert written(project, to=changed("ill", prompt="Are you ill?")) == set()
    board.where = 'ill = "yes"'
    board.save()
    assert written(project, to=right) == set()


def test_editors_give_no_meaning_to_a_condition_without_one() -> None:
    """Rule 1.152, for a dashboard whose script an earlier version let change without it."""
    project = draft(privacy_mode="semi-private")
    Dashboard.objects.create(project=project, where='secret = "red"', is_shared=True)
    secret = {"type": "single_punch", "name": "secret", "prompt": "Ill?", "options": [{"value": "red"}]}

    assert written(project, secret) == {"blocks"}
    assert written(project, {**secret, "name": "other"}) == set()
    assert written(project, secret, level=Level.OWN) == set()
