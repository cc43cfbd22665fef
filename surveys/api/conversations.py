"""Endpoints for conversations, for callers that render their own pages (rules 6.7 and 6.8)."""

from __future__ import annotations

import functools
import uuid
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from drf_spectacular.utils import OpenApiExample, extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from communities.gate.fields import (
    MAX_ID,
    StrictBooleanField,
    StrictIntegerField,
    StrictListField,
    StrictTextField,
)
from communities.gate.idempotency import Claim, is_settled, once
from communities.ground.actors import Role
from communities.ground.errors import Unavailable, refuse
from communities.services.pictures.copies import Copy
from surveys.api.conversation_examples import ACTIVE, COMPLETED
from surveys.api.metadata import LanguageField, Metadata
from surveys.api.projects import OwnWorkViewSet
from surveys.engine.intake.fields import MAX_FOLLOW_UPS, MAX_OPTIONS, MAX_OTHER_TEXT
from surveys.engine.script import Block
from surveys.engine.walk import answers, defaults, presentation
from surveys.services.conversations import admission, moves, places
from surveys.services.conversations import service as conversations
from surveys.services.conversations.admission import QUESTIONS_PERIOD, NotAdmitted, Respondent
from surveys.services.conversations.view import ConversationView
from surveys.services.ground import metadata
from surveys.services.representations.response import outcome_of

TAG = "Conversations"
PICTURES = ("image_url", "thumbnail_url")
_RETRIES = (
    " Send `block_id`, the `step.block.id` that you have, or an `Idempotency-Key`. Without both, a request "
    "that is sent twice, for example after a time-out, moves twice and leaves out a step. With `block_id`, a "
    "conversation that has moved on already is returned as it is, with `resumed: true`."
)
_NOT_ASKED = "A platform that knows this respondent could not be asked. Please retry shortly."


class ConversationIn(serializers.Serializer[Any]):
    """The respondent: a member, a respondent with an id of the caller, or, with neither, a nameless one."""

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
            "The name that `[UserName]` shows for a respondent whose name the community does not know. "
            "Anonymous projects do not store it."
        ),
    )
    metadata = Metadata(
        required=False,
        allow_null=True,
        help_text=(
            f"Up to {metadata.MAX_FIELDS} texts of your own, returned as `metadata` of the Response. Keys "
            f"have 1 to {metadata.MAX_KEY} of `a-z`, `0-9` and `_`, values up to {metadata.MAX_VALUE} "
            "characters. Prompts show `[field.key]`, conditions compare `field.key`. A conversation that is "
            "resumed keeps the metadata that it began with. Anonymous projects store only values that "
            "`settings.hidden_fields` allows."
        ),
    )

    language = LanguageField(
        required=False,
        allow_null=True,
        help_text="The language in which you ask, as a tag such as `de-AT`. The Response keeps the language "
        "of it, `de`. Pages keep theirs, and the chat that of the person's client. Anonymous projects store "
        "none. A conversation that is resumed keeps its own.",
    )

    consent = StrictBooleanField(
        required=False,
        allow_null=True,
        help_text="Must be true if the project has a `settings.consent`: the respondent has agreed to that "
        "text. The text and the moment are kept as `consent` of the Response. It is not needed to resume.",
    )


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

    default_error_messages = {"too_many": f"must have at most {MAX_OPTIONS} elements."}

    def to_internal_value(self, data: Any) -> Any:
        if isinstance(data, list) and len(data) > MAX_OPTIONS:
            self.fail("too_many")
        return data  # DRF would serialize it again, only to check that it is valid JSON


