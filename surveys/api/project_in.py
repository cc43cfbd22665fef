"""Serializers for projects in requests (rule 1.37)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from communities.gate.fields import (
    StrictBooleanField,
    StrictChoiceField,
    StrictIntegerField,
    StrictListField,
    StrictTextField,
    UtcDateTimeField,
)
from communities.gate.pagination import KeysetIn
from communities.ground.ids import MAX_ID
from communities.models import CommunitySettings
from surveys.ai.provider import MAX_INTENT
from surveys.api.blocks import ref
from surveys.api.fields import (
    AchievementIdField,
    BooleanMapField,
    ColorField,
    OneCharacterField,
    PictureField,
    SnowflakeField,
)
from surveys.api.project_settings_in import MAX_SMALL, PRIVACY_MODES, Group, ProjectSettingsIn
from surveys.engine.language import names
from surveys.engine.script import Bucket
from surveys.models import Project
from surveys.services.projects import listing


@extend_schema_field(ref("Script"))
class ScriptField(serializers.JSONField):
    """A script as raw JSON. The engine validates it, so that one response lists all its errors."""

    def to_internal_value(self, data: Any) -> Any:
        return data  # DRF would serialize it again, only to check that it is valid JSON


class ScheduleIn(Group):
    mode = StrictChoiceField(["manual", "scheduled"], required=False)
    time = UtcDateTimeField(
        required=False, allow_null=True, help_text="Required with `scheduled`; must be in the future."
    )


class AudienceIn(Group):
    participation = StrictChoiceField(Project.Participation.values, required=False)
    response_channel = StrictChoiceField(Project.ResponseChannel.values, required=False)
    required_role_ids = StrictListField(
        child=SnowflakeField(),
        max_length=50,
        required=False,
        help_text="Respondents need one of these roles on the chat platform.",
    )
    verified_source_ids = StrictListField(
        child=StrictIntegerField(min_value=1, max_value=MAX_ID),
        max_length=50,
        required=False,
        help_text="Respondents need one of these verified sources of the community. Other ids admit nobody.",
    )


class EmbedConfigIn(Group):
    info_display = StrictChoiceField(["embed", "button"], required=False, allow_null=True)
    rows = BooleanMapField(
        required=False,
        allow_null=True,
        help_text="Which rows the embed shows: `status`, `questions`, `privacy`, `rewards` and `closes`. "
        "Each is shown unless it is false.",
    )


class InvitationIn(Group):
    post_channel_id = SnowflakeField(
        required=False,
        allow_null=True,
        help_text=(
            "A text or announcement channel of the community's server, a thread there, or a post of a "
            "forum. [What the bot needs](/docs/details#open-a-project)."
        ),
    )
    ping_role_ids = StrictListField(
        child=SnowflakeField(),
        max_length=50,
        required=False,
        help_text=(
            "Roles that the first post of the project mentions and notifies. Only admins add roles: others "
            "get a violation `not_allowed`."
        ),
    )
    message = StrictTextField(max_length=4000, required=False, allow_null=True)
    thumbnail_url = PictureField(required=False, allow_null=True)
    image_url = PictureField(required=False, allow_null=True)
    border_color = ColorField(required=False, allow_null=True, help_text="Hex without `#`; used while open.")
    border_color_closed = ColorField(required=False, allow_null=True, help_text="Used once closed. Premium.")
    footer = StrictTextField(max_length=2048, required=False, allow_null=True, help_text="Premium.")
    embed_config = EmbedConfigIn(allow_null=True)
    answer_button_label = StrictTextField(
        max_length=80, required=False, allow_null=True, help_text="Premium."
    )
    answer_button_color = StrictIntegerField(
        min_value=1,
        max_value=4,
        required=False,
        allow_null=True,
        help_text="1 primary, 2 secondary, 3 success, 4 danger. Premium.",
    )


class DeliveryIn(Group):
    opening = ScheduleIn()
    closing = ScheduleIn()
    audience = AudienceIn()
    invitation = InvitationIn(allow_null=True)


class RewardsIn(Group):
    discord_role_id = SnowflakeField(required=False, allow_null=True, help_text="Role granted on completion.")
    achievement_id = AchievementIdField(
        required=False,
        allow_null=True,
        help_text="Digits. If null once an achievement is enabled, the project keeps its number or gets the "
        "community's next one.",
    )
    use_xp = StrictBooleanField(
        required=False,
        allow_null=True,
        help_text="Award `xp_per_question` for each question on completion; on a poll once, with the vote.",
    )
    achievement_enabled = StrictBooleanField(
        required=False, allow_null=True, help_text="Grant an achievement on completion."
    )
    achievement_image_url = PictureField(
        required=False,
        allow_null=True,
        help_text="Null: the achievement's own image, or else a generated badge.",
    )
    achievement_name = StrictTextField(
        max_length=200,
        required=False,
        allow_null=True,
        help_text="Null: the achievement's own name, or else `Completed: ` and the project's name.",
    )
    achievement_role_id = SnowflakeField(
        required=False, allow_null=True, help_text="Role granted with the achievement."
    )


class PresentationIn(Group):
    theme_id = StrictIntegerField(
        min_value=1,
        max_value=MAX_SMALL,
        required=False,
        allow_null=True,
        help_text="An unknown id shows the default theme.",
    )
    interviewer_id = StrictIntegerField(min_value=1, max_value=MAX_SMALL, required=False, allow_null=True)
    branding = StrictTextField(max_length=200, required=False, allow_null=True)
    chart_emoji = OneCharacterField(required=False, allow_null=True, help_text="One visible character.")
    logo_url = PictureField(
        required=False,
        allow_null=True,
        help_text=(
            "A picture in the header of the page. Null means the community's. The same applies to the "
            "fields of the brand below."
        ),
    )
    accent_color = ColorField(
        required=False,
        allow_null=True,
        help_text=(
            "The colour of buttons and links. A colour with too little contrast is made darker or lighter. "
            "Null means the colour of `theme_id`, or the community's."
        ),
    )
    background_color = ColorField(
        required=False,
        allow_null=True,
        help_text="The colour of the page: light or dark. A medium colour is made lighter or darker.",
    )
    background_url = PictureField(
        required=False,
        allow_null=True,
        help_text="A picture behind the page. Texts have their own background.",
    )
    font = StrictChoiceField(
        choices=CommunitySettings.Font.values,
        required=False,
        allow_null=True,
        help_text="A font of the reader's device; no font is loaded.",
    )
    corners = StrictChoiceField(choices=CommunitySettings.Corners.values, required=False, allow_null=True)


class BucketIn(serializers.Serializer[Any]):
    name = StrictTextField(
        max_length=64,
        help_text=(
            "The variable key is the name in lower case with `_` for spaces. Tokens and logic need "
            "letters, digits, spaces, `_` and `-`. No brackets, quotes or commas, and not `correct` at the "
            "start."
        ),
    )
    order = StrictIntegerField(
        min_value=0, max_value=MAX_SMALL, required=False, help_text="Defaults to the index in the array."
    )

    def to_internal_value(self, data: Any) -> Any:
        if isinstance(data, Mapping) and "name" not in data:  # required in partial updates too
            raise serializers.ValidationError({"name": ["is required."]}, code="required")
        return super().to_internal_value(data)

    def validate_name(self, name: str) -> str:
        if problem := names.bucket_name_problem(name):
            raise serializers.ValidationError(problem, code="invalid")
        return name


class ScoringIn(Group):
    enabled = StrictBooleanField(
        required=False,
        help_text=(
            "Whether scoring is on. Enable scoring before you write the script: otherwise scores do not "
            "count."
        ),
    )
    buckets = StrictListField(
        child=BucketIn(),
        max_length=100,
        required=False,
        help_text="If empty, buckets are created from the keys of the script's `score_values`.",
    )

    def validate_buckets(self, buckets: list[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
        keys = [Bucket(bucket["name"]).key.replace("-", "_") for bucket in buckets]
        if len(set(keys)) < len(keys):
            raise serializers.ValidationError(
                "must have names with different variable keys.", code="duplicate"
            )
        return buckets


class Fields(serializers.Serializer[Any]):
    """Fields shared by create and update. Fields that exist only in responses are accepted and ignored."""

    privacy_mode = StrictChoiceField(
        PRIVACY_MODES, required=False, allow_null=True, help_text="The same as `settings.privacy_mode`."
    )
    scoring_enabled = StrictBooleanField(required=False, help_text="The same as `scoring.enabled`.")
    settings = ProjectSettingsIn()
    delivery = DeliveryIn(allow_null=True, help_text="Null clears the group.")
    rewards = RewardsIn(allow_null=True)
    presentation = PresentationIn(allow_null=True)
    scoring = ScoringIn(allow_null=True)

    accepted_and_ignored: tuple[str, ...] = (
        "id",
        "community_id",
        "status",
        "info",
        "credits_used",
        "generation",
    )


class ProjectIn(Fields):
    """Fields to change. `type` never changes, and the script has its own endpoint."""

    name = StrictTextField(max_length=200, required=False)
    accepted_and_ignored = (*Fields.accepted_and_ignored, "type", "script")


class NewProjectIn(Fields):
    """A project to create: `name` and `type`, and at most one of `script`, `intent` and `template`."""

    name = StrictTextField(max_length=200)
    type = StrictChoiceField(Project.Type.values)
    intent = StrictTextField(
        max_length=MAX_INTENT,
        required=False,
        allow_null=True,
        allow_blank=False,
        help_text="What to ask, in plain words. AI writes the script from it.",
    )
    template = StrictTextField(
        max_length=64,
        required=False,
        allow_null=True,
        help_text="The id of the template to copy the script from (`GET /v1/templates`).",
    )
    script = ScriptField(required=False, allow_null=True)
    # Includes the other fields of a template, so that clients may send a template back as they read it.
    accepted_and_ignored = (
        *Fields.accepted_and_ignored,
        "description",
        "category",
        "question_count",
        "estimated_minutes",
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        sent = [name for name in ("intent", "template", "script") if attrs.get(name) is not None]
        if len(sent) > 1:
            last, first = sent[-1], sent[0]
            raise serializers.ValidationError(
                {last: f"`{last}` cannot be sent with `{first}`: send only one of them."},
                code="conflicting",
            )
        return attrs


class OpenIn(serializers.Serializer[Any]):
    """Delivery fields to change while opening."""

    delivery = DeliveryIn(allow_null=True)


class CloneIn(serializers.Serializer[Any]):
    name = StrictTextField(max_length=200, required=False, help_text="Defaults to `Copy of ...`.")


class ListIn(KeysetIn):
    """Query parameters of the project list."""

    status = StrictChoiceField(Project.Status.values, required=False)
    type = StrictChoiceField(Project.Type.values, required=False)
    search = StrictTextField(max_length=200, required=False, help_text="A part of the name, in any case.")
    author_id = serializers.IntegerField(min_value=1, max_value=MAX_ID, required=False)
    sort = StrictChoiceField(
        list(listing.ORDER), default="id", help_text="`id`: in the order of ids; `-created_at`: newest first."
    )
