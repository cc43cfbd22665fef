"""Celery tasks of xp. Running one twice is harmless."""

from __future__ import annotations

from celery import shared_task
from django.utils import timezone

from communities.services.chat import outbox
from xp.services import role_grants, roles


@shared_task(name=roles.GRANT_WAITING)
def grant_waiting_roles(**_later: object) -> None:
    """Every minute: request the roles that members have earned."""
    role_grants.put_waiting(at=timezone.now())


@shared_task(name=role_grants.GRANT)
def grant_role(*, task_id: int, **_later: object) -> None:
    """Once for each role: grant it on the chat platform."""
    outbox.attempt(task_id=task_id, carry_out=role_grants.carry_out, give_up=role_grants.give_up)
