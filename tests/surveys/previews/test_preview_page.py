"""The page of a preview: the respondent's own, in a frame of the editor, with nothing stored."""

from __future__ import annotations

import html
import json
import re
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client

from communities.gate import authentication
from communities.models import Mail
from surveys.drawing import past
from surveys.drawing.security import FRAMED_BY_US
from surveys.engine.script import Block
from surveys.models import Project
from surveys.services.scripts import cache as script_cache
from tests.support.caller import CHOICE, SAYING, TEXT, Caller
from tests.support.dumps import dump
from tests.support.staff import Staff
from tests.support.surveys.visitor import Visitor

pytestmark = pytest.mark.django_db

KEYED = CHOICE | {"key": "colour", "name": "colour"}
GIFT = {
    "key": "gift",
    "name": "gift",
    "type": "action_block",
    "prompt": "Take this.",
    "action_kind": "give_xp",
    "action_config": {"xp_amount": 20},
}


class PreviewVisitor(Visitor):
    """The frame of a preview, in the browser of a staff member."""

    def __init__(self, client: Client, project_id: object, *, htmx: bool = False, query: str = "") -> None:
        self.client = client
        self.base = f"/admin/surveys/project/{project_id}/script/preview/"
        self.address = self.base + query
        self.headers = {"HX-Request": "true"} if htmx else {}
        self.hidden = {}
        self.page = ""
        self.response: Any = None

    def state(self) -> dict[str, Any]:
        return self.client.get(f"{self.base}state/").json()

    def restart(self, at: str | None = None) -> dict[str, Any]:
        body = json.dumps({"at": at})
        return self.client.post(f"{self.base}restart/", body, content_type="application/json").json()


class Scene:
    """A project that is not open, with its editor."""

    def __init__(self, *draft: Any, stored: tuple[Any, ...] = (TEXT,), **fields: Any) -> None:
        caller = Caller()
        self.made = caller.make(*stored, **fields)
        self.staff = Staff(community=caller.community)
        self.version: int | None = None
        if draft:
            self.type(*draft)

    def type(self, *blocks: Any) -> None:
        body = {"blocks": list(blocks), "revision": 1, "version": self.version}
        kept = self.staff.send("put", f"/admin/surveys/project/{self.made['id']}/script/draft/", body)
        assert kept.status_code == 200, kept.content
        self.version = kept.json()["version"]

    def frame(self, **options: Any) -> PreviewVisitor:
        return PreviewVisitor(self.staff.client, self.made["id"], **options)


def option_in(page: Visitor, place: int = 0) -> str:
    return re.findall(r'name="option" value="(\d+)"', page.page)[place]


def test_a_draft_is_answered_with_plain_forms():
    frame = Scene(KEYED, TEXT | {"prompt": "Why [Colour]?"}).frame().look()

    frame.send(option=option_in(frame))

    assert "Why red?" in frame.page
    assert frame.status == 200
    assert "Thank you!" in frame.send(value="So.").page


def test_the_first_step_shows_what_respondents_agree_to():
    frame = Scene(KEYED, TEXT | {"prompt": "Why?"}).frame()
    Project.objects.update(consent="I agree to all of it.")

    is_shown_first = "I agree to all of it." in frame.look().page
    frame.send(option=option_in(frame))

    assert is_shown_first
    assert "Why?" in frame.page
    assert "I agree to all of it." not in frame.page


def test_a_plain_form_is_answered_with_a_redirect_to_the_preview():
    frame = Scene(KEYED, TEXT).frame().look()

    response = frame.client.post(frame.address, {**frame.hidden, "do": "answer", "option": option_in(frame)})

    assert (response.status_code, response["Location"]) == (303, frame.address)


def test_htmx_gets_the_next_step_alone():
    scene = Scene(KEYED, TEXT | {"prompt": "Why [Colour]?"})
    frame = scene.frame().look()
    frame.headers = {"HX-Request": "true"}

    frame.send(option=option_in(frame))

    assert "Why red?" in frame.page
    assert "<html" not in frame.page


