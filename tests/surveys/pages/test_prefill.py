"""Answers that the address of a page fills in, and the extent of `&skip=1` (rules 6.37 and 6.38)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import product
from typing import Any
from urllib.parse import quote

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from surveys.engine.script import NUMBERS, QUESTIONS, WITH_ITEMS, Block
from surveys.engine.walk import prefill
from surveys.engine.walk.answers import Reply
from surveys.models import Answer, Conversation, Project
from surveys.pages.respondent import prefilled
from surveys.services.conversations.prefill import MAX_BYTES, Use, explain, of_address
from tests.support.surveys import scenario
from tests.support.surveys.scenario import CHOICE, SAYING, TEXT
from tests.support.surveys.visitor import Visitor

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("in_no_hurry")]
NAME = {**TEXT, "name": "First name"}
COLOUR = {**CHOICE, "name": "colour"}
REASON = {**TEXT, "name": "reason", "prompt": "Why?"}
KINDS = pytest.mark.parametrize("kind", ["plain", "htmx", "framed"])


def visitor(made: Project, kind: str = "plain") -> Visitor:
    return Visitor(made, is_framed=kind == "framed", htmx=kind == "htmx")


def look(visiting: Visitor, query: str) -> Visitor:
    return visiting.look(("&" if "?" in visiting.address else "?") + query)


def survey(*blocks: Any, **fields: Any) -> Project:
    return scenario.project(*(blocks or (NAME, COLOUR, REASON)), **fields)


def field_text(visiting: Visitor) -> str:
    """The value of the text field."""
    return visiting.page.partition("<textarea")[2].partition(">")[2].partition("</textarea>")[0]


def is_checked(visiting: Visitor, text: str) -> bool:
    before = visiting.page.partition(f">{text}</span>")[0]
    return "checked" in before.rpartition("<input")[2]


def stored() -> dict[str, str]:
    return dict(Answer.objects.order_by("block_id").values_list("block__name", "value"))


# --- Filling in -----------------------------------------------------------------------------------------


@KINDS
def test_each_question_is_filled_in_when_it_comes(kind: str) -> None:
    visiting = look(visitor(survey(), kind), "first_name=Ann&colour=green&reason=So")

    assert field_text(visiting) == "Ann"
    visiting.send(value="Ann")
    assert is_checked(visiting, "green")
    assert not is_checked(visiting, "red")
    visiting.send(option=scenario.script(Project.objects.get()).blocks[1].options[1].id)
    assert field_text(visiting) == "So"


def test_a_look_stores_nothing() -> None:
    Visitor(survey()).look("?first_name=Ann&colour=red&skip=1")

    assert Conversation.objects.count() == 0


def test_a_reload_of_the_clean_address_keeps_what_was_filled_in() -> None:
    visiting = Visitor(survey()).look("?first_name=Ann")

    assert field_text(visiting.look()) == "Ann"


def test_what_was_emptied_and_refused_stays_empty() -> None:
    visiting = Visitor(survey({**NAME, "required": True}, REASON)).look("?first_name=Ann").send(value="")

    assert visiting.status == 422
    assert field_text(visiting) == ""


@pytest.mark.parametrize("query", ["colour=pink", "colour=", "unknown=x", "colour=a%00b"])
def test_a_value_that_does_not_fit_is_left_out(query: str) -> None:
    visiting = Visitor(survey(COLOUR, REASON)).look(f"?{query}&skip=1")

    assert visiting.status == 200
    assert "checked" not in visiting.page
    assert "Prompt 0." in visiting.page


def test_what_is_filled_in_is_no_markup() -> None:
    visiting = Visitor(survey()).look("?first_name=%3C/textarea%3E%3Cscript%3Ealert(1)%3C/script%3E")

    assert "<script>alert" not in visiting.response.content.decode()


@pytest.mark.parametrize(("length", "is_taken"), [(1_988, True), (1_989, False)])
def test_values_are_taken_up_to_what_a_cookie_keeps(length: int, is_taken: bool) -> None:
    visiting = Visitor(survey()).look(f"?first_name={'x' * length}")

    assert (field_text(visiting) != "") is is_taken
    assert (prefilled.COOKIE in visiting.client.cookies) is is_taken


def test_the_page_s_own_parameters_fill_in_nothing() -> None:
    visiting = Visitor(survey({**TEXT, "name": "taken"}, REASON)).look("?taken=1")

    assert field_text(visiting) == ""


@pytest.mark.parametrize("name", ["again", "change", "at"])
def test_no_address_to_which_a_form_leads_fills_in_a_question(name: str) -> None:
    made = survey({**TEXT, "name": name}, {**TEXT, "name": "more"}, max_completes_per_user=2)
    visiting = Visitor(made).look(f"?{name}=Yes").send(value="Yes").send("back")

    assert field_text(visiting) == "Yes"
    visiting.send(value="No").send(value="Done").send("again")
    assert field_text(visiting) == ""


def test_a_declared_field_comes_before_a_block_of_its_name() -> None:
    visiting = Visitor(survey(hidden_fields=["first_name"])).look("?first_name=Ann")

    assert field_text(visiting) == ""
    visiting.send(value="a")
    assert Conversation.objects.get().state["fields"] == {"first_name": "Ann"}


def test_a_number_is_written_as_the_page_s_language_reads_it() -> None:
    made = survey({"type": "open_numeric", "name": "size"}, REASON, presentation={})
    made.community.locale = "de"
    made.community.save()

    visiting = Visitor(made).look("?size=12,125")
    assert 'value="12,1250"' in visiting.page  # with three decimals it could mean thousands
    visiting.send(value="12,1250")

    assert stored() == {"size": "12.125"}
    assert 'value="12,1250"' in visiting.send("back").page


def test_a_ranking_is_shown_in_its_order_and_counts_for_nothing_yet() -> None:
    ranking = {"type": "ranking", "name": "best", "options": ["red", "green", "blue"]}

    visiting = Visitor(survey(ranking, REASON)).look("?best=blue,red,green&skip=1")

    order = [visiting.page.index(f">{each}</label>") for each in ("blue", "red", "green")]
    assert order == sorted(order)
    assert "selected" not in visiting.page
    visiting.send()
    assert (visiting.status, stored()) == (422, {})
    visiting.send("skip")
    assert stored() == {}


@pytest.mark.parametrize("fields", [{}, {"rank_top_n": 2}])
def test_a_ranking_that_is_refused_keeps_the_order_of_the_address(fields: Any) -> None:
    ranking = {"type": "ranking", "name": "best", "options": ["red", "green", "blue"], "required": True}
    named = "blue,red" if fields else "blue,red,green"

    visiting = Visitor(survey({**ranking, **fields}, REASON)).look(f"?best={named}").send()

    assert visiting.status == 422
    order = [visiting.page.index(f">{each}</label>") for each in ("blue", "red", "green")]
    assert order == sorted(order)


def test_the_end_forgets_what_was_filled_in() -> None:
    visiting = Visitor(survey(NAME, max_completes_per_user=2)).look("?first_name=Ann").send(value="Ann")

    assert visiting.client.cookies[prefilled.COOKIE].value == ""
    assert field_text(visiting.send("again")) == ""


def test_a_form_of_another_page_fills_in_nothing() -> None:
    other = Visitor(survey(NAME, NAME | {"name": "b"})).look("?first_name=Ann")
    visiting = Visitor(survey()).look()

    visiting.hidden["ahead"] = other.hidden["ahead"]
    visiting.send(value="x").send("back")

    assert "ahead" not in visiting.hidden


def test_values_that_do_not_fit_take_their_part_of_the_address_too(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []
    parse = prefill.parse

    def counted(block: Block, texts: Sequence[str]) -> Reply | None:
        read.extend(texts)
        return parse(block, texts)

    monkeypatch.setattr(prefill, "parse", counted)
    made = survey({**COLOUR, "name": "coloured"}, NAME)
    spellings = ["".join(each) for each in product(*((letter, letter.upper()) for letter in "coloured"))]
    query = {"first_name": ["Ann"], **{name: ["x"] for name in spellings}}

    filled = of_address(project=made, query=query, language="en")
    taken = len(read)
    explained = explain(project=made, query=query, language="en")

    assert list(filled.texts.values()) == [["Ann"]]
    assert taken == MAX_BYTES // 13 < len(spellings)  # each x takes 12 bytes more
    assert Counter(each.use for each in explained) == {
        Use.FILLED: 1,
        Use.INVALID: taken - 1,
        Use.TOO_LONG: len(query) - taken,
    }
    assert len(read) == 2 * taken


# --- Skipping -------------------------------------------------------------------------------------------


@KINDS
def test_the_first_press_saves_what_was_answered_ahead(kind: str) -> None:
    visiting = look(visitor(survey(), kind), "first_name=Ann&colour=green&skip=1")

    assert "Why?" in visiting.page
    assert "Ann" in visiting.page.partition('id="history"')[2]
    visiting.send(value="So")

    assert stored() == {"First name": "Ann", "colour": "green", "reason": "So"}
    assert scenario.counts(Project.objects.get()) == {"answered": 3, "completed": 1, "listed": 1}
    assert scenario.recounted(Project.objects.get()) == scenario.counts(Project.objects.get())


@KINDS
def test_questions_further_on_are_passed_when_their_turn_comes(kind: str) -> None:
    made = survey(NAME, COLOUR, REASON, {**TEXT, "name": "more", "prompt": "More?"})

    visiting = look(visitor(made, kind), "colour=red&reason=So&skip=1").send(value="Ann")

    assert "More?" in visiting.page
    assert stored() == {"First name": "Ann", "colour": "red", "reason": "So"}


def test_without_skip_each_question_waits() -> None:
    visiting = Visitor(survey()).look("?first_name=Ann&colour=red").send(value="Ann")

    assert stored() == {"First name": "Ann"}
    assert "Prompt 1." in visiting.page


def test_a_text_before_is_shown_and_what_follows_it_is_passed() -> None:
    visiting = Visitor(survey(SAYING, NAME, REASON)).look("?first_name=Ann&skip=1")

    assert "Prompt 0." in visiting.page
    assert "Why?" in visiting.send("go").page
    assert stored() == {"First name": "Ann"}


def test_the_last_question_waits_for_a_press() -> None:
    visiting = Visitor(survey()).look("?first_name=Ann&colour=red&reason=So&skip=1")

    assert field_text(visiting) == "So"
    visiting.send(value="So")
    assert scenario.counts(Project.objects.get())["completed"] == 1


def test_going_back_shows_what_was_passed_and_changes_it() -> None:
    visiting = Visitor(survey(NAME, COLOUR, REASON, TEXT)).look("?first_name=Ann&colour=red&skip=1")
    visiting.send(value="So").send("back").send("back")

    assert is_checked(visiting, "red")
    visiting.send("back")
    assert field_text(visiting) == "Ann"
    visiting.send(value="Bea")

    assert stored()["First name"] == "Bea"
    assert is_checked(visiting, "red")


@KINDS
def test_going_back_from_the_first_page_shows_each_question(kind: str) -> None:
    visiting = look(visitor(survey(), kind), "first_name=Ann&colour=red&skip=1").send("back")

    assert field_text(visiting) == "Ann"
    visiting.send(value="Bea")
    assert is_checked(visiting, "red")
    assert stored() == {"First name": "Bea"}


def test_a_poll_s_vote_needs_a_press() -> None:
    made = scenario.project(COLOUR, type="poll")
    visiting = Visitor(made).look("?colour=green&skip=1")

    assert is_checked(visiting, "green")
    assert scenario.counts(made)["completed"] == 0
    visiting.send(option=scenario.script(made).blocks[0].options[1].id)
    assert stored() == {"colour": "green"}


def test_an_anonymous_project_shows_every_question() -> None:
    made = survey(privacy_mode="anonymous")

    visiting = Visitor(made).look("?first_name=Ann&colour=red&skip=1")

    assert field_text(visiting) == ""
    visiting.send(value="Ann")
    assert is_checked(visiting, "red")


@pytest.mark.parametrize("type", sorted(QUESTIONS))
def test_an_address_leaves_no_unseen_mark_in_an_anonymous_answer(type: str) -> None:
    """Rule 6.820: U+FE00 looks like nothing, and so do decimals beyond the edge of a field."""
    options = {"options": ["red", "green"]} if type in WITH_ITEMS else {}
    made = survey({"type": type, "name": "x", **options}, TEXT)
    mark = f"3.{'0' * 60}17" if type in NUMBERS else "\ufe00\ufe01"

    shown = []
    for mode in ("transparent", "anonymous"):
        Project.objects.update(privacy_mode=mode)
        shown.append(mark in Visitor(made).look(f"?x={quote(mark)}").page)

    assert shown == [type in ("open_text", "open_numeric"), False]


@KINDS
def test_what_was_passed_before_a_project_became_anonymous_is_shown_now(kind: str) -> None:
    made = survey()
    visiting = look(visitor(made, kind), "first_name=Ann&colour=red&skip=1")
    Project.objects.update(privacy_mode="anonymous")

    visiting.send(value="Because")

    assert "Ann" not in visiting.page
    assert stored() == {}
    visiting.send(value="Ann")
    assert is_checked(visiting, "red")
    assert stored() == {"First name": "Ann"}


def test_a_cookie_from_before_a_project_became_anonymous_passes_nothing() -> None:
    visiting = look(Visitor(survey()), "first_name=Ann&colour=red&skip=1")
    assert "Why?" in visiting.page
    Project.objects.update(privacy_mode="anonymous")

    assert field_text(visiting.look()) == ""


def test_feedback_is_read_before_the_next_question_is_passed() -> None:
    quiz = {**COLOUR, "correct_answer_ids": (), "when_correct": "Right!", "when_incorrect": "No."}
    made = survey(quiz, NAME, REASON, scoring_enabled=True)
    block = scenario.script(made).blocks[0]
    made.blocks.filter(pk=block.id).update(correct_answer_ids=[block.options[0].id])
    made.revision += 1
    made.save()

    visiting = Visitor(made).look("?first_name=Ann&skip=1").send(option=block.options[0].id)

    assert "Right!" in visiting.page
    assert field_text(visiting) == "Ann"


def test_a_conversation_that_was_begun_goes_on_from_where_it_is() -> None:
    visiting = Visitor(survey()).look().send(value="Ann")

    visiting.look("?colour=red&skip=1")

    assert is_checked(visiting, "red")
    assert stored() == {"First name": "Ann"}


@pytest.mark.parametrize("is_begun", [False, True], ids=["as it begins", "later"])
def test_what_one_press_passes_is_saved_at_once(is_begun: bool) -> None:
    named = [{**NAME, "name": f"name {n}"} for n in range(12)]
    blocks = [SAYING, *named, REASON] if is_begun else [*named, REASON, TEXT]
    saved = {}
    for count in (2, 12):
        made = survey(*blocks[: is_begun + count], *blocks[is_begun + 12 :])
        query = "&".join(f"name_{n}=Ann+{n}" for n in range(count))
        visiting = Visitor(made).look(f"?{query}&skip=1")
        with CaptureQueriesContext(connection) as statements:
            visiting.send("go") if is_begun else visiting.send(value="So")
        saved[count] = len([each for each in statements if "surveys_tally" in each["sql"]])
        answers = {f"name {n}": f"Ann {n}" for n in range(count)} | ({} if is_begun else {"reason": "So"})
        rows = Answer.objects.filter(conversation__project=made)
        assert dict(rows.values_list("block__name", "value")) == answers
        assert scenario.counts(made) == {"answered": len(answers), "completed": 0, "listed": 1}
        assert scenario.recounted(made) == scenario.counts(made)

    assert saved == {2: saved[2], 12: saved[2]}
    assert 0 < saved[2] <= 2


def test_two_presses_of_one_page_save_once() -> None:
    visiting = Visitor(survey(NAME, COLOUR, REASON, TEXT)).look("?first_name=Ann&colour=red&skip=1")
    form = {**visiting.hidden, "do": "answer", "value": "So"}

    for _ in range(2):
        visiting.client.post(visiting.address, form)

    assert Conversation.objects.count() == 1
    assert stored() == {"First name": "Ann", "colour": "red", "reason": "So"}


# --- Traps ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("do", ["answer", "go"])
def test_a_script_is_too_fast_also_past_a_text(do: str, settings: Any) -> None:
    settings.LEAST_SECONDS_TO_FIRST_ANSWER = 60
    blocks = (SAYING, NAME, REASON) if do == "go" else (NAME, REASON, TEXT)

    Visitor(survey(*blocks)).look("?first_name=Ann&skip=1").send(do, value="x")

    assert Conversation.objects.count() == 0


def test_a_script_in_the_honeypot_saves_nothing() -> None:
    Visitor(survey()).look("?first_name=Ann&colour=red&skip=1").send(value="So", leave_empty="x")

    assert Conversation.objects.count() == 0
