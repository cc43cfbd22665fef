"""Endpoints for conversations, for callers that render their own pages (rules 6.7 and 6.8)."""

from __future__ import annotations

import functools
import uuid
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any

from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from communities.gate import tokens
from communities.gate.idempotency import Claim, is_settled, once
from communities.ground.actors import Role
from communities.ground.errors import Conflict, InvalidApiKey, InvalidRequest, Unavailable, refuse
from communities.ground.tiers import REQUESTS_PER_MINUTE_OF_TOKEN
from communities.services.pictures.copies import Copy
from surveys.api.conversation_examples import ACTIVE, COMPLETED, TOKEN
from surveys.api.conversation_shapes import (
    AnswerIn,
    ConversationIn,
    ConversationOut,
    MoveIn,
    TokenIn,
    TokenOut,
)
from surveys.api.projects import OwnWorkViewSet
from surveys.engine.script import Block
from surveys.engine.walk import answers, defaults, presentation
from surveys.models.conversation import outcome_of
from surveys.services.conversations import admission, moves, places
from surveys.services.conversations import service as conversations
from surveys.services.conversations.admission import QUESTIONS_PERIOD, NotAdmitted, Respondent
from surveys.services.conversations.view import ConversationView

TAG = "Conversations"
PICTURES = ("image_url", "thumbnail_url")
_RETRIES = (
    " Send `block_id`, the `step.block.id` that you have, or an `Idempotency-Key`. Without both, a request "
    "that is sent twice, for example after a time-out, moves twice and leaves out a step. With `block_id`, a "
    "conversation that has moved on already is returned as it is, with `resumed: true`."
)
_NOT_ASKED = "A platform that knows this respondent could not be asked. Please retry shortly."


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
    of_conversations = frozenset({"create", "retrieve", "answer", "back", "go_on", "create_token"})
    of_tokens = frozenset({"retrieve", "answer", "back", "go_on"})
    least_role = {
        "create": Role.CREATOR,
        "retrieve": Role.CREATOR,
        "answer": Role.CREATOR,
        "back": Role.CREATOR,
        "go_on": Role.CREATOR,
        "create_token": Role.CREATOR,
    }

    def find(self, **kwargs: Any) -> None:
        if "conversation_id" in kwargs:
            conversations.get(conversation_id=kwargs["conversation_id"], at=self.at, actor=self.actor)
        else:
            super().find(**kwargs)

    @extend_schema(
        operation_id="conversations_begin",
        tags=[TAG],
        summary="Begin a conversation",
        description=(
            "Begins a conversation for a member, for a respondent with an id of yours (`external_id`), or "
            "for a new nameless respondent. If the respondent has an active conversation, this "
            "conversation is returned with `200`, except on anonymous projects. The response is `409 "
            "conflict` if the project is not live, if it is full (violation `full`), or if the respondent "
            "has reached `max_completes_per_user`; `400` if a required `consent` is missing; `403` if the "
            "project does not admit the respondent; `503` if a platform does not respond. [Who is "
            "admitted](/docs/details#begin-a-conversation)."
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
        self._refuse_token_of_ended(conversation_id)
        view = conversations.get(conversation_id=conversation_id, at=self.at, actor=self.actor)
        return Response(as_json(view))

    @extend_schema(
        operation_id="conversations_answer",
        tags=[TAG],
        summary="Answer the current block",
        description=(
            "Saves one answer and returns the next step. An invalid answer is `400` with `violations`, and "
            "the conversation stays where it is. An answer to a block that is not the current one is `409 "
            "conflict`; a repetition of the last saved answer returns the current state. A further "
            "question (`step.follow_up`) takes any text, and `skip`. The response is also `409 conflict` "
            "at a content or action block, on a closed project, and for a different answer to a question "
            "whose feedback was seen (`step.is_locked`)."
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
        self._refuse_token_of_ended(conversation_id)
        body = self.read(AnswerIn)
        view = moves.answer(conversation_id=conversation_id, raw=body, at=self.at, actor=self.actor)
        return Response(as_json(view))

    @extend_schema(
        operation_id="conversations_back",
        tags=[TAG],
        summary="Go one step back",
        description=(
            "Returns to the previous step. Answers stay until they are changed. At the end of a poll with "
            "`change_poll`, this request reopens the vote: the earlier vote counts until the next one. The "
            "response is `409 conflict` at the first step, and after any other end. Send `block_id` or an "
            "`Idempotency-Key`, as for `continue`."
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
        self._refuse_token_of_ended(conversation_id)
        block_id = self.read(MoveIn).get("block_id")
        view = moves.back(conversation_id=conversation_id, at=self.at, actor=self.actor, block_id=block_id)
        return Response(as_json(view, resumed=view.resumed))

    @extend_schema(
        operation_id="conversations_continue",
        tags=[TAG],
        summary="Go past a content or action block",
        description=(
            "Moves past the current content or action block, whatever its `continue` setting. The response "
            "is `409 conflict` on a question, unless its answer is locked (`step.is_locked`). While a "
            "further question waits (`step.follow_up`), returns the conversation unchanged, with `resumed: "
            "true`. Send `block_id` (the `step.block.id` that you see) or an `Idempotency-Key`: otherwise "
            "a request that is sent twice moves the conversation twice. If the conversation has left "
            "`block_id` already, it is returned unchanged, with `resumed: true`."
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
        self._refuse_token_of_ended(conversation_id)
        block_id = self.read(MoveIn).get("block_id")
        view = moves.go_on(conversation_id=conversation_id, at=self.at, actor=self.actor, block_id=block_id)
        return Response(as_json(view, resumed=view.resumed))

    @extend_schema(
        operation_id="conversations_create_token",
        tags=[TAG],
        summary="Let a page lead a conversation",
        description=(
            "Returns a token for this one conversation, for a page in a browser: see *From pages* in the "
            f"introduction. The token allows {REQUESTS_PER_MINUTE_OF_TOKEN} requests a minute, which do "
            "not count for your key. The token is valid until `expires_at`, or until the conversation or "
            "the API key that requested it ends; then it gets `401`. A conversation that has ended is "
            "`409 conflict`."
        ),
        request=TokenIn,
        responses={201: TokenOut},
        examples=[
            OpenApiExample("For half an hour", {"expires_in": 1800}, request_only=True),
            OpenApiExample("A token", TOKEN, response_only=True, status_codes=["201"]),
        ],
    )
    @once
    def create_token(self, request: Request, /, conversation_id: uuid.UUID, **kwargs: Any) -> Response:
        seconds = self.read(TokenIn)["expires_in"]
        view = conversations.get(conversation_id=conversation_id, at=self.at, actor=self.actor)
        if view.is_completed:
            raise Conflict("This conversation has ended.")
        expires_at = (self.at + timedelta(seconds=seconds)).replace(microsecond=0)
        token = tokens.issue(
            conversation_id=conversation_id, api_key_id=self.key.api_key_id, expires_at=expires_at
        )
        body = {"token": token, "conversation_id": str(conversation_id), "expires_at": expires_at}
        return Response(body, status=201)

    def _refuse_token_of_ended(self, conversation_id: uuid.UUID) -> None:
        """Raise InvalidApiKey if the caller is a token whose conversation has ended (rule 11.92)."""
        if self.key.conversation_id is not None and conversations.has_ended(conversation_id=conversation_id):
            raise InvalidApiKey(tokens.ENDED)

    def _respondent(self, body: Mapping[str, Any]) -> Respondent:
        try:
            respondent = _named(body, community_id=self.actor.community_id)
        except InvalidRequest:
            self.find(**self.kwargs)  # The object comes before the body.
            raise
        return replace(
            respondent,
            metadata=body.get("metadata") or {},
            display_name=body.get("display_name") or "",
            consents=bool(body.get("consent")),
            language=body.get("language") or "",
        )


def _named(body: Mapping[str, Any], *, community_id: int) -> Respondent:
    member_id, external_id = body.get("member_id"), body.get("external_id")
    if member_id is not None and external_id is not None:
        refuse(
            "external_id",
            "conflicting",
            "`external_id` cannot be sent with `member_id`: send only one of them.",
        )
    if member_id is not None:
        return admission.member(community_id=community_id, member_id=member_id)
    return admission.NAMELESS if external_id is None else admission.external(external_id=external_id)
