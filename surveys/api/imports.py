"""Imported responses: their shapes, and the description of the endpoint."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from itertools import islice
from typing import Any

from drf_spectacular.utils import OpenApiExample, OpenApiResponse, extend_schema_field
from rest_framework import serializers

from communities.gate.bodies import Element, TooManyElements
from communities.gate.fields import (
    FlagField,
    StrictBooleanField,
    StrictChoiceField,
    StrictIntegerField,
    StrictListField,
    StrictTextField,
    UtcDateTimeField,
)
from communities.gate.validation import bound_serializer, ignored_paths, serializer_violations
from communities.ground.errors import ENOUGH_VIOLATIONS, ViolationJson, refuse
from communities.ground.sent_text import sent_text
from communities.ground.wire import render
from surveys.api.conversation_examples import RESPONSE
from surveys.api.metadata import LanguageField, Metadata
from surveys.api.project_settings_in import MAX_CONSENT
from surveys.engine.intake.fields import MAX_OTHER_TEXT
from surveys.engine.walk.answers import MAX_TEXT
from surveys.engine.walk.replay import GivenAnswer
from surveys.models import Conversation
from surveys.services.imports.sent import MOST_VIOLATIONS, ImportOptions, SentResponse, with_line
from surveys.services.imports.walking import WalkedImport

MAX_RESPONSES = 1_000
# Responses: the rewards of members take several statements each, and the members' own moves wait
MAX_WITH_XP = 100
MAX_ANSWERS = 100_000  # in total: as many real answers as fit into 8 MiB; their shapes take 35 µs each
MAX_ANSWERS_OF_ONE = 20_000  # response: 200 blocks with 100 chosen options
MAX_IGNORED = 100  # paths of unknown fields that are listed

DESCRIPTION = (
    f"Imports past responses in the formats of exports, at most {MAX_RESPONSES:,} with {MAX_ANSWERS:,} "
    "answers: as `application/x-ndjson` with a Response on each line, or as `application/json` with a "
    "list in `data`. Blocks and options are found by id, otherwise by name and value. Answers are checked "
    "like a respondent's. One fault refuses the whole import; each violation has its `line`, from 1. "
    "`dry_run=true` only checks. Responses that are sent twice are stored twice: send an "
    "`Idempotency-Key`, and a different one for the dry run. [How answers and people are "
    "matched](/docs/details#import-past-responses)."
)

_LINE = {
    name: RESPONSE[name]
    for name in ("status", "started_at", "submitted_at", "platform_id", "provider", "metadata")
} | {
    "answers": [
        {"block_name": "first_move", "value": "other"},
        {"block_name": "q1", "value": "The English"},
    ]
}
AS_LINES = OpenApiExample("A line", render(_LINE).decode())
REFUSED = OpenApiResponse(
    {"$ref": "#/components/schemas/Error"},
    description="A value breaks a rule; `violations` names each wrong field with its line.",
    examples=[
        OpenApiExample(
            "Faults of two lines",
            {
                "error": "invalid_request",
                "message": "Line 3: This script has no block Team, by its id or its name. There is 1 more "
                "violation.",
                "violations": [
                    {
                        "field": "answers[0].block_name",
                        "code": "not_found",
                        "message": "This script has no block Team, by its id or its name.",
                        "line": 3,
                    },
                    {
                        "field": "submitted_at",
                        "code": "conflicting",
                        "message": "`submitted_at` must not be before `started_at`.",
                        "line": 7,
                    },
                ],
            },
        )
    ],
)


class ImportIn(serializers.Serializer[Any]):
    """The options of an import."""

    dry_run = FlagField(help_text="Only check. Nothing is stored, and the response is `200`.")
    give_xp = FlagField(
        help_text=(
            "Give members the rewards of a completion now (XP, achievements, roles, participation), each "
            "reward once. Needs the role admin. Not for anonymous projects or partial responses. The "
            f"import or dry run then takes at most {MAX_WITH_XP} responses."
        )
    )
    emit_events = FlagField(help_text="Emit `response.submitted` for each completed response.")


@extend_schema_field({"type": ["string", "number", "null"]})
class AnswerText(serializers.Field[Any, Any, Any, Any]):
    """A text, or a number in its place."""

    default_error_messages = {
        "invalid_type": "must be text or a number.",
        "too_long": f"must be at most {MAX_TEXT:,} characters.",
    }

    def to_internal_value(self, data: object) -> str:
        if isinstance(data, bool) or not isinstance(data, str | int | Decimal):
            self.fail("invalid_type")
        text = sent_text(str(data))
        if len(text) > MAX_TEXT:
            self.fail("too_long")
        return text

    def to_representation(self, value: Any) -> Any:
        return value


class ImportedAnswerIn(serializers.Serializer[Any]):
    """One answer in the format of exports: one for each chosen option and each ranked item."""

    accepted_and_ignored = frozenset({"themes", "sentiment", "follow_ups"})

    block_id = StrictIntegerField(required=False, allow_null=True, help_text="The block.")
    block_name = StrictTextField(
        required=False,
        allow_null=True,
        max_length=200,
        help_text="The block's name. Used if `block_id` is missing or not in this script.",
    )
    value = AnswerText(
        required=False,
        allow_null=True,
        help_text="The option's value, the number or the text; for a ranking, the rank (1 is first).",
    )
    option_id = StrictIntegerField(
        required=False,
        allow_null=True,
        help_text=(
            "The chosen option or ranked item. If the id is missing or not in this script, `value` names "
            "the option, and `label` the ranked item."
        ),
    )
    label = StrictTextField(  # type: ignore[assignment]
        required=False,
        allow_null=True,
        max_length=MAX_TEXT,
        help_text="The name of a ranked item without `option_id`; otherwise ignored.",
    )
    other_text = StrictTextField(
        required=False,
        allow_null=True,
        max_length=MAX_OTHER_TEXT,
        help_text="The text for an option with `is_other`. May be missing in older answers.",
    )


class ImportedConsentIn(serializers.Serializer[Any]):
    """What a respondent agreed to elsewhere."""

    text = StrictTextField(max_length=MAX_CONSENT)
    at = UtcDateTimeField(help_text="Rounded on anonymous projects, like all their times.")


class ImportedResponseIn(serializers.Serializer[Any]):
    """A Response in the format of exports. Its read-only fields are ignored."""

    accepted_and_ignored = frozenset(
        {"id", "project_id", "session_number", "updated_at", "user_id", "scores", "variables", "outcome"}
    )

    status = StrictChoiceField(
        choices=["completed", "partial"],
        required=False,
        help_text="Must fit `submitted_at`. If missing, follows from `submitted_at`.",
    )
    started_at = UtcDateTimeField(help_text="From 1970 on, and not in the future.")
    submitted_at = UtcDateTimeField(
        required=False,
        allow_null=True,
        help_text="The time of completion, not before `started_at`; null for a partial response.",
    )
    platform_id = StrictTextField(
        required=False,
        allow_null=True,
        max_length=128,
        help_text="The person who gave the response; null if unknown.",
    )
    provider = StrictChoiceField(
        choices=Conversation.Provider.values,
        required=False,
        allow_null=True,
        help_text="The platform of `platform_id`. The `provider` of the stored response is `import`.",
    )
    metadata = Metadata(required=False, allow_null=True, help_text="As `metadata` of a conversation.")
    consent = ImportedConsentIn(
        required=False,
        allow_null=True,
        help_text="What the respondent agreed to, and when. Stored with the response.",
    )
    language = LanguageField(required=False, allow_null=True, help_text="As `language` of a conversation.")
    suspected = StrictBooleanField(required=False, help_text="Whether a program may have given the response.")
    answers = StrictListField(
        child=ImportedAnswerIn(), max_length=MAX_ANSWERS_OF_ONE, help_text="The answers, in any order."
    )
    skipped_removed = StrictListField(
        child=StrictIntegerField(),
        required=False,
        max_length=MAX_ANSWERS_OF_ONE,
        help_text=(
            "The ids of questions that the respondent skipped and that were removed from the script later. "
            "Ids of other projects are ignored."
        ),
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        is_completed = attrs.get("submitted_at") is not None
        expected = "completed" if is_completed else "partial"
        if attrs.get("status", expected) != expected:
            words = "is needed by" if attrs["status"] == "completed" else "must be null with"
            message = f"`submitted_at` {words} the status `{attrs['status']}`."
            raise serializers.ValidationError({"submitted_at": message}, code="conflicting")
        return attrs


class ResponsesIn(serializers.Serializer[Any]):
    """Responses to import."""

    data = StrictListField(  # type: ignore[assignment]
        child=ImportedResponseIn(), min_length=1, max_length=MAX_RESPONSES
    )


class ImportedOut(serializers.Serializer[Any]):
    """What was imported."""

    imported = serializers.IntegerField(help_text="How many responses were stored; none in a dry run.")
    valid = serializers.IntegerField(
        required=False, help_text="Only in a dry run: how many responses would be stored."
    )
    left_out = serializers.IntegerField(
        required=False,
        min_value=1,
        help_text=(
            "How many answers were not imported, because their questions were removed from the project "
            "that this project was copied from. Absent if all were imported."
        ),
    )


EXAMPLES = [
    OpenApiExample(
        "By names",
        {"data": [_LINE]},
        request_only=True,
        media_type="application/json",
    ),
    OpenApiExample("Imported", {"imported": 1}, response_only=True, status_codes=["201"]),
    OpenApiExample("A dry run", {"imported": 2}, response_only=True, status_codes=["200"]),
]


_TOO_MANY = f"At most {MAX_RESPONSES:,} responses with {MAX_ANSWERS:,} answers can be imported at once."
_TOO_MANY_WITH_XP = f"With `give_xp` at most {MAX_WITH_XP} responses can be imported at once."


@dataclass(slots=True)
class Batch:
    """The responses of a body that have the right shape, the violations of the others, and unknown fields."""

    sent: list[SentResponse] = field(default_factory=list)
    violations: list[ViolationJson] = field(default_factory=list)
    ignored: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class PreparedImport:
    """The responses of a body with their walks, the import's options, and the paths of unknown fields."""

    walked: WalkedImport
    options: ImportOptions
    ignored: Sequence[str]


