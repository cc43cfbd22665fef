from celery import shared_task
from django.utils import timezone

from communities.services import housekeeping


@shared_task(name="communities.forget_idempotent_requests")
def forget_idempotent_requests(**_later: object) -> None:
    """Delete the stored responses of expired Idempotency-Keys, every hour."""
    housekeeping.delete_expired_idempotent_requests(at=timezone.now())