def test_a_refused_answer_stays_in_its_control():
    frame = Scene({"key": "n", "type": "open_numeric", "prompt": "How many?", "max": 5}).frame().look()

    frame.send(value="77")

    assert frame.status == 422
    assert "Answer with a number of at most 5." in frame.page
    assert 'value="77"' in frame.page


def test_only_our_own_pages_may_frame_it_and_nobody_lists_it():
    frame = Scene(KEYED).frame().look()

    assert frame.response["Content-Security-Policy"] == FRAMED_BY_US
    assert "frame-ancestors 'self'" in FRAMED_BY_US
    assert '<meta name="robots" content="noindex">' in frame.page
    assert "no-store" in frame.response["Cache-Control"]
    assert 'name="leave_empty"' not in frame.page


def test_no_further_question_is_asked_and_the_preview_says_so(settings):
    settings.AI_PROVIDER = "anthropic"
    frame = Scene(TEXT | {"key": "why", "name": "why", "follow_ups": 2}, KEYED).frame().look()

    assert "In the preview no further question is asked about the answer." in frame.page
    assert "An AI may ask a further question about what you write." in frame.page
    assert "Which colour?" in frame.send(value="So.").page


def test_a_fault_is_told_in_its_place_and_in_plain_words():
    frame = Scene(KEYED | {"options": []}).frame().look()

    assert "Which colour?" in frame.page
    assert "This block is not ready yet: its form says what is missing or wrong." in frame.page
    assert "single_punch" not in frame.page
    assert "autofocus" not in frame.page  # whoever types in the editor goes on typing there


def test_what_would_be_given_is_marked_as_not_given():
    frame = Scene(GIFT).frame().look()

    assert "+20 XP" in frame.page
    assert "In the preview nothing is given." in frame.page


def test_respondents_words_are_escaped():
    frame = Scene(TEXT | {"key": "a", "name": "a"}, SAYING | {"key": "b", "prompt": "[A]"}).frame().look()
    frame.send(value="<script>alert(1)</script>")

    assert b"<script>alert(1)" not in frame.response.content


def test_the_state_is_told_and_a_jump_moves_the_frame():
    frame = Scene(KEYED, TEXT | {"key": "why"}, SAYING | {"key": "bye"}).frame().look()
    frame.send(option=option_in(frame))

    jumped = frame.restart(at="bye")

    assert (jumped["path"], jumped["current"]) == (["colour", "why"], "bye")
    assert frame.state() == jumped
    assert "Welcome." in frame.look().page


def test_a_poll_is_voted_on_and_shows_the_vote_alone():
    poll = {"type": "poll", "delivery": {"poll": {"results_mode": "public"}}}
    made_of = {**CHOICE, "key": "q", "name": "q"}
    frame = Scene(made_of, stored=(CHOICE,), **{"type": poll["type"]}).frame().look()

    frame.send(option=option_in(frame))

    assert "Thank you! Your vote has been counted." in frame.page


def test_a_preview_stores_nothing_and_counts_nothing():
    scene = Scene(GIFT, KEYED, TEXT | {"key": "t"}, rewards={"use_xp": True})
    frame = scene.frame().look()
    before = dump()

    frame.look().send("go")
    frame.send(option=option_in(frame))
    frame.send("back")
    frame.send(option=option_in(frame, 1))
    frame.send(value="Because of that.")
    frame.restart(at="colour")
    frame.state()

    assert dump() == before


def test_while_redis_is_down_the_form_carries_the_walk(monkeypatch):
    frame = Scene(KEYED, TEXT | {"prompt": "Why [Colour]?"}).frame().look()
    monkeypatch.setattr("surveys.services.previews.memory.cache.set", _down)
    monkeypatch.setattr("surveys.services.previews.memory.cache.get", _down)

    frame.look().send(option=option_in(frame))

    assert frame.status == 200
    assert "Why red?" in frame.page
    assert "Thank you!" in frame.send(value="So.").page


def _down(*_: object) -> None:
    from redis.exceptions import ConnectionError as Down  # noqa: PLC0415 - not Python's own

    raise Down("no Redis")


# --- The same page as respondents see ---------------------------------------------------------------

