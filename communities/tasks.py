from celery import shared_task
from django.utils import timezone

from communities.services import housekeeping


@shared_task(name="communities.forget_idempotent_requests")
def forget_idempotent_requests(**_later: object) -> None:
    """Every hour: delete what was kept for Idempotency-Keys whose time is over."""
    housekeeping.forget_idempotent_requests(at=timezone.now())