def options_of(query: Mapping[str, Any]) -> ImportOptions:
    """The options of an import from the query of `ImportIn`."""
    return ImportOptions(
        is_dry_run=query["dry_run"], gives_xp=query["give_xp"], emits_events=query["emit_events"]
    )


def read(parse: Callable[..., Iterable[Element]], options: ImportOptions) -> Batch:
    """Read the responses of a body.

    Raises InvalidRequest for no responses, or for more than the options allow. `parse` returns at most the
    requested number of elements, or raises TooManyElements. Reading stops as soon as there are enough
    violations for a refusal.
    """
    batch, ignored, count, answers = Batch(), dict[str, None](), 0, 0
    for element in _parsed(parse, options):
        count += 1
        given = element.value.get("answers")
        answers += len(given) if isinstance(given, list) else 0
        if answers > MAX_ANSWERS:
            refuse("data", "too_many", _TOO_MANY)
        _read(element, batch, ignored)
        if len(batch.violations) >= ENOUGH_VIOLATIONS:
            break
    if not count:
        refuse("data", "too_few", "There is no response to import.")
    batch.ignored = list(ignored)
    return batch


def _parsed(parse: Callable[..., Iterable[Element]], options: ImportOptions) -> Iterable[Element]:
    try:
        return parse(most=MAX_WITH_XP if options.gives_xp else MAX_RESPONSES)
    except TooManyElements:
        if options.gives_xp:
            refuse("give_xp", "too_many", _TOO_MANY_WITH_XP)
        refuse("data", "too_many", _TOO_MANY)


