"""The preview on the tab Delivery shows the post as it will be: the code that posts it draws it."""

from __future__ import annotations

from typing import Any

import pytest
from django.utils import timezone

from communities.models import Picture, User
from surveys.admin import post_preview
from surveys.models import Project
from tests.support.chat.community import ChatCommunity
from tests.support.staff import signed_in
from tests.support.surveys.project_tabs import form_of, tab

pytestmark = pytest.mark.django_db

CHOICE = {
    "type": "single_punch",
    "prompt": "Which *one*?",
    "options": [{"value": "x"}, {"value": "y", "emoji": "⭐"}],
}
LOOKS = {
    "message": "**Come** and [answer].",
    "image_url": "https://pictures.example.org/board.png",
    "thumbnail_url": "https://pictures.example.org/small.png",
    "border_color": "112233",
    "footer": "Since 1921",
}
BUTTON = {"answer_button_label": "Join in", "answer_button_color": 3}
MENU = {**CHOICE, "answer_style": "select_menu"}
PUBLIC = {"poll_results_mode": "public"}
WEB = {"response_channel": "web", "participation": "open_web"}


@pytest.mark.parametrize("facts", ["embed", "button"])
@pytest.mark.parametrize(
    ("blocks", "fields", "audience"),
    [
        ([CHOICE], {}, {}),
        ([CHOICE], {"type": "poll"}, {}),
        ([{"type": "content_block", "prompt": "Long. " * 600}, CHOICE], {"type": "poll"}, {}),
    ],
    ids=["survey", "poll", "long"],
)
def test_what_is_typed_looks_as_it_is_posted(
    chat: ChatCommunity,
    facts: str,
    blocks: list[dict[str, object]],
    fields: dict[str, Any],
    audience: dict[str, str],
) -> None:
    typed = {
        "invitation": {**LOOKS, **BUTTON, "embed_config": {"info_display": facts}},
        "audience": audience,
    }
    made = chat.create(*blocks, **fields)
    unsaved = Project.objects.get(pk=made.pk)

    shown = post_preview.draw(unsaved, typed, tier="premium", at=timezone.now())
    chat.open_with(made, {"delivery": typed})

    assert shown == post_preview.of_message(chat.message(), chat.community.pk)
    assert len(chat.message()["embeds"]) == len(shown.embeds)


def test_a_post_is_shown_with_all_its_parts(chat: ChatCommunity) -> None:
    chat.open(CHOICE, invitation={**LOOKS, **BUTTON})

    embed = post_preview.of_message(chat.message(), chat.community.pk).embeds[0]
    assert (embed.colour, embed.footer, embed.image_address) == ("112233", "Since 1921", LOOKS["image_url"])
    assert "<strong>Club evening</strong>\n\n<strong>Come</strong> and [answer]." in embed.text
    [[button]] = post_preview.of_message(chat.message(), chat.community.pk).rows
    assert (button.label, button.style) == ("Join in", 3)


def test_what_an_author_writes_is_no_markup_of_the_page(chat: ChatCommunity) -> None:
    chat.open(CHOICE, invitation={"message": "<b>Hello</b> **<i>you</i>**"})

    text = post_preview.of_message(chat.message(), chat.community.pk).embeds[0].text
    assert "&lt;b&gt;Hello&lt;/b&gt; <strong>&lt;i&gt;you&lt;/i&gt;</strong>" in text


def test_the_tab_draws_what_is_typed_and_saves_nothing(chat: ChatCommunity) -> None:
    project = chat.create(CHOICE)
    client = signed_in(User.objects.get(pk=chat.admin.user_id))
    page = client.get(tab(project.pk, "delivery"))
    sent = {
        **form_of(page),
        "message": "Typed <now>",
        "border_color": "#00ff00",
        "max_completes_per_user": "-1",
        "answer_button_label": "Go",
    }

    drawn = client.post(
        tab(project.pk, "delivery_preview"), {key: value for key, value in sent.items() if value is not None}
    ).content.decode()

    assert "Club evening" in page.content.decode()
    for text in ("Typed &lt;now&gt;", 'fill="#00ff00"', ">Go<"):
        assert text in drawn
    assert Project.objects.get(pk=project.pk).delivery == project.delivery
    assert not Picture.objects.exists()


def test_a_poll_that_asks_nothing_has_no_post_yet(chat: ChatCommunity) -> None:
    project = Project.objects.get(pk=chat.create(type="poll").pk)

    assert post_preview.draw(project, {}, tier="premium", at=timezone.now()) is None
