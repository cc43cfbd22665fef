"""Polls in chat: the public message, votes, changes and results."""

import pytest
from django.utils import timezone

from communities.ground.errors import Conflict, InvalidRequest
from surveys.chat.results import tallies
from surveys.engine.script import Block, Option
from surveys.models import Answer, PublicMessage
from surveys.services.projects import opening, sharing
from surveys.services.results.poll import PollResults
from surveys.services.scripts import editing
from tests.support.chat.agent import labels_of, text_of

pytestmark = pytest.mark.django_db

COLOUR = {
    "name": "colour",
    "type": "single_punch",
    "prompt": "Which colour do you play?",
    "options": [{"value": "White"}, {"value": "Black"}],
}
PUBLIC = {"poll_results_mode": "public", "change_poll": True}


def votes():
    return sorted(Answer.objects.values_list("value", flat=True))


def test_a_vote_is_confirmed_in_private_and_counted_in_public(chat):
    chat.open(COLOUR, type="poll", settings=PUBLIC)
    marit, ola = chat.agent("Marit"), chat.agent("Ola")

    marit.press("White", message=chat.message())
    ola.press("Black", message=chat.message())
    assert "You voted **White**" in marit.text
    assert marit.labels == ["Change my vote", "Take my vote back"]
    chat.work()
    assert "**White**\n▰▰▰▰▰ 50% (1)" in text_of(chat.message())
    assert "2 votes" in text_of(chat.message())


def test_votes_change_and_are_taken_back(chat):
    chat.open(COLOUR, type="poll", settings=PUBLIC)
    marit = chat.agent()

    marit.press("White", message=chat.message())
    marit.press("Black", message=chat.message())
    assert votes() == ["Black"]
    marit.press("Change my vote")
    assert marit.labels == ["White", "Black"]
    marit.press("White")
    assert votes() == ["White"]
    marit.press("Take my vote back")
    assert (votes(), "taken back" in marit.text) == ([], True)
    chat.work()
    assert "No votes yet" in text_of(chat.message())


def test_a_vote_that_cannot_change_stays(chat):
    chat.open(COLOUR, type="poll", settings={"poll_results_mode": "voters_only"})
    marit = chat.agent()

    marit.press("White", message=chat.message())
    marit.press("Black", message=chat.message())
    assert votes() == ["White"]
    assert "does not let votes be changed" in marit.text
    assert "You voted **White**" in marit.text


def test_hidden_results_are_shown_once_the_poll_is_closed(chat):
    project = chat.open(COLOUR, type="poll", settings={"poll_results_mode": "hidden", "reveal_results": True})
    chat.agent().press("White", message=chat.message())
    chat.work()
    posted = chat.message()
    assert "White**\n▰" not in text_of(posted)

    chat.close(project)
    assert "100% (1)" in text_of(posted)
    assert labels_of(posted) == []
    summary = chat.message()
    assert summary["id"] != posted["id"]
    assert "Results: Club evening" in text_of(summary)
    assert "**White** got the most votes: 1 of 1." in text_of(summary)
    assert summary["attachments"][0]["filename"] == "results.png"
    assert (
        summary["attachments"][0]["description"] == "Which colour do you play? (1 vote): White 100%, Black 0%"
    )
    assert chat.platform.files[0][1].startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("chosen", "when"),
    [
        ({"poll_results_mode": "voters_only"}, "You see the results after you have voted."),
        ({"poll_results_mode": "hidden"}, "The results are shown once the poll is closed."),
        (
            {"poll_results_mode": "hidden", "privacy_mode": "anonymous"},
            "The results are shown once the poll is closed, if there are at least 5 votes.",
        ),
    ],
)
def test_a_post_without_results_says_when_they_are_shown(chat, chosen, when):
    project = chat.open(COLOUR, type="poll", settings=chosen)
    assert f"-# {when}" in text_of(chat.message())

    chat.close(project)

    assert when not in text_of(chat.message())


def test_an_anonymous_poll_with_few_votes_says_one_sentence(chat):
    chat.open(COLOUR, type="poll", settings={**PUBLIC, "privacy_mode": "anonymous"})
    marit = chat.agent()

    marit.press("White", message=chat.message())

    for shown in (text_of(chat.message()), marit.text):
        assert "_The results are shown once there are 5 votes._" in shown
        assert "0%" not in shown


def test_the_results_of_a_survey_are_told_question_by_question(chat):
    """Rule 6.42."""
    blocks = [
        {**COLOUR, "name": "a"},
        {"name": "b", "type": "rating", "prompt": "How *good* was it?"},
        {"name": "c", "type": "ranking", "prompt": "Rank", "options": [{"value": "Oslo"}, {"value": "Rome"}]},
        {"name": "d", "type": "open_text", "prompt": "Why?"},
    ]
    project = chat.open(*blocks, settings={"reveal_results": True, "share_results": True})
    for name, colour, point in (("Marit", "White", "4"), ("Olav", "White", "5"), ("Priya", "Black", "5")):
        agent = chat.agent(name)
        agent.press("Answer", message=chat.message())
        agent.press(colour)
        agent.press(point)
        while "Rome" in agent.labels:
            agent.press("Rome")
        agent.press("Oslo") if "Oslo" in agent.labels else None
        agent.press("Submit") if "Submit" in agent.labels else None
        agent.press("Write answer")
        agent.write("A secret")
    chat.close(project)

    summary = chat.message()
    told = text_of(summary)
    assert "3 people answered to the end." in told
    assert "**Which colour do you play?**\nWhite 67%, Black 33% · 3 answers" in told
    assert "How good was it?**\non average 4.67 · 3 answers" in told
    assert "1. Rome 2. Oslo · 3 answers" in told
    assert "A secret" not in str(summary)
    assert labels_of(summary) == ["See all results"]
    assert chat.platform.files[0][1].startswith(b"\x89PNG")


