"""The work for many servers and many closed polls: little is compared, drawn and sent in vain."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from communities.chat_platform import pacing
from communities.models import ChatTask
from surveys.chat import charts, invitations
from surveys.models import PublicMessage
from surveys.services import public_messages
from tests.support.chat.agent import text_of

pytestmark = pytest.mark.django_db

QUESTION = {"name": "a", "type": "single_punch", "prompt": "First?", "options": [{"value": "x"}]}
POLL = {"type": "poll", "settings": {"poll_results_mode": "public"}}


def _plan(sql: str) -> str:
    values: dict[str, Any] = {"is_new_hour": True, "again": timezone.now(), "kind": "x"}
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_seqscan = off")
        cursor.execute(f"EXPLAIN {sql}", values)
        return "\n".join(row[0] for row in cursor.fetchall())


@pytest.mark.parametrize("name", ["_IS_OUTDATED", "_OUTDATED_SUMMARIES", "_SETTLE"])
def test_what_is_compared_is_found_by_an_index_that_has_no_closed_messages(chat: Any, name: str) -> None:
    assert "public_message_compared" in _plan(getattr(public_messages, name))


def test_closed_polls_are_not_compared(chat: Any) -> None:
    closed = chat.open(QUESTION, **POLL)
    chat.agent().press("x", message=chat.message())
    chat.work()
    chat.close(closed)
    public_messages.ask_for_outdated(at=timezone.now())

    row = PublicMessage.objects.get()
    assert (row.is_open, row.recounts) == (False, 0)
    assert "1 vote" in text_of(chat.message())


def test_a_message_that_shows_other_votes_is_compared_until_it_is_right(chat: Any) -> None:
    poll = chat.open(QUESTION, **POLL)
    chat.close(poll)
    public_messages.note_recount(project_id=poll.pk)
    PublicMessage.objects.update(changes=99)

    public_messages.ask_for_outdated(at=timezone.now())

    assert PublicMessage.objects.get().recounts > 0


def test_an_open_message_is_not_written_to_by_what_changes_its_votes(chat: Any) -> None:
    poll = chat.open(QUESTION, **POLL)

    public_messages.note_recount(project_id=poll.pk)

    assert PublicMessage.objects.get().recounts == 0


def test_what_the_sweep_asks_for_yields_and_what_people_ask_for_does_not(chat: Any) -> None:
    poll = chat.open(QUESTION, **POLL)
    assert not ChatTask.objects.get().yields
    chat.agent().press("x", message=chat.message())

    public_messages.ask_for_outdated(at=timezone.now())
    assert ChatTask.objects.get().yields
    public_messages.ask(poll, at=timezone.now())
    assert not ChatTask.objects.get().yields


@pytest.mark.parametrize("wait", ["channel", "all"])
def test_nothing_is_drawn_before_the_pace_allows_sending_it(
    chat: Any, monkeypatch: pytest.MonkeyPatch, wait: str
) -> None:
    drawn: list[str] = []

    def noted(name: str, draw: Callable[..., Any]) -> Callable[..., Any]:
        def note_and_draw(*args: Any, **kwargs: Any) -> Any:
            drawn.append(name)
            return draw(*args, **kwargs)

        return note_and_draw

    monkeypatch.setattr(charts, "draw", noted("picture", charts.draw))
    monkeypatch.setattr(invitations, "draw", noted("message", invitations.draw))
    poll = chat.open(QUESTION, type="poll", settings={"poll_results_mode": "public", "reveal_results": True})
    chat.agent().press("x", message=chat.message())
    chat.work()
    if wait == "channel":
        for method, rest in (("POST", ""), ("PATCH", f"/{chat.message()['id']}")):
            route = pacing.route_of(method, f"/channels/{chat.channel.id}/messages{rest}")
            pacing.stop(route, timedelta(minutes=1))
    else:
        pacing.stop_all(timedelta(minutes=1))
    drawn.clear()

    chat.close(poll)

    assert drawn == []
    waiting = ChatTask.objects.exclude(status="delivered")
    assert {(each.status, each.attempt_count) for each in waiting} == {("pending", 0)}
    assert waiting.count() == 2
