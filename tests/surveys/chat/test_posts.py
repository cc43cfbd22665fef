"""A message is posted once, also if the platform's answer is lost or the worker is killed."""

import re
from datetime import timedelta
from pathlib import Path

import pytest
from django.db.models import F
from django.utils import timezone

from communities.models import ChatInstallation, ChatTask
from communities.services.chat import outbox
from surveys.chat import posting, posts
from surveys.models import Conversation, Project, PublicMessage, SummaryMessage
from surveys.services import public_messages
from surveys.services.projects import opening, removal, sharing
from surveys.services.projects import service as projects
from surveys.services.responses import service as responses
from tests.support.chat.agent import labels_of, text_of
from tests.support.chat.world import HISTORY

pytestmark = pytest.mark.django_db

QUESTION = {"name": "a", "type": "single_punch", "prompt": "First?", "options": [{"value": "x"}]}
POLL = {"type": "poll", "settings": {"poll_results_mode": "public", "reveal_results": True}}
SURVEY = {"settings": {"reveal_results": True}}
WEB = {"audience": {"participation": "open_web", "response_channel": "web"}}
BAD_GATEWAY: tuple[int, str, dict[str, str]] = (502, "<html>", {})
POST = "POST /channels/"


def lose(chat, monkeypatch, loss):
    """The next message is posted, but its response is lost."""
    if loss == "cut":
        chat.platform.lost.append((POST, None))
    elif loss == "502":
        chat.platform.lost.append((POST, BAD_GATEWAY))
    else:
        change = posts.change

        def killed(row, **fields):
            if fields.get("message_id"):
                monkeypatch.setattr(posts, "change", change)
                raise RuntimeError("killed")
            change(row, **fields)

        monkeypatch.setattr(posts, "change", killed)


def later(chat, *, at=None):
    """The worker tries again, once the platform has forgotten the nonce."""
    chat.platform.forget_nonces()
    ChatTask.objects.filter(due_at__isnull=False).update(due_at=timezone.now())
    chat.work(at=at)


@pytest.mark.parametrize(("loss", "fields"), [("cut", {}), ("502", POLL), ("killed", {"delivery": WEB})])
def test_a_post_whose_answer_was_lost_is_not_posted_again(chat, monkeypatch, loss, fields):
    project = chat.create(QUESTION, **{key: value for key, value in fields.items() if key != "delivery"})
    changed = {"delivery": fields["delivery"]} if "delivery" in fields else None
    lose(chat, monkeypatch, loss)

    opening.open_project(actor=chat.actor, project_id=project.pk, fields=changed, at=timezone.now())
    with monkeypatch.context() as once:
        once.setattr("tests.support.chat.community.ROUNDS", 1)
        chat.work()
    assert PublicMessage.objects.get().message_id == ""
    later(chat)

    assert len(chat.platform.sent("POST", "/messages")) == 1
    assert list(chat.channel.messages) == [PublicMessage.objects.get().message_id]
    assert ChatTask.objects.get(kind=public_messages.SEND).status == "delivered"


@pytest.mark.parametrize(
    ("loss", "fields", "people"),
    [("502", SURVEY, 0), ("killed", POLL, 1)],
)
def test_a_summary_whose_answer_was_lost_is_not_posted_again(chat, monkeypatch, loss, fields, people):
    project = chat.open(QUESTION, **fields)
    posted = chat.message()
    for _ in range(people):
        agent = chat.agent()
        agent.press("x" if project.is_poll else "Answer", message=posted)
        if not project.is_poll:
            agent.press("x")
    lose(chat, monkeypatch, loss)

    opening.close_project(actor=chat.actor, project_id=project.pk, at=timezone.now())
    with monkeypatch.context() as once:
        once.setattr("tests.support.chat.community.ROUNDS", 1)
        chat.work()
    assert SummaryMessage.objects.get().message_id == ""
    later(chat)

    assert list(chat.channel.messages) == [posted["id"], SummaryMessage.objects.get().message_id]
    assert "Results: Club evening" in text_of(chat.message())
    assert len(chat.message()["attachments"]) == people


def test_a_project_that_closes_before_its_post_is_found_has_a_closed_post(chat, monkeypatch):
    project = chat.create(QUESTION)
    lose(chat, monkeypatch, "killed")
    opening.open_project(actor=chat.actor, project_id=project.pk, at=timezone.now())
    with monkeypatch.context() as once:
        once.setattr("tests.support.chat.community.ROUNDS", 1)
        chat.work()

    opening.close_project(actor=chat.actor, project_id=project.pk, at=timezone.now())
    later(chat)

    assert len(chat.channel.messages) == 1
    assert labels_of(chat.message()) == []


