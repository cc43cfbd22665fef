"""The audit trail of projects, scripts and responses, and its limits on anonymous projects."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from communities.ground.actors import Actor
from communities.models import AuditEntry
from communities.staff import audit_trail
from surveys.engine.flow import wording
from surveys.engine.language import values
from surveys.engine.language.values import Value
from surveys.models import Project
from surveys.services.projects import opening, removal, schedule, sharing
from surveys.services.responses import service as responses
from tests.support.actors import superuser_actor
from tests.support.caller import CHOICE, TEXT, Caller
from tests.support.moments import LUNCHTIME, NOON
from tests.support.surveys import scenario

pytestmark = pytest.mark.django_db

AUDIENCE = {"delivery": {"audience": {"participation": "open_web"}}}


@pytest.fixture
def caller() -> Caller:
    return Caller()


def newest() -> Any:
    return AuditEntry.objects.order_by("-happened_at", "-pk")[0]


def blocks_of(caller: Caller, project: dict[str, Any]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = caller.get(f"/projects/{project['id']}/script").json()["blocks"]
    return found


def written(caller: Caller, project: dict[str, Any], blocks: list[dict[str, Any]]) -> Any:
    answer = caller.put(f"/projects/{project['id']}/script", {"blocks": blocks})
    assert answer.status_code == 200, answer.content
    return newest()


class TestScripts:
    def test_a_changed_block_tells_what_changed_in_it(self, caller: Caller) -> None:
        project = caller.make({**CHOICE, "name": "colour"}, TEXT)
        first, second = blocks_of(caller, project)

        entry = written(caller, project, [{**first, "prompt": "Which?", "required": True}, second])

        named = {"id": first["id"], "name": "colour"}
        assert entry.before == {"blocks": [{**named, "prompt": "Which colour?", "required": None}]}
        assert entry.after == {
            "blocks": [{**named, "prompt": "Which?", "required": True}],
            "revision": 2,
        }

    def test_added_and_removed_blocks_stand_on_one_side(self, caller: Caller) -> None:
        project = caller.make({**CHOICE, "name": "colour"}, {**TEXT, "name": "why"})
        first, second = blocks_of(caller, project)

        entry = written(caller, project, [{**TEXT, "name": "new"}, second])

        (removed,), (added,) = entry.before["blocks"], entry.after["blocks"]
        assert (removed["id"], removed["name"], removed["prompt"]) == (first["id"], "colour", "Which colour?")
        assert [option["value"] for option in removed["options"]] == ["red", "green", "blue"]
        assert (added["name"], added["type"], added["prompt"]) == ("new", "open_text", "Why?")
        assert (entry.before["order"], entry.after["order"]) == (["colour", "why"], ["new", "why"])
        assert "Order" not in {each.field for each in audit_trail.differences(entry).rows}

    def test_options_are_compared_one_by_one(self, caller: Caller) -> None:
        project = caller.make({**CHOICE, "name": "colour"})
        (block,) = blocks_of(caller, project)
        red, _, blue = block["options"]

        entry = written(
            caller, project, [{**block, "options": [{**red, "label": "Ruby"}, blue, {"value": "grey"}]}]
        )

        (was,), (now,) = entry.before["blocks"], entry.after["blocks"]
        assert [(each["value"], each.get("label")) for each in was["options"]] == [
            ("green", None),
            ("red", None),
        ]
        assert [(each["value"], each.get("label")) for each in now["options"]] == [
            ("grey", None),
            ("red", "Ruby"),
        ]

    def test_the_admin_says_it_in_the_words_of_the_editor(self, caller: Caller) -> None:
        project = caller.make(
            CHOICE | {"prompt": "Which colour?"},
            TEXT | {"prompt": "Why that?", "show_when": {"block": "q0", "op": "eq", "value": "red"}},
        )
        colour, why = blocks_of(caller, project)
        colour["options"][0] |= {"label": "Crimson"}
        why |= {"show_when": None, "precondition": None, "prompt": "Why?"}
        written(caller, project, [colour, why, TEXT | {"prompt": "Anything else?"}])

        found = audit_trail.differences(newest()).rows

        assert [(each.part, each.field, each.before, each.after) for each in found] == [
            ("Which colour? · Block 1", "Option red · Label", "", "Crimson"),
            ("Why? · Block 2", "Text", "Why that?", "Why?"),
            ("Why? · Block 2", "Condition", "Shown when “Which colour?” is Crimson", ""),
            ("Anything else? · Block 3", "Block added", "", "Text"),
            ("Anything else? · Block 3", "Text", "", "Anything else?"),
        ]

    def test_a_condition_is_put_in_words_no_further_than_a_value_is_shown(
        self, caller: Caller, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        labels = [{"value": str(n), "label": f"{n}" + '"' * 300} for n in range(3)]
        asked = {**TEXT, "precondition": f"colour in [{', '.join(['1'] * 600)}]"}
        project = caller.make({**CHOICE, "name": "colour", "options": labels}, asked)
        colour, why = blocks_of(caller, project)
        entry = written(
            caller, project, [colour, why | {"precondition": asked["precondition"].replace("1", "2")}]
        )
        read: list[Value] = []

        def spelled(value: Value) -> str:
            read.append(value)
            return values.text(value)

        monkeypatch.setattr(wording, "text", spelled)

        (found,) = audit_trail.differences(entry).rows

        assert (found.field, len(found.before), len(found.after)) == ("Condition", 2_001, 2_001)
        assert found.before.startswith("Hidden when colour is one of 1" + '"' * 300 + ', 1""')
        assert len(read) == 2 * 7

    def test_long_lists_of_one_field_are_shown_in_part(self, caller: Caller) -> None:
        options = [{"value": f"{n:02}" + "x" * 200} for n in range(30)]
        project = caller.make({**CHOICE, "options": options})
        (block,) = blocks_of(caller, project)
        turned = [{"id": each["id"], "value": each["value"]} for each in reversed(block["options"])]

        entry = written(caller, project, [{**block, "options": turned}])

        found = [
            (each.field, len(each.before), len(each.after)) for each in audit_trail.differences(entry).rows
        ]
        assert ("Order of the options", 2_001, 2_001) in found

    def test_another_order_is_told_by_names(self, caller: Caller) -> None:
        project = caller.make({**CHOICE, "name": "colour"}, {**TEXT, "name": "why"})
        first, second = (
            {key: value for key, value in block.items() if key != "position"}
            for block in blocks_of(caller, project)
        )

        entry = written(caller, project, [second, first])

        assert entry.before == {"order": ["colour", "why"]}
        assert entry.after == {"order": ["why", "colour"], "revision": 2}

    def test_correct_answers_are_told(self, caller: Caller) -> None:
        project = caller.make({**CHOICE, "name": "colour"})
        (block,) = blocks_of(caller, project)
        red = block["options"][0]["id"]

        entry = written(caller, project, [{**block, "correct_answer_ids": [red]}])

        assert entry.after["blocks"][0]["correct_answer_ids"] == [red]
        assert "correct_answer_index" not in entry.after["blocks"][0]


class TestProjects:
    def test_only_what_changed_is_told_by_its_path(self, caller: Caller) -> None:
        project = caller.make(TEXT, **AUDIENCE)

        caller.patch(
            f"/projects/{project['id']}",
            {
                "settings": {"share_results": True},
                "scoring": {"enabled": True, "buckets": [{"name": "Mage"}]},
            },
        )

        entry = newest()
        assert entry.before == {
            "settings.share_results": False,
            "scoring.enabled": False,
            "scoring.buckets": [],
        }
        assert entry.after == {
            "settings.share_results": True,
            "scoring.enabled": True,
            "scoring.buckets": ["Mage"],
        }

    def test_a_copy_tells_what_it_is_a_copy_of(self, caller: Caller) -> None:
        project = caller.make(TEXT, name="Openings")

        copy = caller.post(f"/projects/{project['id']}/clone").json()

        entry = newest()
        assert (entry.action, entry.object_id) == ("project.cloned", copy["id"])
        assert entry.after["cloned_from"] == project["id"]
        assert (entry.after["type"], entry.after["block_count"]) == ("convo", 1)

    def test_a_project_deleted_in_the_admin_is_recorded_at_each_step(self, caller: Caller) -> None:
        first, second = (int(caller.make(TEXT)["id"]) for _ in range(2))
        removal.delete_for_now(actor=caller.actor, project_id=first, at=NOON)
        removal.restore(actor=caller.actor, project_id=first, at=NOON + timedelta(minutes=1))
        removal.delete_for_now(actor=caller.actor, project_id=second, at=NOON + timedelta(minutes=2))
        removal.delete_overdue(at=NOON + timedelta(minutes=20))

        told = AuditEntry.objects.exclude(action="project.created").order_by("happened_at")
        assert list(told.values_list("action", "source", "project_id")) == [
            ("project.deleted", "admin", first),
            ("project.restored", "admin", first),
            ("project.deleted", "admin", second),
            ("project.purged", "system", second),
        ]

    def test_a_new_address_of_results_is_recorded_without_it(self, caller: Caller) -> None:
        project_id = int(caller.make(TEXT)["id"])
        moved = sharing.renew_results_address(actor=caller.actor, project_id=project_id, at=LUNCHTIME)

        entry = AuditEntry.objects.get(action="results.address_renewed")
        assert (entry.before, entry.after) == (None, None)
        assert str(moved.results_token) not in str(vars(entry))

    def test_what_the_schedule_does_is_the_systems(self, caller: Caller) -> None:
        project_id = int(caller.make(TEXT)["id"])
        times = {"opening": NOON + timedelta(hours=1), "closing": NOON + timedelta(hours=2)}
        delivery = {key: {"mode": "scheduled", "time": at.isoformat()} for key, at in times.items()}
        opening.open_project(
            actor=caller.actor, project_id=project_id, fields={"delivery": delivery}, at=NOON
        )
        for hours in (1, 2):
            schedule.open_and_close_due(at=NOON + timedelta(hours=hours, seconds=2))
            schedule.open_and_close_due(at=NOON + timedelta(hours=hours, seconds=4))

        told = AuditEntry.objects.exclude(action="project.created").order_by("happened_at")
        assert list(told.values_list("action", "source", "happened_at")) == [
            ("project.scheduled", "admin", NOON),
            ("project.opened", "system", NOON + timedelta(hours=1)),
            ("project.closed", "system", NOON + timedelta(hours=2)),
        ]


def _admin(project: Project) -> Actor:
    return superuser_actor(community_id=project.community_id)


class TestAnonymous:
    @pytest.mark.parametrize(
        ("settings", "hour"), [({}, 12), ({"rounds_times_to_day": True}, 0)], ids=["hour", "day"]
    )
    def test_a_deleted_response_is_not_named_and_has_no_exact_time(
        self, settings: dict[str, Any], hour: int
    ) -> None:
        made = scenario.project(TEXT, privacy_mode="anonymous", **settings)
        told = scenario.say(scenario.begin(made, "somebody"), "Because.")

        responses.delete(response_id=told.conversation.pk, actor=_admin(made), at=LUNCHTIME)

        entry = AuditEntry.objects.get(action="response.deleted")
        assert (entry.object_id, entry.before, entry.after, entry.request_id) == (None, None, None, None)
        assert entry.happened_at == LUNCHTIME.replace(hour=hour, minute=0, second=0, microsecond=0)
        assert entry.pk.version == 4

    def test_elsewhere_it_is_named(self) -> None:
        made = scenario.project(TEXT)
        told = scenario.say(scenario.begin(made, "somebody"), "Because.")

        responses.delete(response_id=told.conversation.pk, actor=_admin(made), at=LUNCHTIME)

        entry = AuditEntry.objects.get(action="response.deleted")
        assert (entry.object_id, entry.happened_at) == (str(told.conversation.pk), LUNCHTIME)
        assert "Because" not in str([entry.before, entry.after, entry.object_name])

    def test_an_analysis_has_no_exact_time(self, caller: Caller) -> None:
        project = caller.make_open(TEXT, privacy_mode="anonymous", **AUDIENCE)

        caller.post(f"/projects/{project['id']}/analysis?ai=false")

        entry = AuditEntry.objects.get(action="analysis.requested")
        assert (entry.happened_at.minute, entry.happened_at.second, entry.happened_at.microsecond) == (
            0,
            0,
            0,
        )
        assert (entry.pk.version, entry.request_id) == (4, None)
