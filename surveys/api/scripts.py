"""Endpoints for scripts: read with a revision, replace, or change one block (chapter 3)."""

from __future__ import annotations

from functools import partial
from typing import Any

from drf_spectacular.utils import OpenApiExample, extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from communities.gate import idempotency
from communities.gate.etags import etag_of
from communities.gate.fields import StrictChoiceField, StrictStringField, StrictTextField
from communities.gate.idempotency import Claim, once
from communities.ground.actors import Role
from surveys.ai.provider import MAX_INSTRUCTION
from surveys.api import examples
from surveys.api.blocks import ref
from surveys.api.projects import OwnWorkViewSet, once_arguments
from surveys.api.refusals import TOO_FEW_CREDITS
from surveys.services.ai_work import revision
from surveys.services.converting import service as converting
from surveys.services.converting.service import Converted
from surveys.services.ground import access, lookup
from surveys.services.projects import script_writes
from surveys.services.representations import script as script_json
from surveys.services.scripts.editing import Written

TAG = "Scripts"
_WRITES = (
    "`violations` lists all errors at once. [What may change while the project is active]"
    "(/docs/details#replace-the-script-of-a-project); any other change is `409 conflict`."
)

_changes_block = partial(
    extend_schema,
    tags=[TAG],
    summary="Change one block",
    request={"application/json": ref("BlockPatch")},
    responses={200: ref("Block")},
    examples=[
        OpenApiExample("The correct answer", {"correct_answer_ids": [311]}, request_only=True),
        OpenApiExample("The block", examples.BLOCK, response_only=True),
    ],
)


class ScriptQuery(serializers.Serializer[Any]):
    expand = StrictChoiceField(
        ["outro"],
        required=False,
        help_text=(
            "`outro` includes the outro blocks that the service adds, with the XP that they award at present."
        ),
    )


@extend_schema_field(ref("Block"))
class BlockField(serializers.JSONField):
    """A block as JSON."""


class RevisionIn(serializers.Serializer[Any]):
    instruction = StrictTextField(
        max_length=MAX_INSTRUCTION,
        allow_blank=False,
        help_text="What to change, in plain words: `shorter`, `in German`, `add a question on prices`.",
    )


class ChangeOut(serializers.Serializer[Any]):
    """What differs in one block. A block that was changed and moved has two changes."""

    block_id = serializers.IntegerField(allow_null=True, help_text="Null for an added block.")
    name = serializers.CharField()
    change = serializers.ChoiceField(choices=["added", "changed", "moved", "removed"])
    index = serializers.IntegerField(
        allow_null=True, help_text="The block's index in `blocks`; null for a removed block."
    )
    fields = serializers.ListField(  # type: ignore[assignment]
        child=serializers.CharField(), help_text="The fields that differ, for a changed block."
    )


class RevisionOut(serializers.Serializer[Any]):
    """A changed script, of which nothing is saved."""

    blocks = serializers.ListField(child=BlockField(), help_text="As `PUT` takes them.")
    changes = ChangeOut(many=True, help_text="In the order of `blocks`; removed blocks come last.")
    understood = serializers.ListField(
        child=serializers.CharField(), help_text="What was changed, in sentences."
    )
    unmet = serializers.ListField(
        child=serializers.CharField(), help_text="What could not be done, in sentences."
    )
    generated_by = serializers.CharField(help_text="`anthropic` or `openai`.")
    credits_used = serializers.IntegerField()


class ConvertIn(serializers.Serializer[Any]):
    format = StrictChoiceField(
        converting.FORMATS,
        help_text="What `content` is: [the formats](/docs/move-to-colloquy#what-to-export-elsewhere).",
    )
    content = StrictStringField(
        allow_blank=False,
        max_length=converting.MAX_CONTENT,
        help_text=(
            "The questionnaire as text or base64. Base64 is shorter for a text with many characters that "
            "JSON escapes."
        ),
    )


class UnmetOut(serializers.Serializer[Any]):
    """A part of the source that a script cannot express, or does not need."""

    where = serializers.CharField(help_text="The place in the source, by the source's own name or number.")
    what = serializers.CharField(help_text="What was left out or changed, in a sentence.")


