"""Serializers for projects in requests and responses (rule 1.37)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers
from rest_framework.exceptions import ErrorDetail

from communities.gate.fields import (
    StrictBooleanField,
    StrictChoiceField,
    StrictIntegerField,
    StrictListField,
    StrictStringField,
    StrictTextField,
    UtcDateTimeField,
)
from communities.gate.pagination import KeysetIn
from communities.gate.paths import MAX_ID
from communities.ground.sent_text import sent_text
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
from surveys.engine.language import names
from surveys.engine.script import Bucket
from surveys.models import Project
from surveys.models.project import MAX_DAYS_KEPT
from surveys.services.ground import metadata
from surveys.services.projects import listing

PRIVACY_MODES = Project.PrivacyMode.values
MAX_SMALL = 2**31 - 1
MAX_CONSENT = 2_000  # characters
MAX_WHERE = 2_000
MAX_URL = 2_048
MAX_LABEL = 80
MAX_END_MESSAGE = 4_000
MAX_QUOTA_MESSAGE = 1_000
MAX_QUOTAS = MAX_ENDS = 20
MAX_BEGUN = 1_000_000


@extend_schema_field(ref("Script"))
class ScriptField(serializers.JSONField):
    """A script as raw JSON. The engine validates it, so that one response lists all its errors."""

    def to_internal_value(self, data: Any) -> Any:
        return data  # DRF would serialize it again, only to check that it is valid JSON


class Group(serializers.Serializer[Any]):
    """A group of fields. Fields that are not sent stay unchanged."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        kwargs.setdefault("required", False)
        super().__init__(*args, **kwargs)

    def to_internal_value(self, data: Any) -> Any:
        if not isinstance(data, Mapping):
            errors = {"non_field_errors": ["must be an object."]}
            raise serializers.ValidationError(errors, code="invalid_type")
        return super().to_internal_value(data)


class Element(Group):
    """An element of a list. It is written whole, also where a request changes only some fields."""

    def to_internal_value(self, data: Any) -> Any:
        if isinstance(data, Mapping):
            fields = self.fields
            if missing := [name for name, field in fields.items() if field.required and name not in data]:
                errors = {name: [ErrorDetail("This field is required.", "required")] for name in missing}
                raise serializers.ValidationError(errors)
            defaults = {name: each.default for name, each in fields.items() if not each.required}
            data = {**defaults, **data}
        return super().to_internal_value(data)


# --- In -------------------------------------------------------------------------------------------


@extend_schema_field(
    {
        "oneOf": [
            {"type": "array", "items": {"type": "string"}, "maxItems": metadata.MAX_FIELDS},
            {
                "type": "object",
                "additionalProperties": {
                    "type": "array",
                    "items": {"type": "string", "maxLength": metadata.MAX_VALUE},
                    "minItems": 1,
                    "maxItems": metadata.MAX_VALUES,
                },
                "maxProperties": metadata.MAX_FIELDS,
            },
        ]
    }
)
class HiddenFields(serializers.Field[Any, Any, Any, Any]):
    """A list of names, or an object of names with lists of values."""

    default_error_messages = {"too_many": f"must have at most {metadata.MAX_FIELDS} names."}

    def to_internal_value(self, data: Any) -> Any:
        if isinstance(data, list | dict) and len(data) > metadata.MAX_FIELDS:
            self.fail("too_many")
        if isinstance(data, list) and all(isinstance(name, str) for name in data):
            return list(dict.fromkeys(data))
        if isinstance(data, dict):
            _refuse_many_values(data)
            data = {name: _as_sent(values) for name, values in data.items()}
        if isinstance(data, dict) and all(_are_values(values) for values in data.values()):
            return data
        raise serializers.ValidationError(
            "This is a list of names, or an object of names with lists of texts.", code="invalid_type"
        )

    def to_representation(self, value: Any) -> Any:
        return value


def _refuse_many_values(data: Mapping[str, Any]) -> None:
    for name, values in data.items():
        if isinstance(values, list) and len(values) > metadata.MAX_VALUES:
            message = f"A field has at most {metadata.MAX_VALUES} values."
            raise serializers.ValidationError({name: [ErrorDetail(message, "too_many")]})


