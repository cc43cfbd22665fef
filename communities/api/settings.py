"""A community's settings (rules 1.11 and 1.12)."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import OpenApiExample, extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from communities.gate.fields import (
    ColourField,
    StrictBooleanField,
    StrictChoiceField,
    StrictIntegerField,
    StrictListField,
    StrictStringField,
    StrictTextField,
)
from communities.gate.idempotency import once
from communities.gate.views import CommunityViewSet
from communities.ground.actors import Role
from communities.ground.web_addresses import MAX_LENGTH, BadAddress, is_link, parse_origin
from communities.models import CommunitySettings
from communities.models.community import MAX_ORIGINS
from communities.services.pictures import copies
from communities.services.tenants import settings
from communities.services.tenants.places import is_language_tag, time_zones

MAX_INTEGER = 2**31 - 1  # The database column allows no larger number.
EXAMPLE = {
    "community_id": "710000000000000001",
    "locale": "en-GB",
    "time_zone": "Europe/Oslo",
    "default_anonymous_mode": "no",
    "privacy_url": "https://example.com/privacy",
    "logo_url": "https://example.com/logo.png",
    "accent_color": "4b4fcc",
    "background_color": None,
    "background_url": None,
    "font": "serif",
    "corners": None,
    "use_xp": True,
    "xp_name": "XP",
    "xp_per_question": 10,
    "use_leader_board": True,
    "thank_you_type": "default",
    "thank_you_custom_message": None,
    "thank_you_custom_label": None,
    "allow_sign_up": False,
    "require_second_factor": False,
    "allowed_origins": ["https://www.example.com"],
}


class LanguageTag(StrictTextField):
    default_error_messages = {"invalid": "must be the tag of a known language, such as en or pt-BR."}

    def to_internal_value(self, data: object) -> str:
        text = super().to_internal_value(data)
        if text and not is_language_tag(text):
            self.fail("invalid")
        return text


class TimeZone(StrictTextField):
    default_error_messages = {"invalid": "must be the IANA name of a time zone, such as Europe/Oslo."}

    def to_internal_value(self, data: object) -> str:
        text = super().to_internal_value(data)
        if text not in time_zones():
            self.fail("invalid")
        return text


@extend_schema_field({"type": "string", "format": "uri", "maxLength": MAX_LENGTH})
class LinkField(StrictStringField):
    """An https address to which a page links."""

    default_error_messages = {"invalid": "must be an address that begins with https://."}

    def to_internal_value(self, data: object) -> str:
        text = super().to_internal_value(data)
        if text and not is_link(text):
            self.fail("invalid")
        return text


@extend_schema_field({"type": "string", "format": "uri", "maxLength": MAX_LENGTH})
class PictureAddressField(StrictStringField):
    """The https address of a picture on a public host, or of an upload."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(max_length=MAX_LENGTH, **kwargs)

    def to_internal_value(self, data: object) -> str:
        address = super().to_internal_value(data)
        if address:
            try:
                copies.check_address(address)
            except BadAddress as error:
                raise serializers.ValidationError(error.reason, code=error.code) from None
        return address


class OriginField(StrictStringField):
    """The https origin of a site."""

    def to_internal_value(self, data: object) -> str:
        try:
            return parse_origin(super().to_internal_value(data))
        except BadAddress as error:
            raise serializers.ValidationError(error.reason, code=error.code) from None