class AnswerIn(serializers.Serializer[Any]):
    """An answer to the current block.

    Send the one field that fits the block; `value` may also name an option. A body without any of them is
    `400`: to leave a question unanswered, send `skip`, never null.
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
        help_text=(
            "The respondent's own text, beside the choice of an option with `is_other`, which needs it."
        ),
    )
    skip = StrictBooleanField(
        required=False,
        allow_null=True,
        help_text=(
            "`true` leaves an optional question unanswered, as an empty list does. The question of a poll is "
            "never optional."
        ),
    )

    follow_up = StrictIntegerField(
        required=False,
        allow_null=True,
        min_value=0,
        max_value=MAX_FOLLOW_UPS,
        help_text=(
            "The `step.follow_up` that is answered, 0 for the question itself. Without it, or with null, "
            "this answers the current step, unless it repeats the last saved answer: so a retry is never "
            "taken for the answer to a further question. Send it to give that answer in the same words."
        ),
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if not answers.is_sent(attrs):
            message = "`value` is required, or another kind of answer. Skip the question with `skip`."
            raise serializers.ValidationError({"value": message}, code="required")
        return attrs


class MoveIn(serializers.Serializer[Any]):
    """The step at which the caller believes the conversation to be, so that a repeated request moves it only
    once.
    """

    block_id = StrictIntegerField(
        required=False,
        allow_null=True,
        min_value=1,
        max_value=MAX_ID,
        help_text=(
            "The current block. A conversation that is at another block is returned unchanged, with "
            "`resumed: true`. Without it, a request that is sent twice moves twice."
        ),
    )


COPIED = (
    "The address of our copy of the author's picture, so that respondents load nothing from the author's "
    "host. Null until the picture has been fetched, and if it cannot be."
)


class SeenOptionOut(serializers.Serializer[Any]):
    id = serializers.IntegerField(
        allow_null=True, help_text="Null for a point of a scale that the author gave no option."
    )
    value = serializers.CharField()
    label = serializers.CharField(allow_null=True)  # type: ignore[assignment]
    emoji = serializers.CharField(allow_null=True)
    display_order = serializers.IntegerField(allow_null=True)
    anchor_position = serializers.CharField(allow_null=True)
    is_exclusive = serializers.BooleanField(
        required=False,
        help_text="True on an option that cannot be chosen with others; else left out.",
    )
    is_other = serializers.BooleanField(
        required=False,
        help_text="True on the option that is answered with an `other_text` beside it; else left out.",
    )
    image_url = serializers.CharField(
        required=False, allow_null=True, help_text=f"{COPIED} Left out on an option without a picture."
    )
    image_alt = serializers.CharField(required=False, help_text="Left out if the picture only decorates.")


class SeenBlockOut(serializers.Serializer[Any]):
    """A Block as the respondent sees it: tokens are filled in and options are in this respondent's order.

    Scores, correct answers and logic are left out. In a step, every default is filled in too, so that it
    can be drawn without further rules. Scales have an option for each point with its displayed label,
    `scale.icon` (`stars` for a rating, else `numbers`) and the labels of their ends (those of an `nps`
    are always the standard ones); `min` and `max` are 1 and 5 for a rating, 0 and 10 for other scales. A
    multi punch contains the number of options it accepts: without limits of its own from 1 (0 if it is
    optional) to all that are not exclusive; an exclusive option is an answer alone. A ranking's
    `rank_top_n` is the number of all items. `continue.label` is `Okay` on a content or action block,
    `Vote` on a poll's question and `Continue` on others. An `open_numeric` without limits accepts any
    number between -10^15 and 10^15, an `open_text` up to 10,000 characters. `answer_style` is the display
    style that the script's author chose.
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
        allow_null=True, help_text="The button that skips an optional question; null if it needs an answer."
    )
    answer = serializers.DictField(
        allow_null=True,
        help_text="The answer that was given here before, as it is sent: `option_id`, `option_ids`, "
        "`ranking`, `value` (numbers as text) or `skip`, and `other_text` if there is one. For a step to "
        "which the respondent has gone back; "
        "else null.",
    )
    is_locked = serializers.BooleanField(
        help_text="Whether the answer given here was graded and stays (`settings.lock_graded_answers`). Go "
        "on with `continue`, or send the same answer."
    )
    follow_up = serializers.IntegerField(
        min_value=0,
        max_value=MAX_FOLLOW_UPS,
        help_text=(
            "0 for a step of the script. Else this is the first or second further question about the answer "
            "just given (the block's `follow_ups`): an optional `open_text` with the id of that block, "
            "answered like any other. While a model writes it, the step is a `content_block` with that id "
            "and a pause: `continue` after the pause leads to the question, or on if there is none in time."
        ),
    )
    progress = serializers.FloatField(min_value=0, max_value=1, help_text="0 to 1.")
    can_go_back = serializers.BooleanField()