class ConvertedOut(serializers.Serializer[Any]):
    """A questionnaire as blocks. Nothing is saved."""

    blocks = serializers.ListField(child=BlockField(), help_text="The blocks to send with `PUT .../script`.")
    unmet = UnmetOut(many=True, help_text="At most 200. If there are more, the last entry says how many.")


def _tag_of(revision: int, *, solutions: bool) -> dict[str, str]:
    """The header of a read: the revision. A read without solutions gets a digest later, because a client that
    sent it back would delete the solutions (rule 1.186).
    """
    return {"ETag": etag_of(revision)} if solutions else {}


class ScriptViewSet(OwnWorkViewSet):
    noun = "script"
    of_conversations = frozenset({"retrieve", "read_block"})
    with_questionnaire = frozenset({"convert"})
    least_role = {
        "retrieve": Role.MEMBER,
        "read_block": Role.MEMBER,
        "update": Role.CREATOR,
        "revise": Role.CREATOR,
        "convert": Role.CREATOR,
        "put_block": Role.CREATOR,
        "patch_block": Role.CREATOR,
    }

    @extend_schema(
        operation_id="scripts_get",
        tags=[TAG],
        summary="Read the script of a project",
        description=(
            "Returns the script. You can send it back with `PUT` as you read it. The `ETag` is its "
            "revision. For the role member, correct answers, points, formulas and feedback are null, "
            "`warnings` is empty, and the `ETag` cannot be used for `If-Match`."
        ),
        parameters=[ScriptQuery],
        responses={200: ref("Script")},
        examples=[OpenApiExample("A script", examples.SCRIPT, response_only=True)],
    )
    def retrieve(self, request: Request, project_id: int) -> Response:
        project = lookup.seen(actor=self.actor, project_id=project_id, at=self.at)
        query = self.query(ScriptQuery)
        solutions = access.may_read_solutions(actor=self.actor)
        revision, script = script_json.rendered(project, outro="expand" in query, solutions=solutions)
        return Response(script, headers=_tag_of(revision, solutions=solutions))

    @extend_schema(
        operation_id="scripts_put",
        tags=[TAG],
        summary="Replace the script of a project",
        description=(
            "Replaces the script. Blocks and options with an id are updated, those without an id are "
            "added, and missing ones are removed. References to a renamed block are updated. A block that "
            "has answers cannot change its type (`409 conflict`): leave out the block, and add a new one. "
            f"{_WRITES}"
        ),
        request={"application/json": ref("Script")},
        responses={200: ref("Script")},
        examples=[
            OpenApiExample("Two blocks", examples.SCRIPT_SENT, request_only=True),
            OpenApiExample("Saved", examples.SCRIPT, response_only=True),
        ],
    )
    @once
    def update(self, request: Request, project_id: int) -> Response:
        written = script_writes.replace_script(
            actor=self.actor,
            project_id=project_id,
            body=self.body,
            at=self.at,
        )
        return self._response(written, script_json.serialize(written.project, written.script))

    def _prepare_revision(self, claim: Claim | None) -> int | None:
        """Have AI change the script, and wait for it. None if nothing is to be done."""
        if idempotency.is_settled(claim, at=self.at):
            return None
        return revision.prepare(
            actor=self.actor,
            project_id=self.kwargs["project_id"],
            instruction=self.read(RevisionIn)["instruction"],
            **once_arguments(claim, at=self.at),
            at=self.at,
        )

    @extend_schema(
        operation_id="scripts_revise",
        tags=[TAG],
        summary="Have AI change the script",
        description=(
            "Returns a script that AI has changed as the instruction says, and saves nothing. To save the "
            "script, send `blocks` with `PUT`, and the `ETag` of this response as `If-Match`. Ids and all "
            "other parts stay the same. If the script is not ready within 60 seconds, the response is "
            "`503` with `Retry-After`: repeat the request with the same `Idempotency-Key`. The price is "
            "that of a script from an intent; a failed or unfetched script (after ten minutes) is free. An "
            "instruction that AI cannot follow is `400`. Without a model (`local`), the response is `409 "
            "conflict`."
        ),
        request=RevisionIn,
        responses={200: RevisionOut, 402: TOO_FEW_CREDITS},
        examples=[
            OpenApiExample("In other words", examples.INSTRUCTION_SENT, request_only=True),
            OpenApiExample("A changed block", examples.REVISION, response_only=True, status_codes=["200"]),
        ],
    )
    @once(prepare=_prepare_revision)
    def revise(self, request: Request, project_id: int, *, prepared: int | None) -> Response:
        proposal = revision.propose(actor=self.actor, project_id=project_id, generation_id=prepared)
        return Response(proposal.body, headers={"ETag": etag_of(proposal.revision)})

    def _prepare_conversion(self, claim: Claim | None) -> Converted | None:
        """Convert before the transaction. None if nothing is to be done."""
        return None if idempotency.is_settled(claim, at=self.at) else self._convert()

    def _convert(self) -> Converted:
        return converting.convert(**self.read(ConvertIn), community_id=self.actor.community_id)

    @extend_schema(
        operation_id="scripts_convert",
        tags=[TAG],
        summary="Convert a questionnaire of another system",
        description=(
            "Converts a questionnaire to blocks, and saves nothing. To save the blocks, send `blocks` with "
            "`PUT .../script`, or as the `script` of a new project. `unmet` lists the parts that a script "
            "cannot express. Content that does not fit its format is `400` naming `content`. While others "
            "convert questionnaires, the response may be `503`. [Formats, and what changes on the "
            "way](/docs/move-to-colloquy)."
        ),
        request=ConvertIn,
        responses={200: ConvertedOut},
        examples=[
            OpenApiExample("A text", examples.QUESTIONNAIRE_SENT, request_only=True),
            OpenApiExample("Its blocks", examples.CONVERTED, response_only=True, status_codes=["200"]),
        ],
    )
    @once(prepare=_prepare_conversion)
    def convert(self, request: Request, *, prepared: Converted | None) -> Response:
        converted = prepared or self._convert()  # the stored response may have expired since
        return Response({"blocks": converted.blocks, "unmet": converted.unmet})

    @extend_schema(
        operation_id="blocks_get",
        tags=[TAG],
        summary="Read one block",
        description="Returns one block of the script. The `ETag` is the script's revision.",
        responses={200: ref("Block")},
        examples=[OpenApiExample("A block", examples.BLOCK, response_only=True)],
    )
    def read_block(self, request: Request, project_id: int, block_id: int) -> Response:
        project = lookup.seen(actor=self.actor, project_id=project_id, at=self.at)
        solutions = access.may_read_solutions(actor=self.actor)
        revision, block = script_json.one_block(project, block_id, solutions=solutions)
        return Response(block, headers=_tag_of(revision, solutions=solutions))

    @_changes_block(
        operation_id="blocks_patch",
        description=(
            "Changes the fields in the request: null clears a field, and a list is replaced. `position` "
            f"moves the block. {_WRITES}"
        ),
    )
    @once
    def patch_block(self, request: Request, project_id: int, block_id: int) -> Response:
        return self._patch_block(request, project_id, block_id)

    @_changes_block(
        operation_id="blocks_put",
        description="Changes the fields in the request, as `PATCH` does.",
    )
    @once
    def put_block(self, request: Request, project_id: int, block_id: int) -> Response:
        return self._patch_block(request, project_id, block_id)

    def _patch_block(self, request: Request, project_id: int, block_id: int) -> Response:
        written = script_writes.patch_block(
            actor=self.actor,
            project_id=project_id,
            block_id=block_id,
            body=self.body,
            at=self.at,
        )
        return self._response(written, script_json.serialize_block(written.project, written.script, block_id))

    def _response(self, written: Written, body: dict[str, object]) -> Response:
        self.ignore(written.ignored)
        return Response(body, headers={"ETag": etag_of(written.project.revision)})