SIGNED = re.compile(
    r'name="(csrfmiddlewaretoken|seal)" value="[^"]*"| data-owner="[^"]*"'
    r'|<input type="hidden" name="owner"[^>]*>'
)
HEAD = re.compile(r"<meta (property|name=\"(description|robots|twitter:card)\")[^>]*>")
ADDRESS = re.compile(r"(action|hx-post)=\"[^\"]*\"")
HONEYPOT = re.compile(r'<div class="honeypot".*?</div>')
NOTE = re.compile(r'<p class="note arrives"[^>]*>In the preview nothing is given\.</p>')
SHARE = re.compile(r'<p class="actions" hidden data-share=.*?</p>')  # an address that is not open yet
PRIZE = re.compile(r'<section class="earned".*?</section>|data-announce="Finished[^"]*"')


def plain(page: Visitor) -> str:
    """The text of a page, without signatures, addresses, and the visitor's own XP."""
    text = page.response.content.decode()
    for pattern in (SIGNED, HEAD, ADDRESS, HONEYPOT, NOTE, SHARE, PRIZE):
        text = pattern.sub("", text)
    return html.unescape(text)


def answer(block: Block) -> dict[str, Any]:
    """A form that answers a block: the last option, the lowest point, some words."""
    options = block.options
    match block.type:
        case "content_block" | "action_block":
            return {"do": "go"}
        case "single_punch":
            return {"option": options[-1].id}
        case "multi_punch":
            return {"option": [option.id for option in options[: block.min or 1]]}
        case "ranking":
            count = block.rank_top_n or len(options)
            return {f"rank-{option.id}": n for n, option in enumerate(options[:count], start=1)}
        case "open_text":
            return {"value": "Some words."}
        case "open_numeric":
            return {"value": block.max if block.min is None and block.max is not None else block.min or 0}
    return {"value": block.points[0]}


@pytest.fixture
def demo(settings: Any, tmp_path: Any) -> dict[str, Project]:
    settings.VAR_DIR = tmp_path
    settings.LEAST_SECONDS_TO_FIRST_ANSWER = 0
    authentication.caller_cache.clear()
    call_command("seed_demo", verbosity=0)
    return {project.name: project for project in Project.objects.all()}


@pytest.mark.long
def test_the_preview_draws_what_respondents_see(demo):
    staff = Staff("superuser")
    compared = 0
    for project in demo.values():
        if project.is_poll or project.participation != Project.Participation.OPEN_WEB:
            continue
        compared += _compare(project, staff)
    assert compared > 20


def _compare(project: Project, staff: Staff) -> int:
    """Walk one project twice, as a visitor and as a preview, and compare each page. Returns how many."""
    script = script_cache.script_of(project)
    visitor, frame = Visitor(project).look(), PreviewVisitor(staff.client, project.pk).look()
    is_comparable = not script.has_actions and not any(each.randomize_options for each in script.blocks)
    for page in range(60):
        if is_comparable:
            assert plain(frame) == plain(visitor), project.name
        current = visitor.hidden.get("block", "")
        assert frame.hidden.get("block", "") == current
        if not current:
            return page
        fields = answer(script.blocks[script.index_by_id[int(current)]])
        visitor.send(**fields)
        frame.send(**fields)
    raise AssertionError(f"The walk through {project.name} has no end.")


def test_a_graded_answer_stays_as_on_the_real_page():
    option = {"correct_answer_index": 1, "when_incorrect": "It is green."}
    frame = Scene(KEYED | option, TEXT | {"prompt": "Why?"}, scoring_enabled=True).frame().look()
    frame.send(option=option_in(frame))
    assert "Why?" in frame.page

    frame.send("back")

    assert "Your answer stays" in frame.page
    assert "Why?" in frame.send("go").page


def test_a_form_of_another_site_moves_nothing():
    caller = Caller()
    made = caller.make(TEXT)
    client = Client(enforce_csrf_checks=True)
    client.force_login(Staff(community=caller.community).user)

    refused = client.post(f"/admin/surveys/project/{made['id']}/script/preview/", {"do": "again"})

    assert refused.status_code == 403