class EndOut(serializers.Serializer[Any]):
    """Where to go from the end, with tokens filled in."""

    url = serializers.URLField()
    label = serializers.CharField()  # type: ignore[assignment]
    redirect = serializers.BooleanField(help_text="Whether to lead there at once.")


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
        help_text="As `outcome` of the Response: whether it was completed or screened out. Null before the "
        "end.",
    )
    session_number = serializers.IntegerField(
        allow_null=True, help_text="Null until completed; always null on anonymous projects."
    )
    feedback = serializers.CharField(
        allow_null=True,
        help_text="The block's `when_correct` or `when_incorrect`, for the answer just given.",
    )
    step = StepOut(allow_null=True, help_text="The current step; null at the end.")
    thank_you = serializers.CharField(allow_null=True, help_text="The closing words; null before the end.")
    end = EndOut(allow_null=True, help_text="The project's `end`, or one of its `ends`; null before the end.")
    outro = SeenBlockOut(
        many=True,
        allow_null=True,
        help_text=(
            "The outro blocks: the thank-you, and the actions that gave this respondent something. Null "
            "before the end. On anonymous projects, only the response to the last move includes the actions, "
            "and what they give is added to the member once the hour (or day) of the answer is over."
        ),
    )
    resumed = serializers.BooleanField(
        help_text="True if `block_id` of a move named another block, so the conversation is as it was."
    )


def as_json(view: ConversationView, *, resumed: bool = False) -> dict[str, object]:
    """The ConversationOut object. `resumed` is true if the requested move had been made before."""
    conversation, project, step = view.conversation, view.project, view.step
    outro, end = (view.outro, view.end) if step is None else ((), None)
    shown = [*([step.block] if step else []), *outro]
    pictures = view.pictures(*(address for block in shown for address in block.pictures))
    return {
        "id": str(conversation.pk),
        "project_id": str(project.pk),
        "status": "active" if conversation.completed_at is None else "completed",
        "outcome": outcome_of(conversation.completed_at, conversation.outcome),
        "session_number": conversation.session_number,
        "feedback": view.feedback,
        "step": step
        and {
            "block": _with_copies(step.block, pictures, is_poll=project.is_poll),
            "help": defaults.help_of(step.block) or None,
            "skip_label": None if step.block.required or not step.block.asks else defaults.SKIP,
            "answer": step.reply and answers.as_sent(step.block, step.reply),
            "is_locked": step.is_locked,
            "follow_up": step.follow_up,
            "progress": step.progress,
            "can_go_back": step.can_go_back,
        },
        "thank_you": view.thank_you if outro else None,
        "end": (end and end.url and {"url": end.url, "label": end.label, "redirect": end.redirects}) or None,
        "outro": [presentation.as_json(block) | _copied(block, pictures) for block in outro] or None,
        "resumed": resumed,
    }


def _with_copies(block: Block, pictures: Mapping[str | None, Copy], *, is_poll: bool) -> dict[str, object]:
    """The block of a step, with the addresses of our copies also on its options."""
    serialized = presentation.step_as_json(block, is_poll=is_poll) | _copied(block, pictures)
    options = serialized["options"]
    for option in options if isinstance(options, list) else ():
        if address := option.get("image_url"):
            copy = pictures.get(address)
            option["image_url"] = copy.url if copy else None
    return serialized


def _copied(block: Block, pictures: Mapping[str | None, Copy]) -> dict[str, str | None]:
    """The picture fields of a block with the addresses of our copies."""
    return {key: copy.url if (copy := pictures.get(getattr(block, key))) else None for key in PICTURES}


def _ask_platforms(view: ConversationViewSet, claim: Claim | None) -> bool:
    """Ask about the respondent before the transaction, because this may wait for other servers.

    Returns whether the platforms could be asked. A replay asks no platform.
    """
    if is_settled(claim, at=view.at):
        return True
    respondent = view._respondent(view.read(ConversationIn))
    if respondent.person is None:
        return True
    return conversations.ask_platforms(
        project_id=view.kwargs["project_id"], respondent=respondent, at=view.at, actor=view.actor
    )


