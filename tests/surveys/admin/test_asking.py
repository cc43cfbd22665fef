"""The box for questions on the Results tab: the answer with its figures, who may ask, and what it costs."""

from __future__ import annotations

import html
import re
from typing import Any

import pytest
from django.urls import reverse

from communities.models import Community
from surveys.ai.provider import Claim, ResultsQuestion
from surveys.models import Generation
from surveys.services.ai_work import generation
from tests.support.caller import Caller
from tests.support.moments import NOON
from tests.support.staff import Staff, text_of
from tests.support.surveys import scenario
from tests.support.surveys.analyses import give, survey
from tests.support.surveys.draft_provider import provide

pytestmark = pytest.mark.django_db
RATING: dict[str, Any] = {"type": "rating", "name": "stars", "prompt": "How was <it>?", "max": 5}


class Scene:
    """A survey with two ratings, and somebody of the staff."""

    def __init__(self, access: str = "admin", **fields: Any) -> None:
        self.caller = Caller()
        give(self.caller.community, 5)
        self.project = survey(self.caller, RATING, **fields)
        for points in (5, 4):
            scenario.say(scenario.begin(self.project), points)
        self.staff = Staff(access, community=self.caller.community)
        self.block = scenario.script(self.project).blocks[0].id

    @property
    def credits(self) -> int:
        return Community.objects.get(pk=self.caller.community.pk).bot_credits

    def ask(self, question: str = "How was it?", ticket: str = "t") -> Any:
        form = {"question": question, "ticket": ticket}
        return self.staff.client.post(self.address("results_ask"), form)

    def see(self, answered: Any) -> Any:
        """The page to which a question leads."""
        return self.staff.client.get(answered["Location"].partition("#")[0])

    def poll(self, job_id: int) -> Any:
        return self.staff.client.get(self.address("results_ask_answer", job_id))

    def address(self, name: str, *args: int) -> str:
        return reverse(f"admin:surveys_project_{name}", args=[self.project.pk, *args])


def answering(monkeypatch: Any, settings: Any, *claims: Claim) -> list[ResultsQuestion]:
    """A provider that answers with these claims. Its requests are listed."""
    asked: list[ResultsQuestion] = []
    provider = provide(monkeypatch, settings)

    def answer(question: ResultsQuestion) -> list[Claim]:
        asked.append(question)
        return list(claims)

    monkeypatch.setattr(provider, "answer_question", answer)
    return asked


def work() -> int:
    job = Generation.objects.get()
    generation.run(generation_id=job.pk)
    return job.pk


def test_the_answer_stands_on_the_tab_with_links_to_its_figures(monkeypatch: Any, settings: Any) -> None:
    scene = Scene()
    answering(monkeypatch, settings, Claim("It got 4.5 of 5 <b>.", (f"b{scene.block}.mean", "completions")))

    asked = scene.ask()
    waiting = scene.see(asked)
    job_id = work()
    polled = scene.poll(job_id)
    answered = scene.see(asked)

    assert (asked.status_code, asked["Location"].endswith(f"?asked={job_id}#ask")) == (303, True)
    assert f'hx-get="{scene.address("results_ask_answer", job_id)}"' in waiting.content.decode()
    assert "htmx" in waiting.content.decode()
    for page in (polled.content.decode(), answered.content.decode()):
        assert "It got 4.5 of 5 &lt;b&gt;." in page
        assert re.search(
            rf'<a href="#question-{scene.block}">Average of “How was &lt;it&gt;\?” \(1 to 5\)</a>', page
        )
        assert re.search(r"Responses that were completed\s*: 2", page)
        assert "hx-get" not in page.partition('id="answer"')[2].partition("</div>")[0]
    assert f'id="question-{scene.block}"' in answered.content.decode()
    assert scene.credits == 4


def test_an_answer_that_was_seen_is_paid_and_one_that_was_not_is_given_back(
    monkeypatch: Any, settings: Any
) -> None:
    scene = Scene()
    answering(monkeypatch, settings)
    for is_seen, left in ((True, 4), (False, 4)):
        scene.ask(ticket=str(is_seen))
        job_id = work()
        if is_seen:
            scene.poll(job_id)
        Generation.objects.update(completed_at=NOON)

        generation.take_up(at=NOON + 2 * generation.KEPT_FOR)

        assert (Generation.objects.count(), scene.credits) == (0, left)


def test_a_form_that_is_sent_twice_asks_once(monkeypatch: Any, settings: Any) -> None:
    scene = Scene()
    answering(monkeypatch, settings)

    first, second = scene.ask(), scene.ask()
    other = scene.ask("Another question?")

    assert first["Location"] == second["Location"] != other["Location"]
    assert (Generation.objects.count(), scene.credits) == (2, 3)


@pytest.mark.parametrize("question", ["", "   ", "x" * 501, "a\x00b"])
def test_a_question_that_says_nothing_or_too_much_is_refused_on_the_tab(question: str) -> None:
    scene = Scene()

    refused = scene.ask(question)

    assert refused.status_code == 400
    assert "There is a problem" in refused.content.decode()
    assert not Generation.objects.exists()


def test_too_few_credits_are_told_and_what_was_typed_stays(monkeypatch: Any, settings: Any) -> None:
    scene = Scene()
    give(scene.caller.community, 0)
    answering(monkeypatch, settings)

    refused = scene.ask("How <was> it?")

    assert refused.status_code == 402
    assert 'value="How &lt;was&gt; it?"' in refused.content.decode()
    assert "This takes 1 credit" in text_of(refused)


def test_whoever_sees_shared_results_asks_them_alone(monkeypatch: Any, settings: Any) -> None:
    scene = Scene("creator", settings={"share_results": True}, privacy_mode="anonymous")
    asked = answering(monkeypatch, settings)

    first = scene.ask()
    work()

    assert first.status_code == 303
    assert [each.reference for each in asked[0].figures] == ["conversations", "completions"]


def test_whoever_may_not_read_the_results_is_refused(monkeypatch: Any, settings: Any) -> None:
    scene = Scene("creator", privacy_mode="semi-private")
    asked = answering(monkeypatch, settings)

    assert scene.ask().status_code == 403
    assert asked == []
    assert not Generation.objects.exists()


def test_an_answer_is_there_for_the_one_who_asked_alone(monkeypatch: Any, settings: Any) -> None:
    scene = Scene()
    answering(monkeypatch, settings)
    asked = scene.ask()
    job_id = work()
    scene.staff = Staff(community=scene.caller.community)

    assert scene.poll(job_id).status_code == 404
    assert "has been deleted. Ask again." in html.unescape(scene.see(asked).content.decode())


@pytest.mark.parametrize("asked", ["x", "-1", "9" * 30, "٣"])
def test_an_address_that_names_no_question_shows_the_tab(asked: str) -> None:
    scene = Scene()

    assert scene.staff.client.get(f"{scene.address('results')}?asked={asked}").status_code == 200