def test_earlier_steps_of_a_preview_are_shown_on_request(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(past, "MAX_PAST_STEPS", 2)
    frame = Scene(*[TEXT | {"name": f"t{n}", "prompt": f"Prompt {n}."} for n in range(4)]).frame().look()
    for n in range(3):
        frame.send(value=f"Answer {n}.")

    assert re.findall(r"Answer \d", frame.page) == ["Answer 1", "Answer 2"]
    frame.send("show-past", _past=1)
    assert re.findall(r"Answer \d", frame.page) == ["Answer 0"]
    assert "Prompt 3." in frame.page


def test_a_group_is_one_screen_here_too():
    """Rule 6.134."""
    row = {"type": "rating", "max": 3, "group": "The food", "required": True}
    rows = [row | {"key": name, "name": name, "prompt": f"{name}?"} for name in ("Soup", "Cake")]
    frame = Scene(*rows, TEXT | {"prompt": "You said [Soup] and [Cake]."}).frame().look()
    first, second = frame.hidden["rows"].split()

    frame.send(**{f"row-{first}": "3"})
    assert (frame.status, frame.page.count('<p id="field-error-')) == (422, 1)
    frame.send(**{f"row-{first}": "3", f"row-{second}": "1"})
    assert "You said 3 of 3 ★ and 1 of 3 ★." in frame.page

    frame.send("back")
    assert re.findall(r'value="(\d)"[^>]* checked', frame.page) == ["3", "1"]
    assert 'value="back"' not in frame.page


# --- The review of all answers ------------------------------------------------------------------------

REVIEW = "Please look at your answers before you send them."
FIRST, SECOND = TEXT | {"key": "a", "prompt": "First?"}, TEXT | {"key": "b", "prompt": "Second?"}


def review_button(frame: Visitor) -> str:
    return re.findall(r'value="(revise:\d+)"', frame.page)[0]


@pytest.mark.parametrize("htmx", [False, True])
def test_the_preview_shows_the_review_and_changes_an_answer_from_there(htmx: bool):
    """Rule 6.225."""
    scene = Scene(FIRST, SECOND, settings={"review": True})
    frame = scene.frame(htmx=htmx).look().send(value="one").send(value="two")
    assert REVIEW in frame.page
    assert frame.state()["is_completed"] is False

    frame.send(review_button(frame))
    assert "First?" in frame.page
    frame.send(value="changed")

    assert REVIEW in frame.page
    assert "changed" in frame.page
    frame.send("send")
    assert frame.state()["is_completed"] is True
    assert REVIEW not in frame.page


def test_the_copy_of_the_answers_is_shown_and_mailed_to_nobody():
    """Rule 6.225."""
    frame = Scene(FIRST, settings={"mail_copy": True}).frame().look().send(value="My words")

    frame.send("copy")
    assert "My words" in frame.page
    assert "data-print" in frame.page
    frame.send("mail", email="ada@example.org")

    assert "In the preview no mail is sent." in frame.page
    assert not Mail.objects.exists()
    frame.send("look")
    assert "data-print" not in frame.page


def test_an_edit_keeps_the_end_of_a_preview_that_passed_its_review():
    scene = Scene(FIRST, settings={"review": True})
    frame = scene.frame().look().send(value="one").send("send")

    scene.type(FIRST | {"prompt": "First of all?"})

    assert frame.state()["is_completed"] is True
    assert frame.restart(at=None)["is_completed"] is False


def test_rows_that_are_added_to_a_group_keep_what_was_chosen():
    """Rule 6.225."""
    row = {"type": "rating", "max": 3, "group": "The food"}
    first, second, third = (row | {"key": key, "name": key, "prompt": f"The {key}?"} for key in "abc")
    scene = Scene(first, second)
    frame = scene.frame().look()
    ids = re.findall(r'name="row-(\d+)"', frame.page)
    scene.type(first, third, second)

    frame.send(**{f"row-{number}": "2" for number in ids})

    assert "The author has changed the questions." in frame.page
    assert "The c?" in frame.page
    assert frame.page.count(" checked") == 2
