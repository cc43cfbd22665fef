"""Serializers for the settings of a project in requests."""

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
)
from communities.ground.sent_text import sent_text
from surveys.models import Project
from surveys.models.project import MAX_DAYS_KEPT
from surveys.services.ground import metadata

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
    "An expression over the script's blocks, its variables, `field.<name>` and `language`, with at most 50 "
    "names and without `answer`. Renamed blocks and values are renamed here too."
)
_LABEL_HELP = "The words on the button; null means `Continue`."
_REDIRECT_HELP = "Whether pages open the address at once. A frame and the chat show a button instead."


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
        help_text="The text instead of the thanks, with tokens filled in.",
    )
    url = StrictStringField(max_length=MAX_URL, default=None, allow_null=True, help_text=_URL_HELP)
    label = StrictTextField(max_length=MAX_LABEL, default=None, allow_null=True, help_text=_LABEL_HELP)  # type: ignore[assignment]
    redirect = StrictBooleanField(default=False, help_text=_REDIRECT_HELP)
    screen_out = StrictBooleanField(
        default=False,
        help_text=(
            "Whether a response with this end is screened out. Its `outcome` is `screened_out`, and only "
            "lists and exports with this `outcome` include the response. The conversation ends when all "
            "questions are passed that this `where` and earlier ones name. Not on polls."
        ),
    )


class QuotaIn(Element):
    """A limit of the completed responses that satisfy an expression."""

    where = StrictTextField(
        max_length=MAX_WHERE,
        required=True,
        help_text=f"{_WHERE_HELP} On anonymous projects only `field.<name>` and `language`.",
    )
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
    reveal_results = StrictBooleanField(
        required=False, allow_null=True, help_text="Whether to post a summary when the project closes."
    )
    share_results = StrictBooleanField(
        required=False,
        help_text=(
            "Whether to share aggregated results with every member, and on a public page at "
            "`info.results_url`. The address stays the same."
        ),
    )
    lock_graded_answers = StrictBooleanField(
        required=False,
        help_text=(
            "Whether an answer is locked once the respondent has seen its `when_correct` or "
            "`when_incorrect`. A different answer is then `409`. On by default. On polls, `change_poll` "
            "decides."
        ),
    )
    hidden_fields = HiddenFields(
        required=False,
        help_text=(
            f"Up to {metadata.MAX_FIELDS} names of values that the address of the page may carry, such as "
            f"`utm_source` in `?utm_source=mail`: 1 to {metadata.MAX_KEY} of `a-z`, `0-9` and `_`. They "
            "become `metadata` of the Response, `[field.utm_source]` in prompts and `field.utm_source` in "
            "conditions. On anonymous projects an object of names with up to 20 allowed values each, and "
            f"{metadata.MAX_COMBINATIONS} combinations of them. "
            "[More](/docs/details#hidden-fields)."
        ),
    )
    consent = StrictTextField(
        max_length=MAX_CONSENT,
        required=False,
        allow_null=True,
        help_text=(
            "The text that respondents agree to. The request that begins a conversation must then contain "
            '`"consent": true`. The response stores the text and the time. A changed text applies to later '
            "conversations."
        ),
    )
    max_completes = StrictIntegerField(
        min_value=1,
        max_value=MAX_SMALL,
        required=False,
        allow_null=True,
        help_text=(
            "The limit of completed responses. A response beyond the limit is `409` with the violation "
            "code `full`, and stays partial. A deleted response no longer counts. Imported responses "
            "count, but are never refused."
        ),
    )
    quotas = StrictListField(
        child=QuotaIn(),
        max_length=MAX_QUOTAS,
        required=False,
        help_text=(
            "Limits like `max_completes`, each for the responses that satisfy its `where`. The role member "
            "does not see quotas. On anonymous projects, quotas cannot use answers."
        ),
    )
    max_begun_per_minute = StrictIntegerField(
        min_value=1,
        max_value=MAX_BEGUN,
        required=False,
        allow_null=True,
        help_text=(
            "How many conversations may begin in a minute on the open page. Beyond this limit, browsers "
            "must do a proof of work. Null means the limit of the installation."
        ),
    )
    advance_on_choice = StrictBooleanField(
        required=False,
        help_text=(
            "Whether a click or tap on a choice or a scale's point continues at once. On by default. Does "
            "not apply to the keyboard, to menus, or if feedback follows."
        ),
    )
    review = StrictBooleanField(
        required=False,
        help_text=(
            "Whether pages show all answers before the end for review and changes. Off by default; polls, "
            "the interface and the chat ignore this setting. During the review, a conversation has a null "
            "`step` and the status `active`; `continue` completes the conversation."
        ),
    )
    end = EndIn(
        allow_null=True, help_text="A button at the end, or a redirect. `url` is required the first time."
    )
    ends = StrictListField(
        child=OtherEndIn(),
        max_length=MAX_ENDS,
        required=False,
        help_text=(
            "Other ends. The first one whose `where` is true replaces `end`. On anonymous projects, if an "
            "end has a `url`, `where` may name only `field.<name>` and `language`."
        ),
    )
    mail_copy = StrictBooleanField(
        required=False,
        help_text=(
            "Whether pages offer at the end to mail respondents a copy of their answers. Off by default. "
            "Anonymous projects, the interface and the chat ignore this setting."
        ),
    )
    indexed = StrictBooleanField(
        required=False,
        help_text=(
            "Whether search engines may list the page. Off by default. Only for `participation` `open_web`."
        ),
    )
    keep_responses_days = StrictIntegerField(
        min_value=1,
        max_value=MAX_DAYS_KEPT,
        required=False,
        allow_null=True,
        help_text=(
            "The days until a response is deleted, from its completion or, if partial, from its last "
            "answer. Once there are responses, the days can only be lowered, because respondents were "
            "informed of them. Null means no deletion."
        ),
    )