def test_reopening_changes_the_message_that_is_there(chat):
    """Rule 6.42."""
    project = chat.open(COLOUR, type="poll", settings=PUBLIC)
    chat.close(project)
    opening.open_project(actor=chat.actor, project_id=project.pk, at=timezone.now())
    chat.work()

    assert labels_of(chat.message()) == ["White", "Black"]
    assert len(chat.channel.messages) == 1


def test_a_message_that_was_deleted_is_posted_again_only_if_somebody_asks(chat):
    """Rule 6.43."""
    invitation = {"ping_role_ids": [chat.helper.id]}
    project = chat.open(COLOUR, type="poll", settings=PUBLIC, invitation=invitation)
    poll = chat.message()
    chat.channel.messages.clear()

    for name in ("Marit", "Ola"):
        chat.agent(name).press("White", message=poll)
        chat.work()
    assert not chat.channel.messages
    assert len(chat.platform.sent("PATCH", "/messages/")) == 1
    sharing.post_again(actor=chat.actor, project_id=project.pk, at=timezone.now())
    chat.work()
    assert "2 votes" in text_of(chat.message())
    assert chat.message()["allowed_mentions"] == {"parse": []}
    assert PublicMessage.objects.get().message_id == chat.message()["id"]
    with pytest.raises(Conflict, match="was not deleted"):
        sharing.post_again(actor=chat.actor, project_id=project.pk, at=timezone.now())


def test_opening_a_project_posts_it_anew_where_the_message_was_deleted(chat):
    project = chat.open(COLOUR, type="poll", settings=PUBLIC)
    chat.channel.messages.clear()
    chat.close(project)
    assert not chat.channel.messages

    chat.reopen(project)

    assert labels_of(chat.message()) == ["White", "Black"]


def test_a_vote_is_confirmed_with_the_emoji_that_was_pressed(chat):
    faces = [{"value": "1", "emoji": "😞"}, {"value": "2", "emoji": "😀"}]
    scale = {"type": "opinion_scale", "min": 1, "max": 2, "scale": {"icon": "emoji"}, "options": faces}
    chat.open({"name": "r", "prompt": "How was it?", **scale}, type="poll", settings=PUBLIC)
    marit = chat.agent()

    marit.press("😀", message=chat.message())

    assert "You voted **😀**" in marit.text


def test_anonymous_votes_are_changed_from_the_message_alone(chat):
    chat.open(COLOUR, type="poll", settings={**PUBLIC, "privacy_mode": "anonymous"})
    marit = chat.agent()

    marit.press("White", message=chat.message())
    marit.press("Change my vote")
    marit.press("Black")
    assert votes() == ["Black"]
    marit.press("White", message=chat.message())
    assert votes() == ["Black"]
    assert "voted already" in marit.text


def test_many_votes_cost_few_edits(chat):
    chat.open(COLOUR, type="poll", settings=PUBLIC)
    for n in range(12):
        chat.agent(f"Voter {n}").press("White", message=chat.message())
    chat.work()

    assert "12 votes" in text_of(chat.message())
    assert len(chat.platform.sent("PATCH", "/messages/")) == 1


def test_wording_that_changes_while_a_poll_is_open_is_shown(chat):
    project = chat.open(COLOUR, type="poll", settings=PUBLIC)
    chat.agent().press("White", message=chat.message())
    block = project.blocks.get(name="colour")
    fields = {"prompt": "Which side do you take?"}
    editing.patch_block(
        actor=chat.actor,
        project_id=project.pk,
        block_id=block.pk,
        body=fields,
        at=timezone.now(),
    )

    chat.work()
    assert "Which side do you take?" in text_of(chat.message())
    assert "1 vote" in text_of(chat.message())


def test_what_would_not_fit_into_a_message_is_refused_when_it_is_written(chat):
    long = {**COLOUR, "answer_style": "emoji_only", "prompt": "a" * 3890}

    with pytest.raises(InvalidRequest) as refusal:
        chat.create(long)
    assert [each["field"] for each in refusal.value.violations] == ["script.blocks[0].prompt"]


def test_votes_for_removed_options_have_a_line_with_their_names():
    block = Block("single_punch", "Tea?", id=1, name="tea", options=(Option("Green", 1), Option("Black", 2)))

    removed = [Option("White", 8), Option("mint", 9, "Mint"), Option("Red", 10)]
    votes = PollResults({1: 1, 9: 1, 10: 1}, {}, 3, removed=removed)
    drawn = tallies(block, votes, own={"option_ids": [9]})

    assert [(tally.label, tally.votes, tally.percent, tally.is_own) for tally in drawn] == [
        ("Green", 1, "33%", False),
        ("Black", 0, "0%", False),
        ("Removed: Mint, Red", 2, "67%", True),
    ]
