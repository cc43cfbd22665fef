"""Stored responses of idempotent requests: that they exist, not what they say."""

from __future__ import annotations

from django.contrib import admin

from communities.models import IdempotentRequest
from communities.staff.base import OperationsModelAdmin


@admin.register(IdempotentRequest)
class IdempotentRequestAdmin(OperationsModelAdmin[IdempotentRequest]):
    list_display = ("claim", "status", "expires_at")
    fields = ("claim", "status", "expires_at")
