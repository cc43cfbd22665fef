from celery import shared_task
from django.utils import timezone

from communities.services import audit, housekeeping


@shared_task(name="communities.forget_idempotent_requests")
def forget_idempotent_requests(**_later: object) -> None:
    """Delete the stored responses of expired Idempotency-Keys, every hour."""
    housekeeping.delete_expired_idempotent_requests(at=timezone.now())


@shared_task(name="communities.forget_audit_entries")
def forget_audit_entries(**_later: object) -> None:
    """Delete entries of the audit trail that are older than AUDIT_DAYS, every day."""
    audit.delete_old(at=timezone.now())
