"""The schemas of requests to a model, and the rules that a script by a model breaks."""

from __future__ import annotations

from surveys.ai.models import schemas
from surveys.ai.provider import ProposedScript, ScriptRequest
from surveys.services.scripts import planning

SURVEY = ScriptRequest(intent="Do people like our new board?", type="convo")
SCHEMAS = {
    name: value
    for name, value in vars(schemas).items()
    if isinstance(value, dict) and "properties" in value and name[0] != "_"
}


def violations_of(draft: ProposedScript, request: ScriptRequest = SURVEY) -> list[str]:
    _, violations = planning.read_new(
        {"blocks": list(draft.blocks)},
        is_poll=request.type == "poll",
        scoring_enabled=draft.scoring_enabled,
        bucket_names=request.bucket_names,
        chat=request.for_chat,
        xp_limit=None,
    )
    return [f"{violation.field}: {violation.message}" for violation in violations]
