"""Unusual texts are returned in one form, or are refused with their field's name (rules 1.6 to 1.8)."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.caller import Caller
from tests.support.surveys.draft_provider import free_model
from tests.support.text_fields import EACH, TextField, text_fields
from tests.support.trouble_texts import TROUBLE, send, trouble_place

FIELDS = [field for field in text_fields() if field.format not in ("date-time", "uuid")]
# Fields of strings that are no texts of people, by the last part of their names.
IDS = {
    *("member_id", "member_ids", "project_ids", "required_role_ids", "ping_role_ids", "post_channel_id"),
    *(
        "discord_role_id",
        "achievement_id",
        "achievement_role_id",
        "role_id",
        "template",
        "language",
        "locale",
        "time_zone",
        "hidden_fields",
    ),
}
ADDRESSES = {
    "url",
    "image_url",
    "thumbnail_url",
    "video_url",
    "achievement_image_url",
    "privacy_url",
    "logo_url",
    "background_url",
    "allowed_origins",
}
SIGNS = {
    "color",
    "border_color",
    "border_color_closed",
    "chart_emoji",
    "accent_color",
    "background_color",
    "content",
}
LOGIC = {"where", "precondition", "block", "variable", "source_key", "calculated_formula", "weight_by"}
NO_TEXTS = IDS | ADDRESSES | SIGNS | LOGIC
# Texts that the interface takes and does not return at once.
NOT_RETURNED = {
    "POST /v1/communities/{community_id}/conversations/{conversation_id}/answers: value.[]",  # no such option
    # of an option, which this question has not
    "POST /v1/communities/{community_id}/conversations/{conversation_id}/answers: other_text",
    "POST /v1/communities/{community_id}/projects/{project_id}/responses: data.[].answers.[].other_text",
    "POST /v1/communities/{community_id}/projects: intent",
    "POST /v1/communities/{community_id}/projects: script.blocks.[].group",  # of choices and scales alone
    "POST /v1/communities/{community_id}/projects/{project_id}/script/revise: instruction",
    "POST /v1/communities/{community_id}/projects/{project_id}/conversations: external_id",
    "POST /v1/communities/{community_id}/projects/{project_id}/conversations: display_name",
    "POST /v1/communities/{community_id}/projects/{project_id}/conversations: metadata.{}",
    "POST /v1/communities/{community_id}/projects/{project_id}/responses: data.[].answers.[].block_name",
    "POST /v1/communities/{community_id}/projects/{project_id}/responses: data.[].answers.[].label",
}


def is_returned_text(field: TextField) -> bool:
    named = [step for step in field.steps if step != EACH][-1]
    return not field.is_query and named not in NO_TEXTS and field.name not in NOT_RETURNED


@pytest.mark.long
@pytest.mark.django_db
def test_every_text_comes_back_in_one_form_or_is_refused_by_name(
    monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    free_model(monkeypatch, settings)
    place = trouble_place(Caller("admin"))
    outcomes = {
        (field, trouble): send(field, text, place) for field in FIELDS for trouble, text in TROUBLE.items()
    }

    wrong = [
        (field.name, trouble, outcome.status, outcome.faults)
        for (field, trouble), outcome in outcomes.items()
        if not outcome.is_right(field, trouble)
    ]
    lost = [
        field.name
        for field in FIELDS
        if is_returned_text(field) and not outcomes[field, "letters in parts"].has("letters in parts")
    ]

    assert wrong == []
    assert lost == []
    assert len(FIELDS) > 90