def _marking(action: Callable[..., Response]) -> Callable[..., Response]:
    """Mark a response that a limit refuses at its end, after the transaction of `once` is undone."""

    @functools.wraps(action)
    def marked(view: ConversationViewSet, *args: Any, **kwargs: Any) -> Response:
        try:
            return action(view, *args, **kwargs)
        except places.Full as refusal:
            places.mark(refusal, at=view.at)
            raise

    return marked


class ConversationViewSet(OwnWorkViewSet):
    noun = "conversation"
    with_decimals = frozenset({"answer"})
    of_conversations = frozenset({"create", "retrieve", "answer", "back", "go_on"})
    least_role = {
        "create": Role.CREATOR,
        "retrieve": Role.CREATOR,
        "answer": Role.CREATOR,
        "back": Role.CREATOR,
        "go_on": Role.CREATOR,
    }

    @extend_schema(
        operation_id="conversations_begin",
        tags=[TAG],
        summary="Begin a conversation",
        description=(
            "Begins a conversation for a member, for a respondent that the caller names (`external_id`), or, "
            "with neither, for a new nameless web respondent. If the respondent has an active conversation, "
            "it is returned with `200`; so is the completed one on a poll with `change_poll`. On anonymous "
            "projects this always begins a new conversation: an earlier one can be resumed only by its id. "
            "It is `409 conflict` if the project is not live, or if the respondent has reached "
            "`max_completes_per_user`, or if the project is full (`max_completes` and `quotas`): then the "
            "code of the violation is `full`. Without the `consent` that the project asks for this is "
            "`400`. On a private project, anyone but a member is `403 forbidden`, and so "
            "is, on every project, a respondent without one of `required_role_ids` or without one of "
            "`verified_source_ids`. What a platform said counts for 24 hours; before such a refusal it is "
            "asked again, at most three times in 30 seconds. If it cannot be asked, this is "
            "`503 unavailable`."
        ),
        request=ConversationIn,
        responses={201: ConversationOut, 200: ConversationOut},
        examples=[
            OpenApiExample(
                "A respondent that the caller names", {"external_id": "customer-42"}, request_only=True
            ),
            OpenApiExample(
                "With consent", {"external_id": "customer-42", "consent": True}, request_only=True
            ),
            OpenApiExample("Begun", ACTIVE, response_only=True, status_codes=["201"]),
            OpenApiExample("Resumed", ACTIVE, response_only=True, status_codes=["200"]),
        ],
    )
    @once(prepare=_ask_platforms)
    def create(self, request: Request, /, project_id: int, *, prepared: bool, **kwargs: Any) -> Response:
        body = self.read(ConversationIn)
        try:
            view = conversations.begin(
                project_id=project_id,
                respondent=self._respondent(body),
                at=self.at,
                actor=self.actor,
            )
        except NotAdmitted as refusal:
            if not prepared:
                raise Unavailable(_NOT_ASKED, retry_after=QUESTIONS_PERIOD) from refusal
            raise
        return Response(as_json(view), status=200 if view.resumed else 201)

    @extend_schema(
        operation_id="conversations_get",
        tags=[TAG],
        summary="Read a conversation",
        description=(
            "Returns the current state. `feedback` is null here; only the response to an answer has it."
        ),
        responses=ConversationOut,
        examples=[OpenApiExample("Active", ACTIVE, response_only=True)],
    )
    def retrieve(self, request: Request, /, conversation_id: uuid.UUID, **kwargs: Any) -> Response:
        view = conversations.get(conversation_id=conversation_id, at=self.at, actor=self.actor)
        return Response(as_json(view))

    @extend_schema(
        operation_id="conversations_answer",
        tags=[TAG],
        summary="Answer the current block",
        description=(
            "Saves one answer and returns the next step. An invalid answer is `400` with `violations`, and "
            "the conversation stays where it is. An answer to a block that is not the current one is "
            "`409 conflict`, unless it repeats the last saved answer: then nothing changes and the current "
            "state is returned. So it is while a further question about that answer is written or asked "
            "(`step.follow_up`), which any other text answers and `skip` leaves out. An answer to a content "
            "or action block, or after the project has closed, is `409 conflict` too; the answers saved by "
            "then stay as a partial response. So is another answer to a question whose feedback was seen "
            "(`step.is_locked`)."
        ),
        request=AnswerIn,
        responses=ConversationOut,
        examples=[
            OpenApiExample("A choice", {"block_id": 41, "option_id": 311}, request_only=True),
            OpenApiExample("Several", {"block_id": 43, "option_ids": [321, 323]}, request_only=True),
            OpenApiExample("A ranking", {"block_id": 44, "ranking": [332, 330, 331]}, request_only=True),
            OpenApiExample("A text", {"block_id": 42, "value": "The English"}, request_only=True),
            OpenApiExample("A skip", {"block_id": 42, "skip": True}, request_only=True),
            OpenApiExample("Completed", COMPLETED, response_only=True),
        ],
    )
    @_marking
    @once
    def answer(self, request: Request, /, conversation_id: uuid.UUID, **kwargs: Any) -> Response:
        body = self.read(AnswerIn)
        view = moves.answer(conversation_id=conversation_id, raw=body, at=self.at, actor=self.actor)
        return Response(as_json(view))

    @extend_schema(
        operation_id="conversations_back",
        tags=[TAG],
        summary="Go one step back",
        description=(
            "Returns to the step shown before, of any block type. Answers stay until they are changed. At "
            "the end of a poll with `change_poll`, this reopens the vote: the earlier vote counts until a "
            "new one is given. `409 conflict` at the first step, and after the end otherwise." + _RETRIES
        ),
        request=MoveIn,
        responses=ConversationOut,
        examples=[
            OpenApiExample("From this block", {"block_id": 42}, request_only=True),
            OpenApiExample("Back at the first step", ACTIVE, response_only=True),
        ],
    )
    @once
    def back(self, request: Request, /, conversation_id: uuid.UUID, **kwargs: Any) -> Response:
        block_id = self.read(MoveIn).get("block_id")
        view = moves.back(conversation_id=conversation_id, at=self.at, actor=self.actor, block_id=block_id)
        return Response(as_json(view, resumed=view.resumed))

    @extend_schema(
        operation_id="conversations_continue",
        tags=[TAG],
        summary="Go past a content or action block",
        description=(
            "Works for every `continue` of the block. If the current block is a question, this is "
            "`409 conflict`, unless its answer stays (`step.is_locked`). While a further question is written "
            "or asked (`step.follow_up`), the conversation is returned as it is, with `resumed: true`, until "
            "the question is answered or skipped." + _RETRIES
        ),
        request=MoveIn,
        responses=ConversationOut,
        examples=[
            OpenApiExample("Past this block", {"block_id": 40}, request_only=True),
            OpenApiExample("The next step", ACTIVE, response_only=True),
        ],
    )
    @_marking
    @once
    def go_on(self, request: Request, /, conversation_id: uuid.UUID, **kwargs: Any) -> Response:
        block_id = self.read(MoveIn).get("block_id")
        view = moves.go_on(conversation_id=conversation_id, at=self.at, actor=self.actor, block_id=block_id)
        return Response(as_json(view, resumed=view.resumed))

    def _respondent(self, body: Mapping[str, Any]) -> Respondent:
        member_id, external_id = body.get("member_id"), body.get("external_id")
        if member_id is not None and external_id is not None:
            refuse(
                "external_id",
                "conflicting",
                "`external_id` cannot be sent with `member_id`: send only one of them.",
            )
        respondent = admission.NAMELESS
        if member_id is not None:
            respondent = admission.member(community_id=self.actor.community_id, member_id=member_id)
        elif external_id is not None:
            respondent = admission.external(external_id=external_id)
        return replace(
            respondent,
            metadata=body.get("metadata") or {},
            display_name=body.get("display_name") or "",
            consents=bool(body.get("consent")),
            language=body.get("language") or "",
        )