def _as_sent(values: Any) -> Any:
    """The values in the form in which metadata is compared with them."""
    if not isinstance(values, list):
        return values
    return [sent_text(each) if isinstance(each, str) else each for each in values]


def _are_values(values: Any) -> bool:
    return isinstance(values, list) and all(
        isinstance(each, str) and 0 < len(each) <= metadata.MAX_VALUE for each in values
    )


_URL_HELP = (
    "An https address. `[response_id]` and tokens such as `[score]` or `[field.customer]` are filled in, "
    "percent-encoded; not on anonymous projects."
)
_WHERE_HELP = (
    "An expression over the script's blocks, its variables, `field.<name>` and `language` (the community's, "
    "such as `en`), with at most 50 names and without `answer`. Blocks without an answer compare as in "
    "conditions. It follows renamed blocks and values."
)
_LABEL_HELP = "The words on the button; null means `Continue`."
_REDIRECT_HELP = "Whether pages lead there at once. A frame and the chat show the button."


class EndIn(Group):
    url = StrictStringField(max_length=MAX_URL, required=False, help_text=_URL_HELP)
    label = StrictTextField(max_length=MAX_LABEL, required=False, allow_null=True, help_text=_LABEL_HELP)  # type: ignore[assignment]
    redirect = StrictBooleanField(required=False, help_text=_REDIRECT_HELP)


class OtherEndIn(Element):
    """An end for the responses that satisfy an expression."""

    where = StrictTextField(max_length=MAX_WHERE, required=True, help_text=_WHERE_HELP)
    message = StrictTextField(
        max_length=MAX_END_MESSAGE,
        default=None,
        allow_null=True,
        help_text="Words in place of the thanks, with tokens filled in.",
    )
    url = StrictStringField(max_length=MAX_URL, default=None, allow_null=True, help_text=_URL_HELP)
    label = StrictTextField(max_length=MAX_LABEL, default=None, allow_null=True, help_text=_LABEL_HELP)  # type: ignore[assignment]
    redirect = StrictBooleanField(default=False, help_text=_REDIRECT_HELP)


class QuotaIn(Element):
    """A limit of the completed responses that satisfy an expression."""

    where = StrictTextField(max_length=MAX_WHERE, required=True, help_text=_WHERE_HELP)
    limit = StrictIntegerField(min_value=1, max_value=MAX_SMALL, required=True)
    message = StrictTextField(
        max_length=MAX_QUOTA_MESSAGE,
        default=None,
        allow_null=True,
        help_text="The message for a respondent whose quota is full; null means a default sentence.",
    )


