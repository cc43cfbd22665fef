"""How questions and invitations look: emoji, pictures, labels, feedback, and what the tier allows."""

import pytest
from django.utils import timezone

from communities.chat_platform import limits
from surveys.chat import invitations, screens, words
from surveys.chat.messages import Embed, Message
from surveys.services.scripts import editing
from tests.support.chat.agent import labels_of, text_of

pytestmark = pytest.mark.django_db

QUESTION = {
    "name": "a",
    "type": "single_punch",
    "prompt": "First?",
    "options": [{"value": "x"}, {"value": "y"}],
}
PICTURE = "https://pictures.example.org/board.png"
PREMIUM = {
    "border_color": "112233",
    "border_color_closed": "445566",
    "footer": "Since 1921",
    "answer_button_label": "Join in",
    "answer_button_color": 3,
}


def begun(chat, *blocks, **fields):
    chat.open(*blocks, **fields)
    agent = chat.agent()
    agent.press("Answer", message=chat.message())
    return agent


def test_emoji_stand_for_options_with_a_legend(chat):
    options = [
        {"value": "White", "emoji": "⚪"},
        {"value": "Black 🖤"},
        {"value": "Custom", "emoji": "<:pawn:123456789012345678>"},
        {"value": "None"},
    ]
    marit = begun(chat, {**QUESTION, "answer_style": "emoji_only", "options": options})

    assert labels_of(marit.screen)[:4] == ["⚪", "🖤", "pawn", "4️⃣"]
    assert "⚪  White" in marit.text
    assert "4️⃣  None" in marit.text
    marit.press("🖤")
    assert "Thank you" in marit.text


def test_a_menu_is_shown_where_the_author_wants_one_or_buttons_do_not_fit(chat):
    many = [{"value": f"Option {n}"} for n in range(25)]
    marit = begun(
        chat, {**QUESTION, "answer_style": "select_menu"}, {**QUESTION, "name": "b", "options": many}
    )

    marit.choose("x")
    assert len([each for each in labels_of(marit.screen) if each.startswith("Option")]) == 25
    marit.choose("Option 24")
    assert "Thank you" in marit.text


def test_pictures_stand_above_and_beside_the_prompt(chat):
    marit = begun(chat, {**QUESTION, "image_url": PICTURE, "thumbnail_url": PICTURE})

    above, asked = marit.screen["embeds"]
    assert (above["image"]["url"], asked["thumbnail"]["url"]) == (PICTURE, PICTURE)
    assert above["color"] == asked["color"]


def test_a_video_is_a_link_below_the_text(chat):
    """Rule 6.441."""
    film = {"name": "f", "type": "content_block", "prompt": "Look", "video_url": "https://vimeo.com/7"}
    marit = begun(chat, film, QUESTION)

    assert "Look\n\n[▶ Watch the video on Vimeo](https://vimeo.com/7)" in marit.text


def test_eleven_labelled_points_are_explained(chat):
    points = [{"value": str(n), "label": f"Point {n}"} for n in range(11)]
    marit = begun(chat, {"name": "s", "type": "opinion_scale", "prompt": "Agreed?", "options": points})

    rows = [len(row["components"]) for row in marit.screen["components"]]
    assert rows[:3] == [4, 4, 3]
    assert "**10**  Point 10" in marit.text


def test_graded_answers_get_their_feedback_above_the_next_question(chat):
    graded = {
        **QUESTION,
        "correct_answer_index": 0,
        "when_correct": "[answer] it is.",
        "when_incorrect": "No.",
    }
    marit = begun(chat, graded, {**graded, "name": "b"}, scoring_enabled=True)

    marit.press("x")
    assert "✅ That is right.**\nx it is." in marit.text
    marit.press("y")
    assert "❌ Not quite.**\nNo." in marit.text


