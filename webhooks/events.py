"""Types of events (rule 9.5)."""

import enum

from django.db.models import TextChoices

API_VERSION = "v1"
ALL = "*"  # In a webhook's `events`, this value means every type.


class EventType(TextChoices):
    PROJECT_CREATED = "project.created"
    PROJECT_UPDATED = "project.updated"
    PROJECT_OPENED = "project.opened"
    PROJECT_CLOSED = "project.closed"
    PROJECT_DELETED = "project.deleted"
    RESPONSE_SUBMITTED = "response.submitted"
    RESPONSE_UPDATED = "response.updated"
    RESPONSE_DELETED = "response.deleted"
    ANALYSIS_COMPLETED = "analysis.completed"
    ANALYSIS_FAILED = "analysis.failed"
    MEMBER_UPDATED = "member.updated"
    MEMBER_ERASED = "member.erased"
    WEBHOOK_PING = "webhook.ping"

    @enum.property
    def label(self) -> str:
        """The value itself, not the title that Django would derive from the name."""
        return str(self.value)
