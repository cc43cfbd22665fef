"""The bot on a client that openapi-python-client generates. A test runs it beside `colloquy_generated`."""

from __future__ import annotations

import json
import sys

from colloquy_generated import AuthenticatedClient, models
from colloquy_generated.api.conversations import (
    conversations_answer,
    conversations_begin,
    conversations_continue,
)
from colloquy_generated.models import Conversation, Step

Answer = (
    models.ChoiceAnswerRequest
    | models.ChoicesAnswerRequest
    | models.RankingAnswerRequest
    | models.SkippedAnswerRequest
    | models.ValueAnswerRequest
)


def run(client: AuthenticatedClient, community: str, project: str) -> list[str]:
    prompts = []
    person = models.ConversationRequest(external_id="u-7", display_name="Kim")
    moved: object = conversations_begin.sync(community, project, client=client, body=person)
    while isinstance(moved, Conversation) and moved.step:
        prompts.append(moved.step.block.prompt)
        place = (community, moved.id)
        if body := answer(moved.step):
            moved = conversations_answer.sync(*place, client=client, body=body)
        else:
            moved = conversations_continue.sync(*place, client=client)
    assert isinstance(moved, Conversation), moved
    return prompts


def answer(step: Step) -> Answer | None:
    block = step.block
    if step.skip_label:
        return models.SkippedAnswerRequest(block_id=block.id, skip=True)
    match block:
        case models.SeenSinglePunchBlock():
            return models.ChoiceAnswerRequest(block_id=block.id, option_id=block.options[0].id)
        case models.SeenMultiPunchBlock():
            ids = [each.id for each in block.options]
            return models.ChoicesAnswerRequest(block_id=block.id, option_ids=ids[: block.max_])
        case models.SeenRankingBlock():
            ids = [each.id for each in block.options]
            return models.RankingAnswerRequest(block_id=block.id, ranking=ids[: block.rank_top_n])
        case models.SeenRatingBlock() | models.SeenOpinionScaleBlock() | models.SeenNpsBlock():
            return models.ValueAnswerRequest(block_id=block.id, value=block.options[-1].value)
        case models.SeenOpenNumericBlock():
            return models.ValueAnswerRequest(block_id=block.id, value=block.min_ or 0)
        case models.SeenOpenTextBlock():
            return models.ValueAnswerRequest(block_id=block.id, value="Yes.")
    return None


if __name__ == "__main__":
    url, key, community, project = sys.argv[1:]
    with AuthenticatedClient(base_url=url, token=key, prefix="", auth_header_name="X-API-Key") as connected:
        sys.stdout.write(json.dumps(run(connected, community, project)))
