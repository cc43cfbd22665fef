"""Celery tasks of the chat. Running one twice is harmless."""

from __future__ import annotations

from celery import shared_task
from django.utils import timezone

from communities.services.chat import outbox
from surveys.chat import posting, timed
from surveys.services import public_messages


@shared_task(name=public_messages.SEND)
def send_public_message(*, task_id: int, **_later: object) -> None:
    """Post or update the message of one project on the chat platform."""
    outbox.attempt(task_id=task_id, carry_out=posting.send_public_message)


@shared_task(name=public_messages.REMOVE)
def remove_public_message(*, task_id: int, **_later: object) -> None:
    """Remove the message of a project that was deleted."""
    outbox.attempt(task_id=task_id, carry_out=posting.remove_public_message)


@shared_task(name=public_messages.SUMMARIZE)
def send_summary(*, task_id: int, **_later: object) -> None:
    """Post the results of a project that has closed."""
    outbox.attempt(task_id=task_id, carry_out=posting.send_summary)


@shared_task(name="surveys.refresh_public_messages")
def refresh_public_messages(**_later: object) -> None:
    """Every two seconds: request an update of the messages that do not show the latest votes."""
    public_messages.ask_for_outdated(at=timezone.now())


@shared_task(name="surveys.refresh_summaries")
def refresh_summaries(**_later: object) -> None:
    """Twice a minute: request an update of the summaries whose figures have changed."""
    public_messages.ask_for_outdated_summaries(at=timezone.now())


@shared_task(name=timed.ADVANCE)
def advance_in_chat(*, task_id: int, **_later: object) -> None:
    """Continue after a timed text whose time is over, in the message of its reader."""
    outbox.attempt(task_id=task_id, carry_out=timed.advance)