def _read(element: Element, batch: Batch, ignored: dict[str, None]) -> None:
    if element.violations:
        found = islice(element.violations, MOST_VIOLATIONS)
        batch.violations += [{**each, "line": element.line} for each in found]
        return
    serializer = bound_serializer(ImportedResponseIn, element.value)
    is_valid = serializer.is_valid()
    unknown = ignored_paths(serializer, element.value)
    ignored.update(dict.fromkeys(islice(unknown, max(0, MAX_IGNORED - len(ignored)))))
    if is_valid:
        batch.sent.append(_sent(element, serializer.validated_data))
    else:
        found = islice(serializer_violations(serializer), MOST_VIOLATIONS)
        batch.violations += [with_line(each, line=element.line, path=element.path) for each in found]


def _sent(element: Element, fields: Mapping[str, Any]) -> SentResponse:
    return SentResponse(
        line=element.line,
        path=element.path,
        started_at=fields["started_at"],
        submitted_at=fields.get("submitted_at"),
        provider=fields.get("provider"),
        platform_id=fields.get("platform_id"),
        metadata=fields.get("metadata") or {},
        consent=fields.get("consent"),
        language=fields.get("language") or "",
        is_suspected=fields.get("suspected", False),
        skipped_removed=fields.get("skipped_removed") or (),
        answers=[
            GivenAnswer(**answer, is_null="value" in answer and answer["value"] is None)
            for answer in fields["answers"]
        ],
    )
