"""A community's settings (interface 2.2)."""

from __future__ import annotations

import re
from typing import Any

from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from communities.http.idempotency import once
from communities.http.views import CommunityViewSet
from communities.models import CommunitySettings
from communities.services import settings

LARGEST_INTEGER = 2**31 - 1
_LANGUAGE_TAG = re.compile(r"[A-Za-z]{2,8}(?:[-_][A-Za-z0-9]{1,8})*")
EXAMPLE = {
    "community_id": "710000000000000001",
    "locale": "en-GB",
    "default_anonymous_mode": "no",
    "use_xp": True,
    "xp_name": "XP",
    "xp_per_question": 10,
    "use_leader_board": True,
    "thank_you_type": "default",
    "thank_you_custom_message": None,
    "thank_you_custom_label": None,
}


class SettingsIn(serializers.ModelSerializer[CommunitySettings]):
    community_id = serializers.CharField(read_only=True)
    xp_per_question = serializers.IntegerField(
        min_value=0, max_value=LARGEST_INTEGER, allow_null=True, required=False, help_text="0 or more."
    )

    class Meta:
        model = CommunitySettings
        fields = list(EXAMPLE)

    def validate_locale(self, locale: str | None) -> str | None:
        if locale and not _LANGUAGE_TAG.fullmatch(locale):
            raise serializers.ValidationError("must be a language tag such as en or pt-BR.", code="invalid")
        return locale or None


class SettingsOut(SettingsIn):
    class Meta(SettingsIn.Meta):
        read_only_fields = SettingsIn.Meta.fields


class SettingsViewSet(CommunityViewSet):
    noun = "settings"

    @extend_schema(
        operation_id="settings_get",
        tags=["Communities"],
        summary="Read a community's settings",
        responses=SettingsOut,
        examples=[OpenApiExample("Settings", EXAMPLE, response_only=True)],
    )
    def retrieve(self, request: Request, **kwargs: Any) -> Response:
        return Response(SettingsOut(settings.get_settings(community_id=self.key.community_id)).data)

    @extend_schema(
        operation_id="settings_patch",
        tags=["Communities"],
        summary="Change a community's settings",
        description="The fields that are sent change; null stands for nothing chosen. Needs the role admin.",
        request=SettingsIn,
        responses=SettingsOut,
        examples=[
            OpenApiExample("A name for XP", {"xp_name": "Tempi"}, request_only=True),
            OpenApiExample("Changed", EXAMPLE | {"xp_name": "Tempi"}, response_only=True),
        ],
    )
    @once
    def partial_update(self, request: Request, **kwargs: Any) -> Response:
        changes = self.read(SettingsIn, partial=True)
        saved = settings.save_settings(community_id=self.key.community_id, changes=changes)
        return Response(SettingsOut(saved).data)
