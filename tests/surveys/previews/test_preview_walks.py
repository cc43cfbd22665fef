"""The walk of a preview: moves, jumps, edits meanwhile, and faults, on drafts that nobody has saved."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from communities.ground.errors import Conflict, InvalidRequest
from surveys.services.drafts import service as drafts
from surveys.services.previews import memory
from surveys.services.previews import service as previews
from surveys.services.previews import view as preview_json
from surveys.services.previews.service import Preview
from tests.support.actors import actor
from tests.support.moments import LUNCHTIME
from tests.support.surveys import rewards, scenario

pytestmark = pytest.mark.django_db

COLOUR = {
    "key": "colour",
    "name": "colour",
    "type": "single_punch",
    "prompt": "Which colour?",
    "options": [{"key": "r", "value": "red"}, {"key": "g", "value": "green"}],
}
WHY = {"key": "why", "name": "why", "type": "open_text", "prompt": "Why [Colour], [UserName]?"}
RED_ONLY = WHY | {"show_when": {"block": "colour", "op": "eq", "value": "red"}}
BYE = {"key": "bye", "name": "bye", "type": "content_block", "prompt": "Bye."}


class Editor:
    """A staff member who edits one project and looks at its preview."""

    def __init__(self, *blocks: Any, **fields: Any) -> None:
        self.project = rewards.project({"name": "stored", "type": "open_text", "prompt": "Stored?"}, **fields)
        self.member = scenario.member("Sofia")
        community_id = self.project.community_id
        self.actor = actor(user_id=self.member.user_id, community_id=community_id)
        self.version: int | None = None
        if blocks:
            self.type(*blocks)

    def type(self, *blocks: Any) -> None:
        kept = drafts.keep(
            actor=self.actor,
            project_id=self.project.pk,
            blocks=list(blocks),
            revision=self.project.revision,
            version=self.version,
            at=LUNCHTIME,
        )
        self.version = kept.version

    def look(self) -> Preview:
        return previews.open_preview(actor=self.actor, project=self.project, at=LUNCHTIME)


def prompt(preview: Preview) -> str | None:
    step = preview.view().step
    return step.block.prompt if step else None


def choose(preview: Preview, place: int = 0) -> Preview:
    step = preview.view().step
    assert step is not None
    return preview.answered({"block_id": step.block.id, "option_id": step.block.options[place].id})


def write(preview: Preview, text: str = "Because.") -> Preview:
    step = preview.view().step
    assert step is not None
    return preview.answered({"block_id": step.block.id, "value": text})


def told(preview: Preview) -> dict[str, Any]:
    return preview_json.as_json(preview.view())


def test_a_draft_is_walked_to_its_end():
    preview = Editor(COLOUR, WHY, BYE).look()

    asked = choose(preview)
    left = write(asked)
    over = left.proceeded()

    assert [prompt(each) for each in (preview, asked, left, over)] == [
        "Which colour?",
        "Why red, Sofia?",
        "Bye.",
        None,
    ]
    assert over.view().is_completed
    thanks = over.view().thanks
    assert thanks is not None
    assert thanks.prompt == "Thank you! Your answers have been saved."


def test_without_a_draft_the_stored_script_is_shown():
    preview = Editor().look()

    assert prompt(preview) == "Stored?"
    assert told(preview)["current"].startswith("b")


def test_the_state_tells_path_answers_and_current_block_by_key():
    preview = choose(Editor(COLOUR, WHY).look())

    assert told(preview)["path"] == ["colour"]
    assert told(preview)["answers"] == {"colour": "red"}
    assert told(preview)["current"] == "why"
    assert not told(preview)["is_completed"]


def test_the_condition_of_a_draft_counts():
    preview = choose(Editor(COLOUR, RED_ONLY, BYE).look(), 1)

    assert prompt(preview) == "Bye."


def test_back_at_the_first_step_is_refused():
    preview = Editor(COLOUR).look()

    with pytest.raises(Conflict):
        preview.back()


def test_an_answer_that_does_not_fit_is_refused_as_on_the_real_page():
    preview = Editor(COLOUR | {"required": True}).look()
    step = preview.view().step
    assert step is not None

    with pytest.raises(InvalidRequest) as refused:
        preview.answered({"block_id": step.block.id})

    assert refused.value.message == "This question needs an answer."


def test_a_jump_keeps_the_answers_given_and_skips_the_others():
    editor = Editor(COLOUR | {"required": True}, WHY, BYE)

    jumped = choose(editor.look(), 1).jumped("bye")

    assert prompt(jumped) == "Bye."
    assert told(jumped)["answers"] == {"colour": "green", "why": ""}


def test_a_jump_to_a_hidden_block_shows_it_and_says_so():
    jumped = choose(Editor(COLOUR, RED_ONLY, BYE).look(), 1).jumped("why")

    assert prompt(jumped) == "Why green, Sofia?"
    assert told(jumped)["is_forced"]
    assert told(jumped)["path"] == ["colour"]


def test_a_jump_back_keeps_later_answers_for_their_turn():
    preview = write(choose(Editor(COLOUR, WHY, BYE).look()))

    again = choose(preview.jumped("colour"))

    step = again.view().step
    assert step is not None
    assert step.reply == {"text": "Because."}


def test_a_jump_to_an_unknown_block_changes_nothing():
    preview = choose(Editor(COLOUR, WHY).look())

    assert preview.jumped("nowhere").walk == preview.walk


def test_the_walk_is_kept_while_the_draft_is_typed():
    editor = Editor(COLOUR, WHY)
    choose(editor.look()).remember()

    editor.type(COLOUR, WHY | {"prompt": "And why?"}, BYE)

    assert prompt(editor.look()) == "And why?"
    assert told(editor.look())["answers"] == {"colour": "red"}


def test_few_walks_of_a_person_are_kept_and_those_that_were_left_last(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(memory, "MOST_KEPT", 2)
    preview = choose(Editor(COLOUR, WHY).look())

    for place in ("7:1", "7:2", "7:1", "7:3", "8:1"):
        memory.remember(place, preview.walk)

    kept = [memory.recall(place) is not None for place in ("7:1", "7:2", "7:3", "8:1")]
    assert kept == [True, False, True, True]


def test_the_walks_of_a_person_take_few_bytes(monkeypatch: pytest.MonkeyPatch):
    preview = choose(Editor(COLOUR, WHY).look())
    size = len(orjson.dumps({"9:1": preview.walk.as_json()}))
    monkeypatch.setattr(memory, "MOST_BYTES", size)

    assert [memory.remember(place, preview.walk) for place in ("9:1", "9:2")] == [True, True]
    assert (memory.recall("9:1"), memory.recall("9:2")) == (None, preview.walk)
    monkeypatch.setattr(memory, "MOST_BYTES", size - 1)
    assert not memory.remember("9:1", preview.walk)


def test_a_question_added_before_the_current_one_is_asked_first():
    editor = Editor(COLOUR, WHY)
    choose(editor.look()).remember()

    editor.type(BYE, COLOUR, WHY)

    assert prompt(editor.look()) == "Bye."


def test_a_jump_survives_edits():
    editor = Editor(COLOUR | {"required": True}, RED_ONLY, BYE)
    editor.look().jumped("why").remember()

    editor.type(COLOUR | {"required": True}, RED_ONLY | {"prompt": "Tell me!"}, BYE)

    assert prompt(editor.look()) == "Tell me!"


def test_the_walk_goes_on_after_the_draft_was_saved():
    editor = Editor(COLOUR, WHY)
    close_of(editor)
    choose(editor.look(), 1).remember()

    drafts.save(actor=editor.actor, project_id=editor.project.pk, version=editor.version or 0, at=LUNCHTIME)
    editor.project.refresh_from_db()

    after = editor.look()
    assert prompt(after) == "Why green, Sofia?"
    assert [each.answer for each in after.view().history()] == ["green"]


def close_of(editor: Editor) -> None:
    """Close the project, so that its structure may change."""
    type(editor.project).objects.filter(pk=editor.project.pk).update(status="inactive", delivery=None)
    editor.project.refresh_from_db()


def test_the_order_of_options_stays_while_one_types_and_changes_with_a_restart():
    options = [{"key": f"o{n}", "value": f"option {n}"} for n in range(12)]
    shuffled = COLOUR | {"options": options, "randomize_options": True}
    editor = Editor(shuffled)
    editor.look().remember()

    def order(preview: Preview) -> list[str]:
        step = preview.view().step
        assert step is not None
        return [option.value for option in step.block.options]

    before = order(editor.look())
    editor.type(shuffled | {"prompt": "Which one?"})

    assert order(editor.look()) == before
    assert order(editor.look().restarted()) != before


@pytest.mark.parametrize(
    ("faulty", "prompt_shown"),
    [
        (COLOUR | {"options": []}, "Which colour?"),
        (COLOUR | {"type": "punch"}, "Which colour?"),
        ({"key": "a", "name": "a", "type": "rating", "prompt": "Rate.", "min": 7, "max": 2}, "Rate."),
        ({"key": "a", "name": "a", "type": "calculated_block", "calculated_formula": "1 +"}, None),
        ({"key": "a", "name": "a", "type": "open_text", "prompt": ""}, "This block has no text yet."),
        ({"key": "a", "name": "a", "type": "open_text", "prompt": "?", "precondition": "Nobody = 1"}, "?"),
        ("no block", "This block has no text yet."),
    ],
)
def test_a_block_with_a_fault_keeps_its_place_and_tells_the_fault(faulty, prompt_shown):
    preview = Editor(faulty, BYE).look()

    assert prompt(preview) == prompt_shown or prompt_shown is None
    assert preview.view().faults
    assert prompt(preview.jumped("bye")) == "Bye."


def test_blocks_with_the_same_id_are_both_shown():
    editor = Editor()
    stored = scenario.script(editor.project).blocks[0].id
    editor.type(*({"key": key, "id": stored, "type": "open_text", "prompt": key} for key in "ab"))

    first = editor.look()

    assert prompt(first) == "a"
    assert prompt(write(first)) == "b"


def test_scores_and_calculated_results_are_told():
    scored = COLOUR | {
        "options": [
            {"key": "r", "value": "red", "score_values": {"warm": 2}},
            {"key": "g", "value": "green", "score_values": {"warm": 0}},
        ]
    }
    double = {"key": "d", "name": "double", "type": "calculated_block", "calculated_formula": "[score] * 2"}
    scoring = {"enabled": True, "buckets": [{"name": "Warm", "order": 0}]}
    editor = Editor(scored, double, BYE, scoring=scoring)

    preview = choose(editor.look())

    assert told(preview)["figures"] == [{"called": "Score", "value": "2", "most": "2"}]
    assert told(preview)["variables"] == {"double": "4"}


def test_scores_of_buckets_and_correct_answers_are_told_in_words():
    points = [{"key": "r", "value": "red", "score_values": {"warm": 2, "cold": 0}}, COLOUR["options"][1]]
    quiz = COLOUR | {"options": points, "correct_answer_index": 0}
    buckets = [{"name": name, "order": n} for n, name in enumerate(["Warm", "Cold"])]

    preview = choose(Editor(quiz, BYE, scoring={"enabled": True, "buckets": buckets}).look())

    assert {each["called"]: each["value"] for each in told(preview)["figures"]} == {
        "Score": "2",
        "Score from correct answers": "2",
        "Score for Warm": "2",
        "Score for Warm from correct answers": "2",
        "Score for Cold": "0",
        "Score for Cold from correct answers": "0",
        "Number of correct answers": "1",
    }


def test_actions_give_what_they_would_give_a_member():
    gift = rewards.giving(xp_amount=50, prompt="Take [xp_points] [xp_name].") | {"key": "gift", "name": "g"}
    preview = Editor(gift, BYE).look()

    assert prompt(preview) == "Take 50 XP."
    assert told(preview)["given"] == {"gift": 50}


def test_on_anonymous_projects_nobody_is_named():
    preview = choose(Editor(COLOUR, WHY, privacy_mode="anonymous").look())

    assert prompt(preview) == "Why red, ?"


def test_each_member_of_the_staff_has_a_walk_of_their_own():
    editor = Editor(COLOUR, WHY)
    choose(editor.look()).remember()
    other = scenario.member("Omar")

    theirs = previews.open_preview(
        actor=actor(user_id=other.user_id, community_id=editor.project.community_id),
        project=editor.project,
        at=LUNCHTIME,
    )

    assert prompt(theirs) == "Stored?"


def test_a_form_carries_its_own_walk():
    editor = Editor(COLOUR, WHY)
    first = editor.look()
    choose(first).remember()

    carried = editor.look().carried_by(first.seal())

    assert prompt(carried) == "Which colour?"


def test_a_form_of_another_preview_is_not_read():
    editor = Editor(COLOUR, WHY)
    preview = choose(editor.look())
    foreign = memory.seal("1:1", preview.walk)

    assert editor.look().carried_by(foreign).walk.state.path == ()