def test_what_others_wrote_is_no_markup(chat):
    """Rule 6.45."""
    text = {"name": "t", "type": "open_text", "prompt": "Say.", "required": True}
    marit = begun(chat, text, {**QUESTION, "prompt": "You **said** [t]."})

    marit.press("Write answer")
    marit.write("**@everyone** [x](https://evil.example)")
    assert r"You **said** \*\*\@everyone\*\* \[x\]\(https\://evil.example\)." in marit.text
    assert marit.screen["content"] == ""


def test_the_invitation_shows_all_that_its_tier_allows(chat):
    project = chat.open(
        QUESTION, invitation={**PREMIUM, "message": "Hello", "image_url": PICTURE, "thumbnail_url": PICTURE}
    )

    (embed,) = chat.message()["embeds"]
    (button,) = chat.message()["components"][0]["components"]
    assert (embed["color"], embed["footer"]["text"]) == (0x112233, "Since 1921")
    assert (embed["image"]["url"], embed["thumbnail"]["url"]) == (PICTURE, PICTURE)
    assert (button["label"], button["style"]) == ("Join in", 3)
    chat.close(project)
    assert chat.message()["embeds"][0]["color"] == 0x445566


def test_facts_are_switched_off_or_behind_a_button(chat):
    config = {"info_display": "button", "rows": {"privacy": False}}
    chat.open(QUESTION, QUESTION | {"name": "b"}, invitation={"embed_config": config})
    marit = chat.agent()

    assert "2 questions" not in text_of(chat.message())
    marit.press("Info", message=chat.message())
    assert "2 questions" in marit.text


def test_blocks_have_their_colour_on_tiers_that_draw_it(chat):
    text = {"name": "c", "type": "content_block", "prompt": "Hello.", "color": "00ff00"}
    marit = begun(chat, QUESTION, text)

    marit.press("x")
    assert marit.screen["embeds"][0]["color"] == 0x00FF00
    chat.community.tier = "basic"
    chat.community.save()
    marit.press("Back")
    marit.press("x")
    assert marit.screen["embeds"][0]["color"] != 0x00FF00


ROOK = "<:rook:123456789012345678>"


def test_server_emoji_of_an_author_are_drawn_and_those_of_a_respondent_are_text(chat):
    """Rule 6.45."""
    options = [{"value": f"*Tower* {ROOK}"}, {"value": "Bishop"}]
    piped = {"name": "t", "type": "open_text", "prompt": "You chose [a].", "required": True}
    ranking = {"name": "r", "type": "ranking", "prompt": "You wrote [t].", "options": options}
    scale = {"name": "s", "type": "rating", "prompt": "How?", "scale": {"label_left": f"None {ROOK}"}}
    marit = begun(chat, {**QUESTION, "answer_style": "emoji_only", "options": options}, piped, ranking, scale)

    assert rf"\*Tower\* {ROOK}" in marit.text  # the legend
    marit.press("rook")
    assert rf"You chose \*Tower\* {ROOK}." in marit.text
    marit.press("Write answer")
    marit.write(ROOK)
    assert r"You wrote \<\:rook\:123456789012345678\>." in marit.text
    marit.press("*Tower*")
    assert rf"**1.** \*Tower\* {ROOK}" in marit.text
    marit.press("Bishop")
    marit.press("Submit")
    assert f"None {ROOK}" in marit.text


def test_server_emoji_are_drawn_in_results_and_named_where_the_platform_draws_none(chat):
    options = [{"value": f"Tower {ROOK}"}, {"value": "Bishop"}]
    settings = {"poll_results_mode": "public", "reveal_results": True}
    project = chat.open({**QUESTION, "options": options}, type="poll", settings=settings, name=f"Club {ROOK}")
    marit = chat.agent()

    marit.press("Tower", message=chat.message())
    assert f"You voted **Tower {ROOK}**" in marit.text
    chat.work()
    assert f"**Club {ROOK}**" in text_of(chat.message())
    assert f"**Tower {ROOK}**" in text_of(chat.message())
    chat.close(project)
    summary = chat.message()
    assert f"**Tower {ROOK}** got the most votes" in text_of(summary)
    assert "Tower :rook: 100%" in summary["attachments"][0]["description"]