class SettingsShape(serializers.Serializer[CommunitySettings]):
    """Null means that no value was chosen."""

    community_id = serializers.CharField(read_only=True)
    locale = LanguageTag(
        allow_null=True,
        max_length=35,
        help_text="A BCP 47 language tag that begins with a known language, such as `en` or `pt-BR`. Survey "
        "pages have their own texts in English, French, German, Portuguese or Spanish: in this language, "
        "and with null in the reader's.",
    )
    time_zone = TimeZone(
        max_length=64,
        help_text=(
            "The time zone in which staff enter and read times, as an IANA name; `UTC` by default. Times "
            "of this interface are always UTC."
        ),
    )
    default_anonymous_mode = StrictChoiceField(
        choices=CommunitySettings.AnonymousMode.values,
        allow_null=True,
        help_text="The privacy of new projects that set none.",
    )
    privacy_url = LinkField(
        allow_null=True,
        max_length=MAX_LENGTH,
        help_text="The https address of the community's privacy text. Pages and the chat link to it beside "
        "the sentence that says who sees the answers.",
    )
    logo_url = PictureAddressField(
        allow_null=True,
        help_text=(
            "A picture in the header of pages, beside the name of the project. A project can replace each "
            "field of the brand (`presentation`)."
        ),
    )
    accent_color = ColourField(
        allow_null=True,
        help_text=(
            "The colour of buttons and links. A colour with too little contrast is made darker or lighter."
        ),
    )
    background_color = ColourField(
        allow_null=True,
        help_text="The colour of pages: light or dark. A medium colour is made lighter or darker.",
    )
    background_url = PictureAddressField(
        allow_null=True, help_text="A picture behind pages. Texts have their own background."
    )
    font = StrictChoiceField(
        choices=CommunitySettings.Font.values,
        allow_null=True,
        help_text="A font of the reader's device; no font is loaded.",
    )
    corners = StrictChoiceField(choices=CommunitySettings.Corners.values, allow_null=True)
    use_xp = StrictBooleanField(allow_null=True)
    xp_name = StrictTextField(allow_null=True, max_length=50)
    xp_per_question = StrictIntegerField(allow_null=True, min_value=0, max_value=MAX_INTEGER)
    use_leader_board = StrictBooleanField(allow_null=True)
    thank_you_type = StrictChoiceField(choices=CommunitySettings.ThankYouType.values, allow_null=True)
    thank_you_custom_message = StrictTextField(allow_null=True, max_length=4000)
    thank_you_custom_label = StrictTextField(allow_null=True, max_length=80)
    allow_sign_up = StrictBooleanField(
        help_text="Whether anybody may create an account and become a member without an invitation."
    )
    require_second_factor = StrictBooleanField(
        help_text=(
            "Whether staff need an authenticator app or a passkey to open the community's staff pages. API "
            "keys are not affected. Only a user who has a second factor can switch this setting on."
        )
    )
    allowed_origins = StrictListField(
        child=OriginField(),
        max_length=MAX_ORIGINS,
        help_text="The sites whose pages may lead conversations with a token "
        "(`POST .../conversations/{conversation_id}/tokens`), such as `https://www.example.com`.",
    )

    def validate_allowed_origins(self, origins: list[str]) -> list[str]:
        return list(dict.fromkeys(origins))


def _as_json(saved: CommunitySettings) -> dict[str, object]:
    return {
        "community_id": str(saved.community_id),
        **{name: getattr(saved, name) for name in EXAMPLE if name != "community_id"},
    }


class SettingsViewSet(CommunityViewSet):
    noun = "settings"
    least_role = {
        "retrieve": Role.MEMBER,
        "partial_update": Role.ADMIN,
    }

    def lock(self, **kwargs: Any) -> None:
        settings.lock(community_id=self.actor.community_id)

    @extend_schema(
        operation_id="settings_get",
        tags=["Communities"],
        summary="Read a community's settings",
        description="Returns the settings. Unsaved settings have their defaults.",
        responses=SettingsShape,
        examples=[OpenApiExample("Settings", EXAMPLE, response_only=True)],
    )
    def retrieve(self, request: Request, **kwargs: Any) -> Response:
        return Response(_as_json(settings.get_settings(community_id=self.actor.community_id)))

    @extend_schema(
        operation_id="settings_patch",
        tags=["Communities"],
        summary="Change a community's settings",
        description="Changes the fields in the request; null clears a field.",
        request=SettingsShape,
        responses=SettingsShape,
        examples=[
            OpenApiExample("A name for XP", {"xp_name": "Tempi"}, request_only=True),
            OpenApiExample("Changed", EXAMPLE | {"xp_name": "Tempi"}, response_only=True),
        ],
    )
    @once
    def partial_update(self, request: Request, **kwargs: Any) -> Response:
        changes = self.read(SettingsShape, partial=True)
        row = settings.save_settings(actor=self.actor, changes=changes, at=self.at)
        return Response(_as_json(row))