class ProjectSettingsIn(Group):
    privacy_mode = StrictChoiceField(
        PRIVACY_MODES, required=False, allow_null=True, help_text="Null means the community's default."
    )
    max_completes_per_user = StrictIntegerField(
        min_value=1,
        max_value=MAX_SMALL,
        required=False,
        allow_null=True,
        help_text="Null means unlimited. The default for new polls is 1.",
    )
    change_poll = StrictBooleanField(
        required=False, allow_null=True, help_text="Whether a respondent may change their vote."
    )
    poll_results_mode = StrictChoiceField(
        Project.PollResultsMode.values, required=False, allow_null=True, help_text="Null means `hidden`."
    )
    reveal_results = StrictBooleanField(required=False, allow_null=True, help_text="Post a summary on close.")
    share_results = StrictBooleanField(
        required=False,
        help_text="Share aggregated results with every member, and on a public page at `info.results_url`. "
        "Switching this off removes the page at once; switching it on again restores it at the same address.",
    )
    lock_graded_answers = StrictBooleanField(
        required=False,
        help_text="Whether an answer stays once the respondent has seen its `when_correct` or "
        "`when_incorrect`: going back and choosing another is `409` then. On by default. Polls are not "
        "affected: there `change_poll` decides.",
    )
    hidden_fields = HiddenFields(
        required=False,
        help_text=(
            "Names of values that the address of the respondents' page may carry, such as `utm_source` in "
            "`?utm_source=mail`. They become `metadata` of the Response; prompts show `[field.utm_source]`, "
            f"conditions compare `field.utm_source`. Up to {metadata.MAX_FIELDS} names of 1 to "
            f"{metadata.MAX_KEY} of `a-z`, `0-9` and `_`. On anonymous projects this is an object of names "
            f'with up to {metadata.MAX_VALUES} allowed values each, `{{"campaign": ["mail", "poster"]}}`; '
            "other values are dropped, and so are all values of somebody who is signed in or came by a "
            f"personal link. Names and values have at most {metadata.MAX_DECLARED:,} characters together. "
            "Give many people the same address there: whoever hands each person "
            "values of their own could recognise the answers by them. `embed`, `link`, `skip` and `taken` "
            "are words of the address itself."
        ),
    )
    consent = StrictTextField(
        max_length=MAX_CONSENT,
        required=False,
        allow_null=True,
        help_text="What respondents agree to. The request that begins a conversation must then contain "
        '`"consent": true`; pages show a box to tick, the chat a button. The text and the moment are kept '
        "with the response. A changed text applies to later conversations.",
    )
    max_completes = StrictIntegerField(
        min_value=1,
        max_value=MAX_SMALL,
        required=False,
        allow_null=True,
        help_text="How many completed responses the project takes in all. One that is too many is `409` "
        "with the violation code `full`, at the beginning or at its last answer; what was answered before is "
        "kept as a partial response. Deleting a response frees its place. Imports take places, and are not "
        "refused.",
    )
    quotas = StrictListField(
        child=QuotaIn(),
        max_length=MAX_QUOTAS,
        required=False,
        help_text="Limits like `max_completes`, each for the responses that satisfy its `where`. One that "
        "names only `field.<name>` and `language` also refuses the beginning. Role member reads none. On "
        "anonymous projects the refusal at the end names no quota, and one over answers has no `message`.",
    )
    max_begun_per_minute = StrictIntegerField(
        min_value=1,
        max_value=MAX_BEGUN,
        required=False,
        allow_null=True,
        help_text="How many conversations may begin in a minute on the open page before browsers do a proof "
        "of work first. Nobody is refused. Null for the limit of the installation.",
    )
    advance_on_choice = StrictBooleanField(
        required=False,
        help_text="Whether pages go on after a click or tap on one choice or a point of a scale. On by "
        "default. Never by keyboard, from a menu, or where feedback follows. The interface and the chat "
        "ignore it.",
    )
    review = StrictBooleanField(
        required=False,
        help_text="Whether pages show all answers before the end, from where each can be changed. Off by "
        "default. Polls, the interface and the chat ignore it: there the last answer completes. A "
        "conversation that waits on a page for its end has `step` null and status `active`; `continue` "
        "completes it.",
    )
    end = EndIn(
        allow_null=True, help_text="A button at the end, or a redirect. `url` is required the first time."
    )
    ends = StrictListField(
        child=OtherEndIn(),
        max_length=MAX_ENDS,
        required=False,
        help_text="Other ends: the first one whose `where` holds takes the place of `end`. On anonymous "
        "projects where an end has a `url`, `where` can name only `field.<name>` and `language`.",
    )
    mail_copy = StrictBooleanField(
        required=False,
        help_text="Whether pages offer at the end to mail a copy of one's answers. Off by default. Anonymous "
        "projects, the interface and the chat ignore it.",
    )
    indexed = StrictBooleanField(
        required=False,
        help_text="Whether search engines may list the page. Off by default, and without effect unless "
        "`participation` is `open_web`.",
    )
    keep_responses_days = StrictIntegerField(
        min_value=1,
        max_value=MAX_DAYS_KEPT,
        required=False,
        allow_null=True,
        help_text="Responses are deleted so many days after they were submitted, partial ones after their "
        "last answer. The effects are those of a deletion. Respondents are told. Null keeps them.",
    )


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
        help_text="A text or announcement channel of the community's server, a thread there, or a post of a "
        "forum (not the forum itself). The bot must be able to post in it. In threads it needs the "
        "permission Send Messages in Threads, and Manage Threads if the thread is locked. An archived "
        "thread is opened by the post.",
    )
    ping_role_ids = StrictListField(
        child=SnowflakeField(),
        max_length=50,
        required=False,
        help_text="Roles that the first post of the project mentions and notifies; none by default. A post "
        "that takes its place notifies nobody. Only admins add roles: others get a violation `not_allowed`.",
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
        help_text="A picture in the header of the page. Null, like each field of the brand below: the "
        "community's own.",
    )
    accent_color = ColorField(
        required=False,
        allow_null=True,
        help_text="The colour of buttons and links. Pages make it darker or lighter where it has too little "
        "contrast. With null, the colours are those of `theme_id`, or the community's where that is null.",
    )
    background_color = ColorField(
        required=False,
        allow_null=True,
        help_text="The colour of the page: light or dark. A colour between is made lighter or darker.",
    )
    background_url = PictureField(
        required=False,
        allow_null=True,
        help_text="A picture behind the page. Texts on it have a ground of their own.",
    )
    font = StrictChoiceField(
        choices=CommunitySettings.Font.values,
        required=False,
        allow_null=True,
        help_text="Of those that the reader's machine has; nothing is loaded.",
    )
    corners = StrictChoiceField(choices=CommunitySettings.Corners.values, required=False, allow_null=True)