def test_a_project_that_closes_before_it_could_be_posted_is_not_posted(chat):
    chat.platform.is_down = True
    project = chat.open(QUESTION)
    chat.close(project)
    chat.platform.is_down = False

    later(chat)

    assert chat.channel.messages == {}
    assert not PublicMessage.objects.get().is_begun


def test_no_message_of_somebody_else_and_of_another_project_is_taken_for_ours(chat):
    other = chat.open(QUESTION)
    stranger = dict(chat.message(), id=chat.platform.world.new_id())
    stranger["author"] = {**stranger["author"], "id": "1"}
    chat.platform.is_down = True
    project = chat.open(QUESTION)
    chat.platform.is_down = False
    world, channel = chat.platform.world, chat.channel
    copied = dict(stranger, id=world.new_id(), components=world.changed({}, drawn(project))["components"])
    channel.messages |= {stranger["id"]: stranger, copied["id"]: copied}

    later(chat)

    assert len(chat.platform.sent("POST", "/messages")) == 2
    ids = {PublicMessage.objects.get(pk=each.pk).message_id for each in (other, project)}
    assert ids == {*channel.messages} - {stranger["id"], copied["id"]}


def drawn(project):
    return posting._invitation(Project.objects.get(pk=project.pk), timezone.now()).raw


@pytest.mark.parametrize("at_once", [10, 1])
def test_the_post_is_found_beneath_many_newer_messages(chat, monkeypatch, at_once):
    monkeypatch.setattr(posts, "PAGE", 3)
    monkeypatch.setattr(posts, "PAGES_AT_ONCE", at_once)
    project = chat.create(QUESTION)
    for _ in range(7):
        chat.channel.messages |= {chat.platform.world.new_id(): {}}
    chat.channel.messages = {
        each: {"id": each, "author": {"id": "5"}, "embeds": [], "components": []}
        for each in chat.channel.messages
    }
    lose(chat, monkeypatch, "502")
    opening.open_project(actor=chat.actor, project_id=project.pk, at=timezone.now())
    chat.work()
    for _ in range(3):
        assert len(chat.platform.sent("POST", "/messages")) == 1
        later(chat)

    assert len(chat.channel.messages) == 8
    assert chat.message()["id"] == PublicMessage.objects.get().message_id
    task = ChatTask.objects.get(kind=public_messages.SEND)
    assert (task.status, task.attempt_count) == ("delivered", 0)


def test_where_the_history_cannot_be_read_nothing_is_posted(chat):
    world = chat.platform.world
    world.bot_role.permissions &= ~HISTORY
    world.roles[world.guild_id].permissions &= ~HISTORY
    project = chat.create(QUESTION)
    opening.open_project(actor=chat.actor, project_id=project.pk, at=timezone.now())
    ChatInstallation.objects.update(snapshot_at=timezone.now() - timedelta(hours=1))
    chat.work()

    assert chat.channel.messages == {}
    assert "Read Message History" in ChatTask.objects.get(kind=public_messages.SEND).error


def test_a_worker_whose_lease_has_ended_posts_nothing(chat, monkeypatch):
    adopt = posts.adopt
    chat.platform.is_down = True
    chat.open(QUESTION)
    chat.platform.is_down = False

    def slow(row, marks):
        adopt(row, marks)
        ChatTask.objects.update(due_at=timezone.now() + outbox.LEASE)  # another worker has taken it

    monkeypatch.setattr(posts, "adopt", slow)
    chat.work()

    assert chat.channel.messages == {}


def test_every_message_in_a_channel_is_posted_here() -> None:
    found = [
        str(path)
        for app in ("communities", "surveys", "webhooks", "xp", "config")
        for path in Path(app).rglob("*.py")
        if re.search(r"/messages\b(?!/batches)", text := path.read_text()) and re.search(r"\"POST\"", text)
    ]

    assert found == ["surveys/chat/posts.py"]


# --- Posting again ------------------------------------------------------------------------------------------


def test_a_post_asked_for_while_the_worker_finds_the_old_one_deleted_is_made(chat, monkeypatch):
    project = chat.open(QUESTION)
    chat.channel.messages.clear()
    edit = posts.edit

    def at_the_same_time(row, content):
        is_there = edit(row, content)
        monkeypatch.setattr(posts, "edit", edit)
        opening.open_project(actor=chat.actor, project_id=project.pk, at=timezone.now())
        return is_there

    monkeypatch.setattr(posts, "edit", at_the_same_time)
    chat.close(project)

    assert labels_of(chat.message()) == ["Answer"]
    assert not PublicMessage.objects.get().is_deleted


