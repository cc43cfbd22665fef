"""Stored responses of idempotent requests. The list shows only that the responses exist, without their
content.
"""

from __future__ import annotations

from django.contrib import admin

from communities.models import IdempotentRequest
from communities.staff.base import OperationsModelAdmin


@admin.register(IdempotentRequest)
class IdempotentRequestAdmin(OperationsModelAdmin[IdempotentRequest]):
    list_display = ("claim", "status", "expires_at")
    fields = ("claim", "status", "expires_at")
