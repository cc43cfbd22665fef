"""Celery tasks of surveys. Each calls one service; running one twice is harmless."""

from __future__ import annotations

import uuid

from celery import shared_task
from celery.signals import worker_shutting_down
from django.utils import timezone

from surveys.services.ai_work import follow_ups, generation
from surveys.services.ai_work.analysis import service as analysis
from surveys.services.conversations import further, gifts, places, unsent_answers
from surveys.services.drafts import service as drafts
from surveys.services.ground import anonymity, jobs
from surveys.services.imports import files
from surveys.services.links import reminders
from surveys.services.people import service as people
from surveys.services.projects import removal, schedule
from surveys.services.responses import changes, deletion
from surveys.services.results import very_large


@shared_task(name="surveys.open_and_close")
def open_and_close(**_later: object) -> None:
    """Every two seconds: open and close the projects whose scheduled time has passed."""
    schedule.open_and_close_due(at=timezone.now())


@shared_task(name=removal.DELETE_OVERDUE)
def delete_overdue_projects(**_later: object) -> None:
    """Every half minute: delete for good the projects that staff deleted ten minutes ago, and large ones that
    were deleted over the interface.
    """
    removal.delete_overdue(at=timezone.now())


@shared_task(name="surveys.delete_due_responses")
def delete_due_responses(**_later: object) -> None:
    """Every ten seconds: delete the responses that staff deleted, and did not restore in time."""
    deletion.delete_due(at=timezone.now())


@shared_task(name="surveys.delete_expired_responses")
def delete_expired_responses(**_later: object) -> None:
    """Every minute: delete responses that are older than their project keeps them."""
    deletion.delete_expired(at=timezone.now())


@shared_task(name="surveys.forget_unanswered_conversations")
def forget_unanswered_conversations(**_later: object) -> None:
    """Every hour: delete conversations without an answer that nobody has continued for a long time."""
    deletion.forget_unanswered(at=timezone.now())


@shared_task(name="surveys.forget_silent_conversations")
def forget_silent_conversations(**_later: object) -> None:
    """Every ten minutes: delete sealed respondents and unsent answers of conversations that were inactive for
    a day.
    """
    anonymity.forget_silent(at=timezone.now())
    unsent_answers.forget_left(at=timezone.now())


@shared_task(name="surveys.skip_left_follow_ups")
def skip_left_follow_ups(**_later: object) -> None:
    """Every minute: end the conversations whose respondents left at a further question after the last one."""
    further.skip_left(at=timezone.now())


@shared_task(name="surveys.settle_anonymous_answers")
def settle_anonymous_answers(**_later: object) -> None:
    """Every ten minutes: rewrite anonymous answers whose hour is over, to hide their write order."""
    anonymity.settle(at=timezone.now())


@shared_task(name="surveys.forget_deletions")
def forget_deletions(**_later: object) -> None:
    """Each day: delete the records of deleted responses that no reader of the feed can request any more."""
    changes.forget_deletions(at=timezone.now())


@shared_task(name="surveys.forget_tests")
def forget_tests(**_later: object) -> None:
    """Every five minutes: delete the projects and people that test keys made more than 30 days ago."""
    removal.delete_old_tests(at=timezone.now())
    people.erase_old_tests(at=timezone.now())


@shared_task(name="surveys.settle_gifts")
def settle_gifts(**_later: object) -> None:
    """Every minute: give gifts of anonymous projects once their hour is over."""
    gifts.settle(at=timezone.now())


@shared_task(name="surveys.send_reminders")
def send_reminders(**_later: object) -> None:
    """Every minute: send the planned reminders whose time has come."""
    reminders.send_due(at=timezone.now())


@shared_task(name=generation.MAKE)
def make_script(generation_id: int, **_later: object) -> None:
    """Once for each intent: have AI write the script."""
    generation.run(generation_id=generation_id)


@shared_task(name=analysis.RUN)
def run_analysis(analysis_id: int, **_later: object) -> None:
    """Once for each requested analysis: carry it out."""
    analysis.run(analysis_id=analysis_id)


@shared_task(name=removal.CANCEL_BULK)
def cancel_bulk(bulk_id: str, **_later: object) -> None:
    """Once for each bulk whose project was deleted: stop it."""
    analysis.cancel_bulk(bulk_id)


@shared_task(name=further.ASK)
def ask_further(conversation_id: str, asked: int, **_later: object) -> None:
    """Once for each short answer to a question with further ones: have a model write one, within seconds."""
    follow_ups.ask(conversation_id=uuid.UUID(conversation_id), asked=asked)


@shared_task(name=very_large.RUN)
def count_results(count_id: int, **_later: object) -> None:
    """Once for each requested part of very many responses: count it."""
    very_large.run(count_id=count_id)


@shared_task(name=files.RUN)
def import_file(file_id: int, **_later: object) -> None:
    """Once for each step of a file with responses: read its rows."""
    files.run(file_id=file_id)


@shared_task(name=places.COUNT)
def count_places(project_id: int, most: int = 0, **_later: object) -> None:
    """Once for quotas of very many responses, and again every two seconds: count those responses."""
    places.count(project_id=project_id, most=most)


@shared_task(name="surveys.take_up_jobs")
def take_up_jobs(**_later: object) -> None:
    """Every five seconds: wake workers for jobs that no worker took, or whose worker died."""
    generation.take_up(at=timezone.now())
    analysis.take_up(at=timezone.now())
    very_large.take_up(at=timezone.now())
    files.take_up(at=timezone.now())
    places.take_up(at=timezone.now())


@shared_task(name="surveys.forget_old_drafts")
def forget_old_drafts(**_later: object) -> None:
    """Every hour: delete unsaved scripts that were not changed for 90 days."""
    drafts.forget_old(at=timezone.now())


@worker_shutting_down.connect
def give_back_jobs(**_: object) -> None:
    """Give back the leases when a worker shuts down, so that other workers need not wait until they expire
    (rule 12.5).
    """
    jobs.give_back(at=timezone.now())
