"""The health of the installation, in plain words: servers, workers, queues, deliveries, and what is off."""

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

from communities.admin_site.nav import Nav
from communities.admin_site.pages import superusers_page
from communities.words import plural
from config import health, queues
from webhooks.services import metrics as webhook_metrics

WORKER_TIMEOUT = 1.0  # seconds
LONG_WAIT = 60.0  # seconds, after which something is wrong with a queue
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
}


@dataclass(frozen=True, slots=True)
class Check:
    """One line of the page: what was looked at, and how it stands, in words."""

    name: str
    text: str
    is_good: bool = True


@superusers_page("health", Nav("Health", "health", 75, is_operations=True))
def page(request: HttpRequest) -> TemplateResponse:
    """How the installation is. Everything is looked up now, which takes a second at most for the workers."""
    servers = check_servers()
    context = {
        **admin.site.each_context(request),
        "title": "Health",
        "sections": [
            ("Servers", servers),
            ("Workers", check_workers()),
            ("Queues", check_queues()),
            ("Webhooks", check_deliveries() if servers[0].is_good else []),
            ("Switched off", what_is_off()),
        ],
        "at": timezone.now(),
    }
    return TemplateResponse(request, "admin/health.html", context)


def check_servers() -> list[Check]:
    """The database, Redis and the key, as `/readyz` sees them."""
    states = health.states()
    return [
        Check(
            name, "works" if states[key] == "ok" else words.get(states[key], states[key]), states[key] == "ok"
        )
        for key, (name, words) in SERVERS.items()
    ]


def check_workers() -> list[Check]:
    """Which worker answers, by the queues it reads."""
    try:
        answers = current_app.control.inspect(timeout=WORKER_TIMEOUT).active_queues() or {}
    except (KombuError, RedisError, OSError):
        return [Check("Workers", "cannot be asked, because Redis does not answer", is_good=False)]
    read = {queue["name"] for worker in answers.values() for queue in worker}
    return [
        Check(meaning, "a worker answers" if name in read else "no worker answers", name in read)
        for name, meaning in _queue_names()
    ]


def check_queues() -> list[Check]:
    """How many messages wait in each queue, and for how long."""
    try:
        measured = queues.measure()
    except (KombuError, RedisError, OSError):
        return [Check("Queues", "cannot be read, because Redis does not answer", is_good=False)]
    return [
        Check(
            QUEUES.get(each.name, each.name),
            f"{plural(each.messages, 'message')} waiting, the oldest for {each.oldest_age:.0f} s"
            if each.messages
            else "empty",
            each.oldest_age < LONG_WAIT,
        )
        for each in measured
    ]


def check_deliveries() -> list[Check]:
    """The outbox of webhooks, over all communities."""
    try:
        outbox = webhook_metrics.outbox(at=timezone.now())
    except DatabaseError:
        return [Check("Webhooks", "cannot be read from the database", is_good=False)]
    oldest, abandoned = outbox.oldest_age_seconds, outbox.not_delivered["abandoned"]
    disabled = outbox.webhooks["disabled"]
    return [
        Check("Due now", plural(outbox.due, "delivery", "deliveries")),
        Check("To be tried again", plural(outbox.not_delivered["failed"], "delivery", "deliveries")),
        Check(
            "Oldest waiting delivery",
            f"waits for {oldest / 60:.0f} min" if oldest else "none",
            oldest < LONG_WAIT * 60,
        ),
        Check("Given up", plural(abandoned, "delivery", "deliveries"), abandoned == 0),
        Check("Webhooks switched off by the service", str(disabled), disabled == 0),
    ]


def what_is_off() -> list[Check]:
    """Features that this installation runs without, by its settings."""
    off = [
        (not settings.ANTHROPIC_API_KEY, "AI model", "no key: templates and text statistics work instead"),
        (not settings.METRICS, "Metrics", "off: /metrics shows nothing"),
        (settings.DEBUG, "DEBUG", "on: faults show details of the program to everybody"),
        (True, "Chat platform", "not connected: surveys are answered on the web, and earned roles wait"),
    ]
    return [Check(name, text, name != "DEBUG") for is_off, name, text in off if is_off]


def _queue_names() -> Sequence[tuple[str, str]]:
    return [(name, QUEUES.get(name, name)) for name in queues.names()]
