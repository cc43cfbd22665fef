"""Codebooks: the themes to which answers to an open question are assigned (rules 10.22 to 10.25)."""

from __future__ import annotations

import uuid
from typing import Any

from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from communities.gate.etags import etag_of
from communities.gate.fields import (
    StrictBooleanField,
    StrictIntegerField,
    StrictListField,
    StrictTextField,
)
from communities.gate.idempotency import once
from communities.ground.actors import Role
from communities.ground.ids import MAX_ID
from communities.ground.transactions import in_transaction
from surveys.ai.provider import MAX_THEME_DESCRIPTION, MAX_THEME_TITLE, SENTIMENTS
from surveys.api.conversation_examples import RESPONSE
from surveys.api.projects import OwnWorkViewSet
from surveys.api.responses import ResponseOut
from surveys.services.ai_work import codebook, readings
from surveys.services.ground import access, lookup
from surveys.services.responses import service as responses

TAG = "Analysis"
CODEBOOK = {
    "themes": [
        {
            "id": 41,
            "title": "Price",
            "description": "What it costs, and for whom that is too much.",
            "pinned": True,
        },
        {"id": 42, "title": "Waiting times", "description": "Queues and slow answers.", "pinned": False},
    ],
    "version": 3,
}


class ThemeIn(serializers.Serializer[Any]):
    """A theme of the question after the change."""

    id = StrictIntegerField(
        required=False,
        allow_null=True,
        min_value=1,
        max_value=MAX_ID,
        help_text="Null or left out: a new theme.",
    )
    title = StrictTextField(
        max_length=MAX_THEME_TITLE,
        help_text="One line without semicolons, unique in the question in any case.",
    )
    description = StrictTextField(
        required=False,
        allow_blank=True,
        max_length=MAX_THEME_DESCRIPTION,
        help_text=(
            "What belongs to the theme. A model reads the description: after a change, all answers are "
            "compared with this theme again. If left out, the description stays."
        ),
    )
    pinned = StrictBooleanField(
        required=False, help_text="A pinned theme stays when a better provider names themes anew."
    )


class MergeIn(serializers.Serializer[Any]):
    """Themes whose answers are moved to another one."""

    def get_fields(self) -> dict[str, Any]:  # `from` is a word of Python
        ids = StrictListField(
            child=StrictIntegerField(min_value=1, max_value=MAX_ID),
            min_length=1,
            max_length=codebook.MAX_THEMES,
            help_text="The themes to merge; they are removed.",
        )
        into = StrictIntegerField(min_value=1, max_value=MAX_ID, help_text="The theme that stays.")
        return {"from": ids, "into": into}


class CodebookIn(serializers.Serializer[Any]):
    """The changes of a codebook.

    The merges are applied first; then `themes` are all themes of the question.
    """

    themes = StrictListField(
        child=ThemeIn(),
        required=False,
        max_length=codebook.MAX_THEMES,
        help_text="All themes of the question; those left out are removed. Themes in `from` may be left out.",
    )
    merge = StrictListField(child=MergeIn(), required=False, max_length=codebook.MAX_THEMES)


class ThemeOut(serializers.Serializer[Any]):
    """A theme of an open question."""

    id = serializers.IntegerField()
    title = serializers.CharField()
    description = serializers.CharField(allow_blank=True)
    pinned = serializers.BooleanField()


class CodebookOut(serializers.Serializer[Any]):
    """The themes of an open question. `version` grows with each change; 0 before any answer was read."""

    themes = ThemeOut(many=True)
    version = serializers.IntegerField()


class ReadingIn(serializers.Serializer[Any]):
    """The reading of an answer by a person."""

    themes = StrictListField(
        child=StrictIntegerField(min_value=1, max_value=MAX_ID),
        max_length=readings.MAX_THEMES_OF_ANSWER,
        help_text="Ids of themes in the codebook of the question; empty if the answer fits none.",
    )
    sentiment = serializers.ChoiceField(
        choices=SENTIMENTS, allow_null=True, default=None, help_text="Null if it cannot be judged."
    )


