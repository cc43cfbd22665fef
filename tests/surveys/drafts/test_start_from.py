"""The ways to start a draft: a sentence, a template, a file, another project."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from communities.models import Community
from surveys.ai.provider import ProposedScript, RevisionRequest
from surveys.models import Generation
from surveys.services.ai_work import draft_generation, generation
from surveys.services.drafts import keys
from surveys.services.scripts import templates as library
from tests.support.caller import CHOICE, SAYING, TEXT, Caller
from tests.support.dumps import dump
from tests.support.moments import NOON
from tests.support.staff import Staff
from tests.support.surveys.draft_provider import BAD, GOOD, down, provide

pytestmark = pytest.mark.django_db

INTENT = {"intent": "Ask how the club evening was"}


class Scene:
    """A project and a staff member who edits it."""

    def __init__(self, *blocks: Any, credits: int = 10, is_open: bool = False, **fields: Any) -> None:
        self.caller = Caller()
        make = self.caller.make_open if is_open else self.caller.make
        self.made = make(*(blocks or (TEXT,)), **fields)
        Community.objects.filter(pk=self.caller.community.pk).update(bot_credits=credits)
        self.staff = Staff(community=self.caller.community)

    @property
    def credits(self) -> int:
        self.caller.community.refresh_from_db()
        return self.caller.community.bot_credits

    def ask(self, body: Any, *, by: Staff | None = None) -> Any:
        return (by or self.staff).send("post", f"{self.base}generate/", body)

    def look(self, job: int, *, by: Staff | None = None) -> Any:
        return (by or self.staff).send("get", f"{self.base}generate/{job}/")

    def cancel(self, job: int) -> Any:
        return self.staff.send("delete", f"{self.base}generate/{job}/")

    @property
    def base(self) -> str:
        return f"/admin/surveys/project/{self.made['id']}/script/"


def types(answered: Any) -> list[str]:
    assert answered.status_code == 200, answered.content
    return [block["type"] for block in answered.json()["blocks"]]


# --- A sentence -------------------------------------------------------------------------------------


def test_ai_writes_blocks_for_the_draft_and_spends_credits_once_they_are_fetched(monkeypatch, settings):
    scene = Scene()
    asked = provide(monkeypatch, settings, GOOD).asked

    begun = scene.ask(INTENT)
    job = begun.json()["id"]
    waiting = scene.look(job).json()
    generation.run(generation_id=job)
    written = scene.look(job)

    assert (begun.status_code, begun.json()["credits"], waiting["status"]) == (202, 1, "pending")
    assert types(written) == ["rating", "open_text"]
    assert written.json()["violations"] == []
    assert scene.look(job).json()["blocks"] == written.json()["blocks"]
    assert scene.credits == 9
    assert asked[0][0].scoring is False


def test_a_template_is_called_one_with_what_was_understood_and_not_met():
    scene = Scene()
    intent = "Rate the food and the music, ask why they came. Open until Friday."

    job = scene.ask({"intent": intent}).json()["id"]
    generation.run(generation_id=job)
    written = scene.look(job).json()

    assert (written["method"], written["status"]) == ("template", "completed")
    assert written["understood"] == [
        "Questions taken from your sentence: the food, the music, why they came."
    ]
    assert written["unmet"] == ["The closing time (Friday) is set when you open the project."]


@pytest.mark.parametrize("mode", ["transparent", "semi-private", "anonymous"])
def test_anonymous_answers_are_understood_only_if_the_project_is_anonymous(mode):
    """Rule 10.75."""
    scene = Scene(privacy_mode=mode)

    job = scene.ask({"intent": "Rate the food and the music, ask why they came. Anonymous."}).json()["id"]
    generation.run(generation_id=job)
    written = scene.look(job).json()

    is_anonymous = mode == "anonymous"
    assert ("The answers shall be anonymous." in written["understood"]) == is_anonymous
    assert written["unmet"] == (
        []
        if is_anonymous
        else [
            f"You asked for anonymous answers, and this project is {mode}. "
            "Choose Anonymous under Delivery before it opens."
        ]
    )


def test_an_intent_in_a_language_without_templates_is_told_in_a_sentence():
    scene = Scene()

    job = scene.ask({"intent": "sondaggio sui pasti della nostra mensa"}).json()["id"]
    generation.run(generation_id=job)
    told = scene.look(job).json()

    assert told["status"] == "failed"
    assert "Write the intent in one of them" in told["error"]
    assert scene.credits == 10


def test_what_was_fetched_is_not_given_back_when_the_job_is_cleared(monkeypatch, settings):
    scene = Scene()
    provide(monkeypatch, settings, GOOD)
    job = scene.ask(INTENT).json()["id"]
    generation.run(generation_id=job)
    scene.look(job)

    Generation.objects.update(completed_at=NOON)
    generation.take_up(at=NOON + 2 * generation.KEPT_FOR)

    assert (Generation.objects.count(), scene.credits) == (0, 9)


def test_the_project_itself_is_not_changed(monkeypatch, settings):
    scene = Scene()
    provide(monkeypatch, settings, GOOD)
    before = dump()["surveys_block"]

    job = scene.ask(INTENT).json()["id"]
    generation.run(generation_id=job)
    scene.look(job)

    assert dump()["surveys_block"] == before


@pytest.mark.parametrize("answer", [down(), BAD])
def test_a_failure_is_told_and_gives_the_credits_back(monkeypatch, settings, answer):
    scene = Scene()
    provide(monkeypatch, settings, answer)

    job = scene.ask(INTENT).json()["id"]
    generation.run(generation_id=job)
    told = scene.look(job).json()

    assert told["status"] == "failed"
    assert told["error"].endswith(".")
    assert "blocks" not in told
    assert scene.credits == 10


def test_a_cancelled_job_gives_the_credits_back_and_its_result_is_discarded(monkeypatch, settings):
    scene = Scene()
    provide(monkeypatch, settings, GOOD)
    job = scene.ask(INTENT).json()["id"]

    assert scene.cancel(job).status_code == 204

    generation.run(generation_id=job)
    assert scene.credits == 10
    assert scene.look(job).status_code == 404


def test_a_job_cancelled_while_a_worker_has_it_is_discarded(monkeypatch, settings):
    scene = Scene()

    def cancelled_meanwhile() -> Any:
        scene.cancel(Generation.objects.get().pk)
        return GOOD

    provide(monkeypatch, settings, cancelled_meanwhile)
    job = scene.ask(INTENT).json()["id"]
    generation.run(generation_id=job)

    assert (Generation.objects.count(), scene.credits) == (0, 10)


def test_too_few_credits_are_told(monkeypatch, settings):
    scene = Scene(credits=0)
    provide(monkeypatch, settings, GOOD)

    refused = scene.ask(INTENT)

    assert refused.status_code == 402
    assert refused.json()["message"] == "This takes 1 credit, and the community has 0 credits left."


def test_one_draft_has_one_job_at_a_time(monkeypatch, settings):
    scene = Scene()
    provide(monkeypatch, settings, GOOD)
    scene.ask(INTENT)

    again = scene.ask(INTENT)

    assert (again.status_code, again.json()["message"]) == (409, draft_generation.ALREADY)


def test_a_job_is_there_for_its_owner_alone(monkeypatch, settings):
    scene = Scene()
    provide(monkeypatch, settings, GOOD)
    job = scene.ask(INTENT).json()["id"]
    colleague = Staff(community=scene.caller.community)

    assert scene.look(job, by=colleague).status_code == 404


@pytest.mark.parametrize("intent", ["", "   ", "x" * 4_001, 7])
def test_an_intent_that_says_nothing_is_refused(intent):
    assert Scene().ask({"intent": intent}).status_code == 400


# --- A change ---------------------------------------------------------------------------------------

CHANGE = {"instruction": "Shorter"}
FRESH = TEXT | {"key": "n1", "id": None, "name": "fresh", "prompt": "What else?"}
PICK = {
    **CHOICE,
    "key": "n2",
    "id": None,
    "name": "pick",
    "options": [{"value": "a", "key": "o1", "id": None}, {"value": "b", "key": "o2", "id": None}],
    "correct_answer_index": 1,
}


def keep(scene: Scene, *blocks: Any) -> None:
    body = {"blocks": list(blocks), "revision": scene.made["script"]["revision"], "version": None}
    kept = scene.staff.send("put", f"{scene.base}draft/", body)
    assert kept.status_code == 200, kept.content


def reversed_and_shorter(request: RevisionRequest) -> ProposedScript:
    """All blocks the other way round, each with a shorter text, and a new one."""
    blocks = [{**block, "prompt": "Short?"} for block in reversed(request.blocks)]
    new = {"type": "open_text", "prompt": "New?", "name": "new"}
    return ProposedScript([*blocks, new], understood=("Shorter.",), unmet=("No rhymes.",))


def test_ai_changes_the_draft_with_what_is_not_saved_yet(monkeypatch, settings):
    """Rule 10.57."""
    scene = Scene(TEXT)
    provide(monkeypatch, settings).revise = reversed_and_shorter
    (stored,) = scene.made["script"]["blocks"]
    keep(scene, stored, FRESH, PICK)

    begun = scene.ask(CHANGE)
    generation.run(generation_id=begun.json()["id"])
    told = scene.look(begun.json()["id"]).json()

    assert (begun.status_code, begun.json()["credits"], scene.credits) == (202, 1, 9)
    assert [(block["id"], block.get("key"), block["prompt"]) for block in told["blocks"]] == [
        (None, "n2", "Short?"),
        (None, "n1", "Short?"),
        (stored["id"], None, "Short?"),
        (None, None, "New?"),
    ]
    pick = told["blocks"][0]
    assert [(option["id"], option["key"]) for option in pick["options"]] == [(None, "o1"), (None, "o2")]
    assert (pick["correct_answer_ids"], pick["correct_answer_index"]) == (None, 1)
    assert (told["understood"], told["unmet"], told["violations"]) == (["Shorter."], ["No rhymes."], [])


def test_each_block_and_option_that_a_model_is_shown_has_an_id_of_its_own(monkeypatch, settings):
    scene = Scene(TEXT)
    provide(monkeypatch, settings)
    (stored,) = scene.made["script"]["blocks"]
    keep(scene, stored, FRESH, PICK)

    scene.ask(CHANGE)

    shown = Generation.objects.get().request["blocks"]
    ids = [block["id"] for block in shown] + [option["id"] for option in shown[2]["options"]]
    assert ids[0] == stored["id"]
    assert len(set(ids)) == 5
    assert all(each < 0 for each in ids[1:])


def test_without_a_draft_ai_changes_the_script(monkeypatch, settings):
    scene = Scene(TEXT)
    provide(monkeypatch, settings)

    begun = scene.ask(CHANGE)
    generation.run(generation_id=begun.json()["id"])

    (block,) = scene.look(begun.json()["id"]).json()["blocks"]
    assert block["id"] == scene.made["script"]["blocks"][0]["id"]


def test_a_right_answer_that_a_model_names_among_new_options_is_named_by_its_index():
    blocks = [{"id": -1, "options": [{"id": -2}, {"id": -3}, {"id": 7}], "correct_answer_ids": [-3]}]

    assert keys.unnumbered(blocks) == [
        {
            "id": None,
            "options": [{"id": None}, {"id": None}, {"id": 7}],
            "correct_answer_ids": None,
            "correct_answer_index": 1,
            "correct_answer_indexes": [1],
        }
    ]


def test_a_draft_with_faults_is_corrected_before_ai_changes_it(monkeypatch, settings):
    """Rule 10.57."""
    scene = Scene(TEXT)
    provide(monkeypatch, settings)
    keep(scene, TEXT | {"prompt": ""})

    refused = scene.ask(CHANGE)

    assert (refused.status_code, refused.json()["message"]) == (409, draft_generation.HAS_FAULTS)
    assert (Generation.objects.count(), scene.credits) == (0, 10)


def test_without_a_model_the_reason_is_told_before_and_after():
    scene = Scene()

    refused = scene.ask(CHANGE)
    told = scene.staff.send("get", f"{scene.base}templates/").json()["why_no_change"]

    assert (refused.status_code, refused.json()["message"]) == (409, told)
    assert told.startswith("Changing a script by an instruction needs a model.")


@pytest.mark.parametrize("instruction", ["", "   ", "x" * 4_001, "a\x00", 7])
def test_an_instruction_that_says_nothing_is_refused(monkeypatch, settings, instruction):
    provide(monkeypatch, settings)

    refused = Scene().ask({"instruction": instruction})

    assert refused.status_code == 400
    assert [each["field"] for each in refused.json()["violations"]] == ["instruction"]


# --- A template, a file, another project ------------------------------------------------------------


def test_the_library_is_searched_and_tells_the_cost(monkeypatch, settings):
    scene = Scene()
    provide(monkeypatch, settings, GOOD)

    found = scene.staff.send("get", f"{scene.base}templates/?search=promoter").json()

    expected = [template.id for template in library.search_templates(search="promoter")]
    assert [each["id"] for each in found["templates"]] == expected
    assert len(expected) < len(library.search_templates())
    assert found["templates"][0]["block_count"] > 0
    assert found["credits"] == {"cost": 1, "left": 10}


def test_the_script_of_another_project_is_copied_as_new_blocks():
    right = CHOICE | {"name": "q", "correct_answer_index": 1}
    scene = Scene()
    other = scene.caller.make(right, TEXT, name="Last year")

    copied = scene.ask({"project": int(other["id"])})

    assert types(copied) == ["single_punch", "open_text"]
    first = copied.json()["blocks"][0]
    assert (first["id"], first["correct_answer_ids"], first["correct_answer_index"]) == (None, None, 1)
    assert [option["id"] for option in first["options"]] == [None, None, None]
    assert copied.json()["violations"] == []


def test_a_project_of_another_community_is_not_there():
    foreign = Caller().make(TEXT)

    assert Scene().ask({"project": int(foreign["id"])}).status_code == 404


def test_a_file_is_checked_in_place():
    scene = Scene()
    blocks = [TEXT | {"id": 999_999_999}, TEXT | {"type": "nonsense"}, 7]

    found = scene.ask({"blocks": blocks}).json()

    assert found["blocks"][0]["id"] is None
    fields = [each["field"] for each in found["violations"]]
    assert "blocks[1].type" in fields
    assert "blocks[2]" in fields


def test_an_exported_script_is_imported_as_it_was():
    scene = Scene(CHOICE | {"correct_answer_index": 1}, TEXT)
    exported = scene.staff.client.get(f"{scene.base}export/").json()

    found = scene.ask({"blocks": exported["blocks"]}).json()

    assert found["violations"] == []
    assert [block["id"] for block in found["blocks"]] == [block["id"] for block in exported["blocks"]]


@pytest.mark.parametrize("body", [{"template": "general-survey"}, CHANGE])
def test_while_the_project_is_open_nothing_is_started_from(body):
    """Rule 10.57."""
    refused = Scene(is_open=True).ask(body)

    assert (refused.status_code, refused.json()["message"]) == (409, draft_generation.IS_LIVE)


@pytest.mark.parametrize("body", [{}, {"intent": "a", "template": "b"}, {"project": "x"}, {"blocks": 7}])
def test_a_request_for_nothing_or_two_things_is_refused(body):
    assert Scene().ask(body).status_code == 400


def test_whatever_a_draft_starts_from_has_no_names_like_positions():
    scene = Scene()
    other = scene.caller.make(CHOICE, TEXT | {"prompt": "Why [Q0]?"}, name="Last year")
    exported = [{"type": "open_text", "name": "q3", "prompt": "How old are you?"}, TEXT, SAYING]

    copied = scene.ask({"project": int(other["id"])}).json()["blocks"]
    imported = scene.ask({"blocks": exported}).json()["blocks"]

    assert [block["name"] for block in other["script"]["blocks"]] == ["q0", "q1"]
    assert [block["name"] for block in copied] == ["which_colour", "why"]
    assert copied[1]["prompt"] == "Why [which_colour]?"
    assert [block["name"] for block in imported] == ["how_old_are_you", "why", "welcome"]


# --- An earlier version -----------------------------------------------------------------------------


def versions(scene: Scene, search: str = "") -> list[Any]:
    found: list[Any] = scene.staff.send("get", f"{scene.base}versions/?search={search}").json()["versions"]
    return found


def write(scene: Scene, blocks: list[Any]) -> None:
    answer = scene.caller.put(f"/projects/{scene.made['id']}/script", {"blocks": blocks})
    assert answer.status_code == 200, answer.content


def said(block: dict[str, Any]) -> Any:
    """What a block is, apart from ids: its options in their order, and the places of its right answers."""
    options = [(each["value"], each["label"], each["score_values"]) for each in block["options"] or ()]
    right = block["correct_answer_indexes"]
    names = ("name", "type", "prompt", "section", "required", "hide_when", "show_when", "description")
    return [[block[name] for name in names], options, right]


def test_each_earlier_version_is_as_the_script_was() -> None:
    """Rule 3.190."""
    scene = Scene({**TEXT, "name": "first"}, scoring_enabled=True)
    chance = Random(28)
    before = list[list[Any]]()
    for step in range(12):
        blocks = scene.caller.get(f"/projects/{scene.made['id']}/script").json()["blocks"]
        before.insert(0, blocks)
        write(scene, changed(blocks, step, chance))

    found = versions(scene)

    assert len(found) == 12
    for each, blocks in zip(found, before, strict=True):
        answered = scene.ask({"version": each["id"]}).json()
        assert [said(block) for block in answered["blocks"]] == [said(block) for block in blocks]
        assert answered["violations"] == []


def changed(blocks: list[Any], step: int, chance: Random) -> list[Any]:
    """Another script: blocks and options are added, removed, moved and changed."""
    blocks = [{name: value for name, value in block.items() if name != "position"} for block in blocks]
    for block in chance.sample(blocks, k=min(2, len(blocks))):
        block["prompt"] = f"Changed at step {step}?"
        if block["options"]:
            options = [{**each, "display_order": None} for each in block["options"]]
            chance.shuffle(options)
            new = {"value": f"Option of step {step}", "score_values": {"score": step}}
            block |= {"options": [*options[-3:], new], "correct_answer_ids": [options[-1]["id"]]}
    if len(blocks) > 3:
        blocks.remove(chance.choice(blocks))
    new_block = {**CHOICE, "name": f"step_{step}", "correct_answer_index": 1}
    blocks.insert(
        chance.randint(0, len(blocks)), chance.choice([new_block, {**TEXT, "name": f"step_{step}"}])
    )
    if step % 3 == 0:
        chance.shuffle(blocks)
    return blocks


def test_blocks_that_the_script_still_has_keep_their_ids_in_an_earlier_version() -> None:
    """Rule 3.190."""
    scene = Scene({**TEXT, "name": "kept"}, {**CHOICE, "name": "gone"})
    kept, _ = scene.made["script"]["blocks"]
    write(scene, [{**kept, "prompt": "New?"}])

    [latest] = versions(scene)
    back = scene.ask({"version": latest["id"]}).json()["blocks"]

    assert (latest["added"], latest["removed"], latest["changed"]) == (0, 1, 1)
    assert [(each["name"], each["id"], each["prompt"]) for each in back] == [
        ("kept", kept["id"], kept["prompt"]),
        ("gone", None, CHOICE["prompt"]),
    ]
    assert [option["id"] for option in back[1]["options"]] == [None] * len(CHOICE["options"])


def test_versions_are_found_by_who_changed_the_script() -> None:
    scene = Scene()
    write(scene, [CHOICE])
    [latest] = versions(scene)

    assert [each["id"] for each in versions(scene, latest["by"][:4].upper())] == [latest["id"]]
    assert versions(scene, "nobody of that name") == []


@pytest.mark.parametrize(
    ("version", "status"), [("none", 400), (7, 400), ("0197f7a0-0000-7000-8000-000000000000", 404)]
)
def test_a_version_that_does_not_exist_is_refused(version: object, status: int) -> None:
    assert Scene().ask({"version": version}).status_code == status


def test_the_versions_of_another_script_are_no_versions_of_this_one() -> None:
    scene, other = Scene(), Scene()
    write(other, [CHOICE])
    [entry] = versions(other)

    assert scene.ask({"version": entry["id"]}).status_code == 404
    assert versions(scene) == []


def test_the_list_of_versions_reads_no_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """They may be megabytes (rule 3.190)."""
    scene = Scene()
    for prompt in ("One?", "Two?"):
        write(scene, [TEXT | {"prompt": prompt}])

    with CaptureQueriesContext(connection) as sent:
        found = versions(scene)

    assert [(each["added"], each["removed"], each["changed"]) for each in found] == [(1, 1, 0), (1, 1, 0)]
    [reading] = [each["sql"] for each in sent if "jsonb_path_query_array" in each["sql"]]
    columns = reading.partition(" FROM ")[0]
    assert '"communities_auditentry"."before"' not in columns
    assert '"communities_auditentry"."after"' not in columns
