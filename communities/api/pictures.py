"""Uploading pictures (rules 1.50 to 1.52)."""

from __future__ import annotations

import base64
import binascii
from typing import Any

from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from communities.gate import throttling
from communities.gate.bodies import MAX_FILE_BODY
from communities.gate.fields import StrictStringField
from communities.gate.idempotency import once
from communities.gate.views import CommunityViewSet
from communities.ground.actors import Role
from communities.services.pictures import uploads

EXAMPLE = {
    "url": "https://surveys.example.org/pictures/c2Vuc2libGUgcGljdHVyZQ",
    "width": 1200,
    "height": 800,
    "size": 183_204,
}
# The smallest PNG: one transparent pixel.
SENT = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGNgYGBgAAAABQABpfZFQAAAAABJRU5ErkJggg=="


class Base64Field(StrictStringField):
    """Bytes as base64."""

    default_error_messages = {"invalid": "must be base64."}

    def to_internal_value(self, data: object) -> Any:
        text = super().to_internal_value(data)
        try:
            return base64.b64decode(text, validate=True)
        except (binascii.Error, ValueError):
            self.fail("invalid")


class PictureIn(serializers.Serializer[Any]):
    content = Base64Field(
        max_length=MAX_FILE_BODY,
        help_text=(
            "A JPEG, PNG, GIF or WebP as base64, of at most 2 MB and 25 million pixels. The stored picture "
            "is encoded again, without other contents of the file, with at most 1,600 pixels on a side."
        ),
    )


class PictureOut(serializers.Serializer[Any]):
    url = serializers.CharField(
        help_text=(
            "The address to send in fields such as `image_url`. The picture stays while a field of this "
            "community uses the address, and 30 days longer."
        )
    )
    width = serializers.IntegerField()
    height = serializers.IntegerField()
    size = serializers.IntegerField(help_text="In bytes.")


class PictureViewSet(CommunityViewSet):
    noun = "picture"
    least_role = {"create": Role.CREATOR}
    with_files = frozenset({"create"})

    @extend_schema(
        operation_id="pictures_create",
        tags=["Communities"],
        summary="Upload a picture",
        description=(
            "Stores a picture and returns its address. The same picture always has the same address. A "
            "community can upload 200 pictures a day, within its storage limit; beyond these limits, the "
            "response is `409 conflict`."
        ),
        request=PictureIn,
        responses={201: PictureOut},
        examples=[
            OpenApiExample("One pixel", {"content": SENT}, request_only=True),
            OpenApiExample("Uploaded", EXAMPLE, response_only=True, status_codes=["201"]),
        ],
    )
    @once
    def create(self, request: Request, **kwargs: Any) -> Response:
        file = self.read(PictureIn)["content"]
        throttling.require_upload(community_id=self.actor.community_id, user_id=self.actor.user_id)
        row = uploads.upload(actor=self.actor, file=file, at=self.at)
        url = row.address
        return Response({"url": url, "width": row.width, "height": row.height, "size": row.size}, status=201)