class CodebookViewSet(OwnWorkViewSet):
    noun = "codebook"
    least_role = {"retrieve": Role.MEMBER, "partial_update": Role.CREATOR, "correct": Role.CREATOR}

    def find(self, **kwargs: Any) -> None:
        if "response_id" in kwargs:
            with in_transaction:
                project = responses.lock(response_id=kwargs["response_id"], actor=self.actor).project
        else:
            project = lookup.seen(actor=self.actor, project_id=kwargs["project_id"], at=self.at)
        codebook.question(project=project, block_id=kwargs["block_id"])

    def lock(self, **kwargs: Any) -> None:
        project = lookup.in_community(community_id=self.actor.community_id, project_id=kwargs["project_id"])
        access.require_owner(actor=self.actor, project=project)
        codebook.question(project=project, block_id=kwargs["block_id"])
        codebook.lock(project=project, block_id=kwargs["block_id"])

    @extend_schema(
        operation_id="codebooks_get",
        tags=[TAG],
        summary="Read the themes of an open question",
        description=(
            "Returns the themes of an open question, from analyses or from staff, oldest first. Needs a "
            "key that may read the project's responses. The response is `404` for other types of blocks, "
            "for blocks of the intro, and for a `format` such as `email`, whose answers no analysis reads. "
            "The `ETag` is the `version`."
        ),
        responses=CodebookOut,
        examples=[OpenApiExample("Two themes", CODEBOOK, response_only=True)],
    )
    def retrieve(self, request: Request, project_id: int, block_id: int) -> Response:
        project = lookup.in_community(community_id=self.actor.community_id, project_id=project_id)
        access.require_responses_reader(actor=self.actor, project=project, at=self.at)
        return _answer(codebook.read(project=project, block_id=block_id))

    @extend_schema(
        operation_id="codebooks_patch",
        tags=[TAG],
        summary="Change the themes of an open question",
        description=(
            "Renames, adds, pins, removes and merges themes. The list is replaced: send all themes as you "
            "read them, with your changes. Merged and renamed themes keep their answers; the next analysis "
            "compares all answers with new themes and descriptions. Only the creator of the project and "
            "admins may change themes."
        ),
        request=CodebookIn,
        responses=CodebookOut,
        examples=[
            OpenApiExample("Merge two themes", {"merge": [{"from": [42], "into": 41}]}, request_only=True),
            OpenApiExample("Changed", CODEBOOK, response_only=True),
        ],
    )
    @once
    def partial_update(self, request: Request, project_id: int, block_id: int) -> Response:
        project = lookup.in_community(community_id=self.actor.community_id, project_id=project_id)
        access.require_owner(actor=self.actor, project=project)
        sent = self.read(CodebookIn)
        themes = sent.get("themes")
        return _answer(
            codebook.change(
                project=project,
                block_id=block_id,
                themes=None if themes is None else [_wanted(theme) for theme in themes],
                merges=[codebook.Merge(each["from"], each["into"]) for each in sent.get("merge", ())],
                actor=self.actor,
                at=self.at,
            )
        )

    @extend_schema(
        operation_id="readings_put",
        tags=[TAG],
        summary="Put right what was read in one answer",
        description=(
            "Sets the themes and the sentiment of one answer to an open question, and returns the "
            "response. Later analyses do not change this reading, and a model sees it as an example. "
            "Counts include the reading from the next analysis on. Only the creator of the project and "
            "admins may set a reading."
        ),
        request=ReadingIn,
        responses=ResponseOut,
        examples=[
            OpenApiExample("About prices", {"themes": [41], "sentiment": "negative"}, request_only=True),
            OpenApiExample("The response", RESPONSE, response_only=True),
        ],
    )
    @once
    def correct(self, request: Request, /, response_id: uuid.UUID, block_id: int, **kwargs: Any) -> Response:
        sent = self.read(ReadingIn)
        return Response(
            codebook.correct(
                actor=self.actor,
                response_id=response_id,
                block_id=block_id,
                themes=sent["themes"],
                sentiment=sent["sentiment"],
                at=self.at,
            )
        )


def _wanted(theme: dict[str, Any]) -> codebook.ThemeChange:
    return codebook.ThemeChange(
        theme["title"], theme.get("description"), theme.get("pinned"), theme.get("id")
    )


def _answer(book: codebook.ReadCodebook) -> Response:
    return Response(codebook.as_json(book), headers={"ETag": etag_of(book.version)})
