"""The health of the installation, in plain words: servers, workers, queues, outboxes, and disabled
features.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from celery import current_app
from django.conf import settings
from django.contrib import admin
from django.db import DatabaseError
from django.http import HttpRequest
from django.template.response import TemplateResponse
from django.utils import timezone
from kombu.exceptions import KombuError
from redis.exceptions import RedisError

from communities.ground.words import plural
from communities.models import ChatTask, Mail
from communities.services.chat import metrics as chat_metrics
from communities.services.mail import mails
from communities.services.people import bots
from communities.staff.pages import Nav, staff_page
from config import health, queues
from webhooks.services import metrics as webhook_metrics

WORKER_TIMEOUT = 1.0  # seconds
LONG_WAIT = 60.0  # After this wait, in seconds, a queue has a problem.
UNREADABLE = "cannot be read from the database"
QUEUES = {
    "celery": "Opening, closing, clean-up",
    "webhooks": "Webhooks",
    "ai": "AI: scripts and analyses",
}
SERVERS = {
    "database": ("The database", {"unavailable": "does not answer", "unwritable": "takes no writes"}),
    "redis": (
        "Redis",
        {"unavailable": "does not answer: nothing is rate limited, and workers are not woken at once"},
    ),
    "secret_key": (
        "SECRET_KEY",
        {"wrong": "is not the one that the stored secrets were made with", "unknown": "cannot be checked"},
    ),
    "replica": (
        "The replica",
        {
            "lagging": "is behind: big readings use the database itself",
            "unavailable": "does not answer: big readings use the database itself",
            "wrong": "is no replica of this database, which is read instead",
        },
    ),
}


@dataclass(frozen=True, slots=True)
class Check:
    """One line of the page: the object of a check, and its state as a text and a symbol.

    `done` is a tick: there is no problem. `pending` means that the service still tries. `bad` is a problem
    for people to solve, and `closed` a disabled feature.
    """

    name: str
    text: str
    sign: str = "done"

    @property
    def is_good(self) -> bool:
        return self.sign == "done"


@staff_page("health", Nav("Health", "health", 75, is_operations=True))
def page(request: HttpRequest) -> TemplateResponse:
    """The health page of the installation.

    All states are read now. The workers take a second at most.
    """
    servers = check_servers()
    is_readable = servers[0].is_good
    context = {
        **admin.site.each_context(request),
        "title": "Health",
        "sections": [
            ("Servers", servers),
            ("Workers", check_workers()),
            ("Queues", check_queues()),
            ("Webhooks", check_deliveries() if is_readable else []),
            ("Chat platform", check_chat() if is_readable and bots.is_configured() else []),
            ("Mails", check_mails() if is_readable else []),
            ("Switched off", what_is_off()),
        ],
        "at": timezone.now(),
    }
    return TemplateResponse(request, "admin/health.html", context)


def check_servers() -> list[Check]:
    """The database, Redis and the key, as `/readyz` sees them; and the replica, if there is one."""
    states = health.states()
    return [
        Check(name, "works")
        if states[key] == "ok"
        else Check(name, words.get(states[key], states[key]), "bad")
        for key, (name, words) in SERVERS.items()
        if key in states
    ]


def check_workers() -> list[Check]:
    """The workers that answer, by the queues that they read."""
    try:
        answers = current_app.control.inspect(timeout=WORKER_TIMEOUT).active_queues() or {}
    except (KombuError, RedisError, OSError):
        return [Check("Workers", "cannot be asked, because Redis does not answer", "bad")]
    read = {queue["name"] for worker in answers.values() for queue in worker}
    return [
        Check(meaning, "a worker answers") if name in read else Check(meaning, "no worker answers", "bad")
        for name, meaning in _queue_names()
    ]


def check_queues() -> list[Check]:
    """The number of messages in each queue, and their age."""
    try:
        measured = queues.measure()
    except (KombuError, RedisError, OSError):
        return [Check("Queues", "cannot be read, because Redis does not answer", "bad")]
    return [
        Check(
            QUEUES.get(each.name, each.name),
            f"{plural(each.messages, 'message')} waiting, the oldest for {each.oldest_age:.0f} s"
            if each.messages
            else "empty",
            "done" if each.oldest_age < LONG_WAIT else "bad",
        )
        for each in measured
    ]


def check_deliveries() -> list[Check]:
    """The outbox of webhooks, over all communities."""
    try:
        outbox = webhook_metrics.outbox(at=timezone.now())
    except DatabaseError:
        return [Check("Webhooks", UNREADABLE, "bad")]
    return [
        _counted("Due now", outbox.due, "delivery", "deliveries", sign="pending"),
        _counted(
            "To be tried again", outbox.not_delivered["failed"], "delivery", "deliveries", sign="pending"
        ),
        _waiting("Oldest waiting delivery", outbox.oldest_age_seconds),
        _counted("Given up", outbox.not_delivered["abandoned"], "delivery", "deliveries"),
        _counted("Failing", outbox.failing, "webhook"),
        _counted("Switched off by the service", outbox.webhooks["disabled"], "webhook"),
    ]


def check_chat() -> list[Check]:
    """The tasks for the chat platform, over all communities."""
    try:
        outbox = chat_metrics.outbox(at=timezone.now())
    except DatabaseError:
        return [Check("Chat platform", UNREADABLE, "bad")]
    return [
        _counted("Due now", outbox.due, "task", sign="pending"),
        _counted("To be tried again", outbox.tasks[ChatTask.Status.FAILED], "task", sign="pending"),
        _waiting("Due for the longest time", outbox.oldest_due_seconds),
        _counted("Waiting until the bot gets access", outbox.tasks[ChatTask.Status.BLOCKED], "task"),
        _counted("Given up", outbox.tasks[ChatTask.Status.ABANDONED], "task"),
    ]


def check_mails() -> list[Check]:
    """Mails that could not be sent."""
    try:
        mails_by_status = mails.not_sent()
    except DatabaseError:
        return [Check("Mails", UNREADABLE, "bad")]
    return [
        _counted("To be tried again", mails_by_status[Mail.Status.FAILED], "mail", sign="pending"),
        _counted("Given up", mails_by_status[Mail.Status.ABANDONED], "mail"),
    ]


def _counted(name: str, count: int, *noun: str, sign: str = "bad") -> Check:
    """A number that should be 0: a tick for 0, else the symbol."""
    return Check(name, plural(count, *noun), sign if count else "done")


def _waiting(name: str, seconds: float) -> Check:
    if not seconds:
        return Check(name, "none")
    return Check(name, f"waits for {seconds / 60:.0f} min", "pending" if seconds < LONG_WAIT * 60 else "bad")


def what_is_off() -> list[Check]:
    """Return the features that this installation lacks by its settings."""
    off = [
        (settings.AI_PROVIDER == "local", "AI model", "none: templates and text statistics work instead"),
        (not settings.METRICS, "Metrics", "off: /metrics shows nothing"),
        (settings.DEBUG, "DEBUG", "on: faults show details of the program to everybody"),
        (
            not bots.is_configured(),
            "Chat platform",
            "not connected: surveys are answered on the web, and earned roles wait",
        ),
    ]
    return [Check(name, text, "bad" if name == "DEBUG" else "closed") for is_off, name, text in off if is_off]


def _queue_names() -> Sequence[tuple[str, str]]:
    return [(name, QUEUES.get(name, name)) for name in queues.names()]