class BucketIn(serializers.Serializer[Any]):
    name = StrictTextField(
        max_length=64,
        help_text=(
            "Display name. The variable key is the name in lower case with `_` for spaces; tokens and logic "
            "can refer to it if the name has only letters, digits, spaces, `_` and `-`. Must not contain "
            "brackets, quotes or commas, and must not start with `correct`."
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
        help_text="Scores count only if the script is written while this is true: enable it first.",
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

    sort_with_after = "id"
    sort_without_after = "-created_at"

    status = StrictChoiceField(Project.Status.values, required=False)
    type = StrictChoiceField(Project.Type.values, required=False)
    search = StrictTextField(max_length=200, required=False, help_text="Part of the name; case is ignored.")
    author_id = serializers.IntegerField(min_value=1, max_value=MAX_ID, required=False)
    sort = StrictChoiceField(
        list(listing.ORDER),
        required=False,
        help_text="Newest first without it (`-created_at`); with `after`, in the order of ids (`id`).",
    )


# --- Out ------------------------------------------------------------------------------------------


class InfoOut(serializers.Serializer[Any]):
    type = StrictChoiceField(Project.Type.values)
    created_at = UtcDateTimeField(allow_null=True)
    updated_at = UtcDateTimeField(
        help_text="When the project last changed: its fields, its state or its script. Responses do not "
        "change it, and neither does the name of its author."
    )
    block_count = StrictIntegerField(help_text="Blocks of the script, without the outro.")
    is_cloneable = StrictBooleanField(help_text="Whether other communities may clone it.")
    author_id = StrictTextField(allow_null=True)
    author_name = StrictTextField(allow_null=True)
    completion_count = StrictIntegerField()
    response_count = StrictIntegerField(
        help_text="Answered blocks in all responses: the admin's “answered questions”. The number of "
        "responses is `pagination.total` of their listing."
    )
    web_url = serializers.URLField(
        help_text=(
            "The respondent's page. `?<block name>=value` fills in a question for the respondent, who sees "
            "and may change it: `?colour=red` (an option's value or label, in any capitals), "
            "`?topics=chess,go` or a repeated parameter (several options; of a ranking only the order shown, "
            "no answer before the respondent takes it), `?score=9`, `?first_name=Ann`. Names are "
            "compared as in scripts; a space may be written `_`. A value that answers no question is "
            "left out, and so is what "
            "goes beyond about 2,000 characters in all. With `&skip=1` a question that is filled in is "
            "passed, and saved with the respondent's next press of a button: opening the address saves "
            "nothing. The last question, a poll's, a ranking, a graded question of a quiz and all questions "
            "of anonymous projects are never passed. A name in `settings.hidden_fields` is a field, not a "
            "question, and `colloquy-accent`, `colloquy-theme`, `colloquy-visit`, `embed`, `link`, "
            "`skip` and `taken` belong to the page.\n\n"
            "To show it inside another page, add "
            '`<script src="https://colloquy.example/static/surveys/embed.js" '
            'data-survey="https://colloquy.example/s/k3Jq0bXv9TzL" async></script>` there: it adds a frame '
            "whose height adapts, which comes into view at each step, and in which a visitor who comes back "
            'goes on. The frame posts `{type: "colloquy:ready"}`, `{type: "colloquy:height", height}` and '
            '`{type: "colloquy:step", height}` to that page (heights in pixels). `data-theme` (1 to 8) '
            "and `data-accent` (such as `#0a7d5a`) take the place of its colours. The frame's element "
            "has the events `colloquy:started`, `colloquy:answered` and "
            "`colloquy:completed`, which bubble and say nothing about answers."
        )
    )
    short_url = serializers.URLField(
        allow_null=True,
        help_text="A short address that leads to `web_url`, for print and for reading aloud. Staff make it "
        "in the admin under Share. Null without one, and while `participation` is not `open_web`.",
    )
    scheduled_open_at = UtcDateTimeField(allow_null=True, help_text="When the pending opening takes place.")
    results_url = serializers.URLField(
        allow_null=True, help_text="The public page of the results, while `settings.share_results` is on."
    )


class ProjectSettingsOut(serializers.Serializer[Any]):
    privacy_mode = StrictChoiceField(PRIVACY_MODES)
    max_completes_per_user = StrictIntegerField(min_value=1, allow_null=True)
    change_poll = StrictBooleanField(allow_null=True)
    poll_results_mode = StrictChoiceField(Project.PollResultsMode.values, allow_null=True)
    reveal_results = StrictBooleanField(allow_null=True)
    share_results = StrictBooleanField()
    lock_graded_answers = StrictBooleanField()
    hidden_fields = HiddenFields()
    consent = StrictTextField(allow_null=True)
    max_completes = StrictIntegerField(min_value=1, allow_null=True)
    quotas = QuotaIn(many=True)
    max_begun_per_minute = StrictIntegerField(min_value=1, max_value=MAX_BEGUN, allow_null=True)
    advance_on_choice = StrictBooleanField()
    review = StrictBooleanField()
    end = EndIn(required=True, allow_null=True)
    ends = OtherEndIn(many=True)
    keep_responses_days = StrictIntegerField(min_value=1, max_value=MAX_DAYS_KEPT, allow_null=True)
    mail_copy = StrictBooleanField()
    indexed = StrictBooleanField()


class BucketOut(serializers.Serializer[Any]):
    name = StrictTextField()
    order = StrictIntegerField()


class ScoringOut(serializers.Serializer[Any]):
    enabled = StrictBooleanField()
    buckets = BucketOut(
        many=True,
        help_text="Empty while scoring is off, and until a script is written while it is on.",
    )


class GenerationOut(serializers.Serializer[Any]):
    """Progress of writing a script from an `intent`."""

    status = StrictChoiceField(["pending", "completed", "failed"])
    generated_by = StrictTextField(
        allow_null=True, help_text="`anthropic` or `openai`, or `local` for the template library."
    )
    error = StrictTextField(allow_null=True, help_text="Why there is no script.")
    method = StrictChoiceField(
        ["template", "model"], help_text="A template fitted to the words of the intent, or a model."
    )
    confidence = serializers.FloatField(
        min_value=0, max_value=1, allow_null=True, help_text="How well a template fits; null for a model."
    )
    understood = serializers.ListField(
        child=serializers.CharField(), help_text="What was taken from the intent, in sentences."
    )
    unmet = serializers.ListField(
        child=serializers.CharField(),
        help_text="What the intent wishes and the project does not have, in sentences.",
    )


class ProjectOut(serializers.Serializer[Any]):
    """A survey or poll. `status` is the status at the time of the response."""

    id = StrictTextField()
    community_id = StrictTextField()
    name = StrictTextField()
    status = StrictChoiceField(Project.Status.values)
    info = InfoOut()
    settings = ProjectSettingsOut()
    delivery = DeliveryIn(required=True, allow_null=True)
    rewards = RewardsIn(required=True, allow_null=True)
    presentation = PresentationIn(required=True, allow_null=True)
    scoring = ScoringOut()
    generation = GenerationOut(allow_null=True, help_text="Null if there was no `intent`.")


class NewProjectOut(ProjectOut):
    """A new project with its script."""

    script = ScriptField(allow_null=True, help_text="Null while AI is still writing it.")
    credits_used = StrictIntegerField(help_text="0 if AI was not used, or was free.")