def test_no_text_is_cut_within_the_code_of_an_emoji():
    assert words.clip(f"Tower {ROOK} and more", 20) == "Tower…"


def test_long_texts_are_cut_and_none_is_dropped():
    texts = [letter * limits.DESCRIPTION for letter in "abcdefghij"]

    raw = Message([Embed(text, title="Title", footer="Footer") for text in texts]).as_json()

    shown = [embed["description"] for embed in raw["embeds"]]
    assert [text[0] for text in shown] == list("abcdefghij")
    assert all(text.endswith("…") for text in shown[:-1])
    assert limits.check_message(raw) == []


SMALL = "https://pictures.example.org/small.png"
HELLO = {"name": "hello", "type": "content_block", "prompt": "Hello.", "image_url": SMALL}
LOOKS = {"image_url": PICTURE, "thumbnail_url": SMALL, "color": "00ff00"}


def looks_of(message):
    """Each embed's picture, thumbnail, colour, and the beginning of its text."""
    return [
        (
            each.get("image", {}).get("url"),
            each.get("thumbnail", {}).get("url"),
            each["color"],
            each.get("description", "").partition("\n")[0],
        )
        for each in message["embeds"]
    ]


def test_a_poll_has_its_pictures_and_colour_in_the_post_and_when_a_vote_changes(chat):
    settings = {"poll_results_mode": "hidden", "change_poll": True}
    project = chat.open(HELLO, {**QUESTION, **LOOKS}, type="poll", settings=settings)
    asked = [(PICTURE, None, 0x00FF00, ""), (None, SMALL, 0x00FF00, "First?")]
    usual = screens.DEFAULT_COLOUR

    assert looks_of(chat.message()) == [
        (None, None, usual, "**Club evening**"),
        (SMALL, None, usual, ""),
        (None, None, usual, "Hello."),
        *asked,
    ]
    marit = chat.agent()
    marit.press("x", message=chat.message())
    marit.press("Change my vote")
    assert looks_of(marit.screen) == asked
    chat.close(project)
    assert {colour for _, _, colour, _ in looks_of(chat.message())} == {invitations.CLOSED_COLOUR}


def test_the_outro_has_its_pictures(chat):
    project = chat.create(QUESTION)
    editing.patch_block(
        actor=chat.actor,
        project_id=project.pk,
        block_id=project.blocks.get(section="outro", type="content_block").pk,
        body={"prompt": "Bye.", **LOOKS},
        at=timezone.now(),
    )
    chat.reopen(project)
    marit = chat.agent()
    marit.press("Answer", message=chat.message())

    marit.press("x")

    above, below = looks_of(marit.screen)
    assert (above[0], below[1], below[3]) == (PICTURE, SMALL, "Bye.")


def test_pictures_of_many_texts_never_push_the_question_out(chat):
    texts = [{**HELLO, "name": f"t{n}", "prompt": f"Text {n}."} for n in range(12)]
    chat.open(*texts, {**QUESTION, **LOOKS}, type="poll")

    shown = text_of(chat.message())
    assert all(f"Text {n}." in shown for n in range(12))
    assert "First?" in shown
    assert "Club evening" in shown


@pytest.mark.parametrize("kind", ["convo", "poll"])
def test_the_outro_has_its_colour(chat, kind):
    project = chat.create(QUESTION, type=kind, invitation={"border_color": "112233"})
    project.blocks.filter(section="outro").update(color="0000ff")
    chat.reopen(project)
    marit = chat.agent()
    if kind == "convo":
        marit.press("Answer", message=chat.message())
    marit.press("x", message=chat.message() if kind == "poll" else None)

    looks = {text[:9]: colour for _, _, colour, text in looks_of(marit.screen)}
    assert looks.pop("Thank you") == 0x0000FF
    assert {*looks.values()} == {0x112233}