def test_post_again_pressed_while_the_worker_edits_is_not_lost(chat, monkeypatch):
    project = chat.open(QUESTION)
    chat.channel.messages.clear()
    projects.update_project(
        actor=chat.actor, project_id=project.pk, fields={"name": "Anew"}, at=timezone.now()
    )
    edit = posts.edit

    def another_worker_is_faster(row, content):
        monkeypatch.setattr(posts, "edit", edit)
        PublicMessage.objects.update(message_id="", posted_at=None, is_deleted=True)
        sharing.post_again(actor=chat.actor, project_id=project.pk, at=timezone.now())
        return edit(row, content)

    monkeypatch.setattr(posts, "edit", another_worker_is_faster)
    chat.work()

    assert labels_of(chat.message()) == ["Answer"]


def test_without_a_new_wish_a_deleted_post_stays_deleted(chat):
    project = chat.open(QUESTION)
    chat.channel.messages.clear()
    for name in ("Anew", "Once more"):
        fields = {"name": name}
        projects.update_project(actor=chat.actor, project_id=project.pk, fields=fields, at=timezone.now())
        chat.work()

    assert chat.channel.messages == {}
    sharing.post_again(actor=chat.actor, project_id=project.pk, at=timezone.now())
    chat.work()
    assert labels_of(chat.message()) == ["Answer"]


# --- Summaries follow deletions -----------------------------------------------------------------------------


def closed(chat, fields, *, names=("Marit", "Ola")):
    project = chat.open({**QUESTION, "options": [{"value": "x"}, {"value": "y"}]}, **fields)
    posted = chat.message()
    for name, answer in zip(names, "xy", strict=True):
        agent = chat.agent(name)
        if not project.is_poll:
            agent.press("Answer", message=posted)
        agent.press(answer, message=posted if project.is_poll else None)
    chat.close(project)
    return project


def delete_first(chat, project):
    response = Conversation.objects.filter(project=project).earliest("pk")
    responses.delete(response_id=response.pk, actor=chat.actor, at=timezone.now())


def minute_passes(chat):
    public_messages.ask_for_outdated_summaries(at=timezone.now())
    chat.work()


def test_posted_results_follow_deletions(chat):
    project = closed(chat, SURVEY)
    summary = chat.message()
    picture = chat.platform.files[-1][1]
    assert "x 50%, y 50%" in summary["attachments"][0]["description"]

    delete_first(chat, project)
    minute_passes(chat)

    assert len(chat.channel.messages) == 2
    assert len(summary["attachments"]) == 1
    assert "100%" in summary["attachments"][0]["description"]
    assert "of 2" not in text_of(summary)
    assert "2 answers" not in text_of(summary)
    assert chat.platform.files[-1][1] != picture

    delete_first(chat, project)
    minute_passes(chat)
    assert summary["attachments"] == []
    assert "image" not in summary["embeds"][0]


def test_results_that_have_not_changed_are_not_sent_again(chat):
    closed(chat, SURVEY)
    sent = len(chat.platform.requests)

    minute_passes(chat)

    assert len(chat.platform.requests) == sent


def test_figures_of_a_project_that_is_open_again_are_taken_back_until_it_closes(chat):
    project = closed(chat, SURVEY)
    summary = chat.message()
    # A summary belongs to the second in which its project was opened: the first was opened earlier.
    SummaryMessage.objects.update(opening=F("opening") - 60)
    chat.reopen(project)

    delete_first(chat, project)
    minute_passes(chat)
    assert "taken again" in text_of(summary)
    assert (summary["attachments"], "%" in text_of(summary)) == ([], False)

    chat.close(project)
    minute_passes(chat)
    assert "100%" in text_of(summary)
    assert SummaryMessage.objects.count() == 2


def test_the_messages_of_a_project_go_with_it(chat):
    project = closed(chat, POLL)
    assert len(chat.channel.messages) == 2

    removal.delete_for_now(actor=chat.actor, project_id=project.pk, at=timezone.now())
    removal.delete_overdue(at=timezone.now() + timedelta(minutes=11))
    ChatTask.objects.filter(kind=public_messages.REMOVE).update(due_at=timezone.now())
    chat.work()

    assert chat.channel.messages == {}
