"""Every interaction is answered before the platform gives up, whatever else is slow."""

import json
import time
from contextlib import contextmanager
from types import SimpleNamespace

import pytest
from django.db import connection, connections

from communities.chat_platform.references import Op
from communities.ground import redis_connection
from surveys.chat import commands, deadline, moves, views, words
from surveys.models import Conversation
from surveys.services.conversations import service as conversations
from tests.support.chat.agent import signed
from tests.support.chat.community import through_django

OPTIONS = [{"value": "x"}, {"value": "y"}]
CHOICE = {"type": "single_punch", "prompt": "Which?", "options": OPTIONS}
BLOCKS = [
    {"name": "hello", "type": "content_block", "prompt": "Hello."},
    {**CHOICE, "name": "button"},
    {**CHOICE, "name": "menu", "answer_style": "select_menu"},
    {**CHOICE, "name": "many", "type": "multi_punch"},
    {**CHOICE, "name": "order", "type": "ranking"},
    {"name": "text", "type": "open_text", "prompt": "Why?"},
]
INVITATION = {"embed_config": {"info_display": "button"}}
POLL = {"type": "poll", "settings": {"poll_results_mode": "public", "change_poll": True}}
UNUSED = {Op.SHOW}  # stands in messages of before; it draws the conversation, as all others do


@contextmanager
def noted(monkeypatch):
    """Which operations and commands were used meanwhile."""
    used: set[object] = set()

    def recording(key, handler):
        def handle(*args):
            used.add(key)
            return handler(*args)

        return handle

    with monkeypatch.context() as patched:
        for module, table in ((moves, "_HANDLERS"), (commands, "_COMMANDS")):
            handlers = {key: recording(key, each) for key, each in getattr(module, table).items()}
            patched.setattr(module, table, handlers)
        yield used


def use_everything(chat, send):
    """One person uses each kind of button, menu, window and command once."""
    chat.open(*BLOCKS, invitation=INVITATION)
    survey = chat.message()
    chat.open(CHOICE, **POLL)
    poll, marit = chat.message(), chat.agent()
    chat.open(CHOICE, name="With consent", settings={"consent": "I agree."})
    asks_consent = chat.message()
    with_other = [{"value": "x"}, {"value": "Other", "is_other": True}]
    chat.open({**CHOICE, "options": with_other}, name="Own words", **POLL)
    own_words = chat.message()
    marit.send = send
    marit.press("Answer", message=asks_consent)
    marit.press("I agree")
    marit.press("Info", message=survey)
    marit.press("Answer", message=survey)
    marit.press("Okay")
    marit.press("Back")
    marit.press("Okay")
    marit.press("x")
    marit.choose("x")
    marit.press("x")
    marit.press("Submit (1)")
    marit.press("x")
    marit.press("Undo")
    marit.press("Skip")
    marit.press("Write answer")
    marit.write("Because.")
    marit.press("Answer again")
    marit.press("x", message=poll)
    marit.press("Change my vote")
    marit.press("y")
    marit.press("Take my vote back")
    marit.press("Other", message=own_words)
    marit.write("Tea.")
    for name in commands._COMMANDS:
        marit.command(name, chat.channel)


def fresh(chat, body):
    """The same interaction with a new id."""
    raw = json.loads(body)
    raw["id"] = chat.platform.world.new_id()
    return json.dumps(raw).encode()


@pytest.mark.django_db
def test_every_interaction_is_bounded_and_waits_for_no_platform(chat, monkeypatch):
    unbounded, asked = [], []

    def check(execute, sql, *more):
        if not sql.startswith(("SAVEPOINT", "RELEASE", "ROLLBACK", deadline._TIMEOUTS)):
            shown = "SELECT current_setting('lock_timeout'), current_setting('statement_timeout')"
            limits = connection.connection.execute(shown).fetchone()
            unbounded.extend([sql] if "0" in limits or limits[0].endswith("10s") else [])
        return execute(sql, *more)

    def send(body, headers):
        connection.cursor().execute(deadline._TIMEOUTS, ["0", "0"])  # the test is one transaction
        before = len(chat.platform.requests)
        with connection.execute_wrapper(check):
            answer = through_django(body, headers)
        asked.extend(chat.platform.requests[before:])
        return answer

    with noted(monkeypatch) as used:
        use_everything(chat, send)

    assert used == {*Op, *commands._COMMANDS} - UNUSED
    assert (unbounded, asked) == ([], [])


@pytest.mark.long
@pytest.mark.django_db(transaction=True)
def test_every_interaction_is_answered_while_somebody_holds_the_tables(chat, monkeypatch):
    sent: list[bytes] = []
    answers = []

    def send(body, headers):
        sent.append(body)
        return through_django(body, headers)

    use_everything(chat, send)
    redis_connection.client().flushdb()
    monkeypatch.setattr(views, "MOST_CLICKS", 1000)
    monkeypatch.setattr(deadline, "LONGEST_STATEMENT", 0.05)
    tables = ", ".join(
        each
        for each in connection.introspection.table_names()
        if each.startswith(("surveys_", "commun", "xp_"))
    )
    other = connections["default"].copy("other")
    try:
        other.set_autocommit(False)
        other.cursor().execute(f"LOCK TABLE {tables} IN ACCESS EXCLUSIVE MODE")
        for body in sent:
            redis_connection.client().flushdb()
            again = fresh(chat, body)
            answers.append(through_django(again, signed(chat.platform, again)))
        other.cursor().execute("SELECT 1")  # it holds them still
    finally:
        other.rollback()
        other.close()

    texts = {json.loads(body)["data"]["embeds"][0]["description"] for _, body in answers}
    assert ({status for status, _ in answers}, texts) == ({200}, {words.BUSY})


@pytest.mark.django_db
def test_no_statement_begins_that_might_not_end_in_time():
    with pytest.raises(deadline.TooLate), deadline.bounded(began=time.monotonic() - deadline.SECONDS):
        connection.cursor().execute("SELECT 1")

    connection.cursor().execute("SELECT 1")


@pytest.mark.django_db
def test_an_interaction_that_takes_too_long_is_answered_and_changes_nothing(chat, monkeypatch):
    chat.open(CHOICE)
    marit = chat.agent()
    begin = conversations.begin

    def slow(**arguments):
        view = begin(**arguments)
        monkeypatch.setattr(deadline, "time", SimpleNamespace(monotonic=lambda: float("inf")))
        return view

    monkeypatch.setattr(conversations, "begin", slow)
    marit.press("Answer", message=chat.message())

    assert marit.text == words.BUSY
    assert not Conversation.objects.exists()
