"""What conversations send and receive (rules 6.7 and 6.8)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from communities.gate import tokens
from communities.gate.fields import (
    StrictBooleanField,
    StrictIntegerField,
    StrictListField,
    StrictTextField,
)
from communities.ground.ids import BEYOND_64_BITS, MAX_ID, OF_64_BITS
from surveys.api.metadata import LanguageField, Metadata
from surveys.engine.intake.fields import MAX_FOLLOW_UPS, MAX_OPTIONS, MAX_OTHER_TEXT
from surveys.engine.walk import answers
from surveys.services.ground import metadata


class ConversationIn(serializers.Serializer[Any]):
    """The respondent: a member, a respondent with an id of yours, or without both a nameless respondent."""

    member_id = StrictTextField(
        required=False,
        allow_null=True,
        allow_blank=False,
        max_length=40,
        help_text="The id of a current member.",
    )
    external_id = StrictTextField(
        required=False,
        allow_null=True,
        allow_blank=False,
        max_length=128,
        help_text="The caller's own name for the respondent, returned as `platform_id` of the Response.",
    )
    display_name = StrictTextField(
        required=False,
        allow_null=True,
        max_length=200,
        help_text=(
            "The name that `[UserName]` shows if the community does not know the respondent's name. Not "
            "stored on anonymous projects."
        ),
    )
    metadata = Metadata(
        required=False,
        allow_null=True,
        help_text=(
            f"Up to {metadata.MAX_FIELDS} texts of your own, returned as `metadata` of the Response. Keys "
            f"have 1 to {metadata.MAX_KEY} of `a-z`, `0-9` and `_`, values up to {metadata.MAX_VALUE} "
            "characters. A resumed conversation keeps its earlier metadata. Anonymous projects store only "
            "values that `settings.hidden_fields` allows."
        ),
    )

    language = LanguageField(
        required=False,
        allow_null=True,
        help_text=(
            "The language of the conversation, as a tag such as `de-AT`. The Response stores `de`. "
            "Anonymous projects store no language. A resumed conversation keeps its earlier language."
        ),
    )

    consent = StrictBooleanField(
        required=False,
        allow_null=True,
        help_text=(
            "Whether the respondent has agreed to `settings.consent`. Must be true if the project has this "
            "text; not needed to resume a conversation."
        ),
    )


def _parts(data: Any) -> Iterable[Any]:
    return data if isinstance(data, list) else (data,)


@extend_schema_field(
    {
        "type": ["string", "number", "array"],
        "items": {"type": ["string", "number"]},
        "maxItems": MAX_OPTIONS,
    }
)
class Value(serializers.JSONField):
    """A text, a number, or a list of them.

    The engine validates it, because the valid values depend on the block.
    """

    default_error_messages = {
        "too_many": f"must have at most {MAX_OPTIONS} elements.",
        "too_large": BEYOND_64_BITS,
    }

    def to_internal_value(self, data: Any) -> Any:
        if isinstance(data, list) and len(data) > MAX_OPTIONS:
            self.fail("too_many")
        if any(type(each) is int and each not in OF_64_BITS for each in _parts(data)):
            self.fail("too_large")
        return data  # DRF would serialize it again, only to check that it is valid JSON


class AnswerIn(serializers.Serializer[Any]):
    """An answer to the current block: the field that fits its type. To leave a question unanswered, send
    `skip`; a body without an answer, or with null, is `400`.
    """

    block_id = StrictIntegerField(min_value=1, max_value=MAX_ID, help_text="The current block.")
    value = Value(
        required=False,
        allow_null=True,
        help_text="A text, a number, or an option's value; for several options a list of their values.",
    )
    option_id = StrictIntegerField(required=False, allow_null=True, help_text="The chosen option.")
    option_ids = StrictListField(
        child=StrictIntegerField(),
        required=False,
        allow_null=True,
        max_length=MAX_OPTIONS,
        help_text="The chosen options.",
    )
    ranking = StrictListField(
        child=StrictIntegerField(),
        required=False,
        allow_null=True,
        max_length=MAX_OPTIONS,
        help_text="Option ids, best first.",
    )
    other_text = StrictTextField(
        required=False,
        allow_null=True,
        max_length=MAX_OTHER_TEXT,
        help_text="The respondent's own text. Required with an option that has `is_other`.",
    )
    skip = StrictBooleanField(
        required=False,
        allow_null=True,
        help_text=(
            "`true`, or an empty list, leaves an optional question unanswered. The question of a poll is "
            "never optional."
        ),
    )

    follow_up = StrictIntegerField(
        required=False,
        allow_null=True,
        min_value=0,
        max_value=MAX_FOLLOW_UPS,
        help_text=(
            "The `step.follow_up` of the answered question, 0 for the block's own question. By default, "
            "the current step, unless the answer repeats the last saved answer."
        ),
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if not answers.is_sent(attrs):
            message = "`value` is required, or another kind of answer. Skip the question with `skip`."
            raise serializers.ValidationError({"value": message}, code="required")
        return attrs


class MoveIn(serializers.Serializer[Any]):
    """The step that the caller sees. With this step, a repeated request moves the conversation only once."""

    block_id = StrictIntegerField(
        required=False,
        allow_null=True,
        min_value=1,
        max_value=MAX_ID,
        help_text=(
            "The current block. If the conversation is at another block, it is returned unchanged, with "
            "`resumed: true`."
        ),
    )


class TokenIn(serializers.Serializer[Any]):
    """How long the token is valid."""

    expires_in = StrictIntegerField(
        default=tokens.DEFAULT_SECONDS,
        min_value=tokens.MIN_SECONDS,
        max_value=tokens.MAX_SECONDS,
        help_text="Seconds.",
    )


class TokenOut(serializers.Serializer[Any]):
    """A token for one conversation. The token is not stored, and only this response contains it."""

    token = serializers.CharField(help_text="Send it as `Authorization: Bearer cqt_...`.")
    conversation_id = serializers.UUIDField()
    expires_at = serializers.DateTimeField()


COPIED = (
    "The service's copy of the author's picture. Null until the picture is fetched, or if it cannot be "
    "fetched."
)


class SeenOptionOut(serializers.Serializer[Any]):
    id = serializers.IntegerField(allow_null=True, help_text="Null for a scale's point without an option.")
    value = serializers.CharField()
    label = serializers.CharField(allow_null=True)  # type: ignore[assignment]
    emoji = serializers.CharField(allow_null=True)
    display_order = serializers.IntegerField(allow_null=True)
    anchor_position = serializers.CharField(allow_null=True)
    is_exclusive = serializers.BooleanField(
        required=False,
        help_text="True if the option cannot be chosen with others; otherwise left out.",
    )
    is_other = serializers.BooleanField(
        required=False,
        help_text="True if the option needs an `other_text`; otherwise left out.",
    )
    image_url = serializers.CharField(
        required=False, allow_null=True, help_text=f"{COPIED} Left out on an option without a picture."
    )
    image_alt = serializers.CharField(required=False, help_text="Left out if the picture only decorates.")


class SeenBlockOut(serializers.Serializer[Any]):
    """A Block as the respondent sees it: tokens are filled in and options are in this respondent's order.

    Scores, correct answers and logic are left out. In a step, every default is filled in too, so that it
    can be drawn [without further rules](/docs/details#blocks-in-a-step).
    """

    id = serializers.IntegerField()
    name = serializers.CharField()
    section = serializers.CharField()
    type = serializers.CharField()
    prompt = serializers.CharField()
    description = serializers.CharField(allow_null=True)
    group = serializers.CharField(allow_null=True)
    answer_style = serializers.CharField(allow_null=True)
    color = serializers.CharField(allow_null=True)
    image_url = serializers.CharField(allow_null=True, help_text=COPIED)
    image_alt = serializers.CharField(allow_null=True)
    thumbnail_url = serializers.CharField(allow_null=True, help_text=COPIED)
    thumbnail_alt = serializers.CharField(allow_null=True)
    video_url = serializers.CharField(
        allow_null=True,
        help_text="A video on YouTube or Vimeo. Load it once the respondent asks for it: its site learns "
        "their IP address.",
    )
    options = SeenOptionOut(many=True, allow_null=True)
    min = serializers.IntegerField(allow_null=True)
    max = serializers.IntegerField(allow_null=True)
    whole = serializers.BooleanField(allow_null=True)
    format = serializers.CharField(allow_null=True)
    required = serializers.BooleanField(allow_null=True)  # type: ignore[assignment]
    action_kind = serializers.CharField(allow_null=True)
    scale = serializers.DictField(allow_null=True)
    randomize_options = serializers.BooleanField(allow_null=True)
    rank_top_n = serializers.IntegerField(allow_null=True)
    position = serializers.IntegerField(allow_null=True)

    def get_fields(self) -> dict[str, Any]:
        return {**super().get_fields(), "continue": serializers.DictField(allow_null=True)}


class StepOut(serializers.Serializer[Any]):
    block = SeenBlockOut()
    help = serializers.CharField(
        allow_null=True, help_text="The sentence under the question that says which answers it takes."
    )
    skip_label = serializers.CharField(
        allow_null=True,
        help_text=(
            "The label of the button that skips an optional question; null if the question needs an answer."
        ),
    )
    answer = serializers.DictField(
        allow_null=True,
        help_text=(
            "The earlier answer to this step, in the format of a request, if the respondent has gone back; "
            "otherwise null."
        ),
    )
    is_locked = serializers.BooleanField(
        help_text=(
            "Whether the answer to this step is graded and locked (`settings.lock_graded_answers`). Then "
            "send `continue`, or the same answer."
        )
    )
    follow_up = serializers.IntegerField(
        min_value=0,
        max_value=MAX_FOLLOW_UPS,
        help_text=(
            "0 for a step of the script; else the first or second further question about the answer just "
            "given (the block's `follow_ups`). While a model writes it, the step is a `content_block` with "
            "that id and a pause: `continue` after the pause."
        ),
    )
    progress = serializers.FloatField(min_value=0, max_value=1, help_text="0 to 1.")
    can_go_back = serializers.BooleanField()


class EndOut(serializers.Serializer[Any]):
    """The link at the end, with tokens filled in."""

    url = serializers.URLField()
    label = serializers.CharField()  # type: ignore[assignment]
    redirect = serializers.BooleanField(help_text="Whether to open the address at once.")


class ConversationOut(serializers.Serializer[Any]):
    """One participant session. Its id is also the id of the Response."""

    id = serializers.UUIDField()
    project_id = serializers.CharField()
    status = serializers.ChoiceField(
        choices=["active", "completed"], help_text="A reopened vote stays completed."
    )
    outcome = serializers.ChoiceField(
        choices=["completed", "full", "screened_out"],
        allow_null=True,
        help_text="How the conversation ended, as `outcome` of the Response. Null before the end.",
    )
    session_number = serializers.IntegerField(
        allow_null=True, help_text="Null until completed; always null on anonymous projects."
    )
    feedback = serializers.CharField(
        allow_null=True,
        help_text="The block's `when_correct` or `when_incorrect`, for the answer just given.",
    )
    step = StepOut(
        allow_null=True,
        help_text=(
            "Null at the end, and while a page shows the review; `continue` then completes the conversation."
        ),
    )
    thank_you = serializers.CharField(allow_null=True, help_text="The closing words; null before the end.")
    end = EndOut(allow_null=True, help_text="The project's `end`, or one of its `ends`; null before the end.")
    outro = SeenBlockOut(
        many=True,
        allow_null=True,
        help_text=(
            "The thank-you, and the actions that gave rewards to this respondent; null before the end. On "
            "anonymous projects, only the response to the last move includes the actions."
        ),
    )
    resumed = serializers.BooleanField(
        help_text=(
            "True if a move did not change the conversation, because its `block_id` is not the current block."
        )
    )
