"""Objects for the parameters in the paths of the OpenAPI description."""

from __future__ import annotations

from surveys.services.ai_work.analysis import service as analysis
from tests.support.caller import CHOICE, SAYING, TEXT, Caller


def made_place(caller: Caller, **fields: object) -> dict[str, str]:
    """An open survey with an answered question, a key, a webhook with a delivery: ids by names in paths.

    `fields` are those of the project. `key` is the secret of the caller's key, and `text_id` the id of an
    open question.
    """
    audience = {"delivery": {"audience": {"participation": "open_web"}}}
    project = caller.make_open(SAYING, CHOICE, TEXT, **audience, **fields)
    _, question, text = project["script"]["blocks"]
    conversation = caller.post(f"/projects/{project['id']}/conversations").json()
    caller.post(f"/conversations/{conversation['id']}/continue")
    answer = {"block_id": question["id"], "option_id": question["options"][0]["id"]}
    assert caller.post(f"/conversations/{conversation['id']}/answers", answer).status_code == 200
    asked = caller.post(f"/projects/{project['id']}/analysis")
    analysis.run(analysis_id=int(asked.json()["id"]))
    member_id = str(caller.community.members.get().pk)
    link = caller.post(f"/projects/{project['id']}/links", {"member_id": member_id}).json()
    webhook = caller.post("/webhooks", {"url": "https://example.com/", "events": ["*"]}).json()
    return {
        "key": caller.secret,
        "community_id": str(caller.community.pk),
        "project_id": project["id"],
        "block_id": str(question["id"]),
        "text_id": str(text["id"]),
        "conversation_id": conversation["id"],
        "response_id": conversation["id"],
        "key_id": str(caller.community.api_keys.get().pk),
        "webhook_id": webhook["id"],
        "delivery_id": caller.post(f"/webhooks/{webhook['id']}/ping").json()["id"],
        "template_id": "event-feedback",
        "member_id": member_id,
        "link_id": link["id"],
    }
