"""Serializers for projects in responses."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from communities.gate.fields import (
    StrictBooleanField,
    StrictChoiceField,
    StrictIntegerField,
    StrictTextField,
    UtcDateTimeField,
)
from surveys.api.project_in import DeliveryIn, PresentationIn, RewardsIn, ScriptField
from surveys.api.project_settings_in import MAX_BEGUN, PRIVACY_MODES, EndIn, HiddenFields, OtherEndIn, QuotaIn
from surveys.models import Project
from surveys.models.project import MAX_DAYS_KEPT


class InfoOut(serializers.Serializer[Any]):
    type = StrictChoiceField(Project.Type.values)
    created_at = UtcDateTimeField(allow_null=True)
    updated_at = UtcDateTimeField(
        help_text=(
            "When the fields, the state or the script of the project last changed. Responses and the name "
            "of the author do not count as changes."
        )
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
            "The respondent's page. `?<block name>=value` fills in a question, `&skip=1` passes it, and "
            "names in `settings.hidden_fields` are fields: [the address of the "
            "page](/docs/details#the-address-of-the-page). Another page can [embed this "
            "page](/docs/embed-a-survey)."
        )
    )
    short_url = serializers.URLField(
        allow_null=True,
        help_text=(
            "A short address for `web_url`, which staff create in the admin. Null without a short address, "
            "and while `participation` is not `open_web`."
        ),
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
        help_text="Empty while scoring is off, and until a script is written with scoring on.",
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
        child=serializers.CharField(),
        help_text="The parts of the intent that were understood, as sentences.",
    )
    unmet = serializers.ListField(
        child=serializers.CharField(),
        help_text="The wishes of the intent that the project does not fulfil, as sentences.",
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
    credits_used = StrictIntegerField(help_text="0 without AI, or if AI was free.")
