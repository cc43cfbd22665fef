"""Mails in the outbox: sent, retried or given up. Afterwards their contents are erased."""

from __future__ import annotations

import os
import socket
import socketserver
import stat
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from django.db import connection
from pytest_django import Settings
from structlog.testing import capture_logs

from communities.ground.mail_addresses import keyed_hash
from communities.models import Mail, Member
from communities.services.mail import mails, recipients
from communities.services.mail.mails import Message
from config import environment
from tests.factories import MemberFactory
from tests.support.moments import NOON

pytestmark = pytest.mark.django_db
KIND = "api_key_notice"
HELLO = Message("ada@example.org", "Hello", "A secret link.", "<p>A secret link.</p>")


class Server(socketserver.ThreadingTCPServer):
    """A mail server of the few commands that a client needs. It stores the received mails."""

    allow_reuse_address = daemon_threads = True
    refuses = False

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Talk)
        self.received: list[str] = []
        self.connections = 0
        self.before_it_keeps: Callable[[], None] = lambda: None


class Talk(socketserver.StreamRequestHandler):
    server: Server

    def handle(self) -> None:
        self.server.connections += 1
        self.wfile.write(b"220 ready\r\n")
        while line := self.rfile.readline():
            command = line[:4].upper()
            if command == b"DATA":
                self.wfile.write(b"354 go on\r\n")
                lines = []
                while (part := self.rfile.readline()) != b".\r\n":
                    lines.append(part.decode())
                self.server.received.append("".join(lines))
                self.server.before_it_keeps()
                self.wfile.write(b"250 kept\r\n")
            elif command == b"RCPT" and self.server.refuses:
                self.wfile.write(b"451 later\r\n")
            elif command == b"QUIT":
                self.wfile.write(b"221 bye\r\n")
                return
            else:
                self.wfile.write(b"250 ok\r\n")


@pytest.fixture
def server(settings: Settings) -> Iterator[Server]:
    with Server() as server:
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
        settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", server.server_address[1]
        yield server
        server.shutdown()


def written(to: str = HELLO.to) -> Mail:
    return mails.write(replace(HELLO, to=to), kind=KIND, at=NOON)


def test_a_mail_is_sent_once_and_erased(server: Server) -> None:
    mail = written()
    counts = [mails.send_due(at=NOON), mails.send_due(at=NOON)]
    mail.refresh_from_db()

    assert counts == [1, 0]
    assert len(server.received) == 1
    assert "A secret link." in server.received[0]
    assert (mail.status, mail.sealed, mail.due_at) == ("sent", None, None)


def test_a_mail_that_is_refused_is_tried_again_and_then_given_up(server: Server) -> None:
    mail, at = written(), NOON
    server.refuses = True
    for wait in mails.WAITS:
        assert mails.send_due(at=at) == 0
        mail.refresh_from_db()
        assert (mail.status, mail.due_at) == ("failed", at + wait)
        at += wait
    mails.send_due(at=at)
    mail.refresh_from_db()

    assert (mail.status, mail.sealed, mail.due_at) == ("abandoned", None, None)
    assert "451" in mail.last_error


def test_no_other_worker_sends_a_mail_while_its_lease_lasts(server: Server) -> None:
    written()
    mails._lease(NOON, until=NOON + mails.LEASE)

    assert mails.send_due(at=NOON + mails.LEASE - timedelta(seconds=1)) == 0
    assert mails.send_due(at=NOON + mails.LEASE) == 1


def test_a_server_that_is_down_costs_an_attempt(settings: Settings) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", port
    mail = written()
    mails.send_due(at=NOON)
    mail.refresh_from_db()

    assert (mail.status, mail.attempt_count) == ("failed", 1)


def test_a_mail_that_cannot_be_built_is_given_up_and_the_others_go_out(
    server: Server,
) -> None:
    faulty = written(f"a@{'ü' * 60}.com")
    good = written()

    with capture_logs() as log:
        assert mails.send_due(at=NOON) == 1

    faulty.refresh_from_db()
    good.refresh_from_db()
    assert (faulty.status, faulty.sealed, faulty.due_at) == ("abandoned", None, None)
    assert (faulty.last_error, good.status) == ("UnicodeError", "sent")
    assert [(entry["event"], entry["kind"]) for entry in log] == [("mails.cannot_be_sent", KIND)]
    assert "ü" not in str(log)


def test_mails_share_one_connection(server: Server) -> None:
    for _ in range(3):
        written()

    assert mails.send_due(at=NOON) == 3
    assert (server.connections, len(server.received)) == (1, 3)


@pytest.mark.django_db(transaction=True)
def test_a_mail_is_leased_only_when_its_turn_comes(server: Server) -> None:
    """While a slow server takes the first mail, another worker sends the second, and neither sends both."""
    written()
    written()
    other: list[int] = []

    def meanwhile() -> None:
        server.before_it_keeps = lambda: None
        try:
            other.append(mails.send_due(at=NOON))
        finally:
            connection.close()  # this thread's own

    server.before_it_keeps = meanwhile

    assert mails.send_due(at=NOON) == 1
    assert other == [1]
    assert len(server.received) == 2


def test_a_worker_whose_lease_was_taken_over_changes_nothing(server: Server) -> None:
    mail = written()
    leased = mails._lease(NOON, until=NOON + mails.LEASE)
    assert leased is not None
    later = NOON + mails.LEASE
    mails._lease(later, until=later + mails.LEASE)

    mails._fail(leased, OSError("late"), at=NOON)
    mails._end(leased, status=Mail.Status.ABANDONED)

    mail.refresh_from_db()
    assert (mail.status, mail.due_at) == ("pending", later + mails.LEASE)


def test_after_a_minute_another_task_goes_on(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    written()
    written()
    woken: list[str] = []
    monkeypatch.setattr(mails, "SECONDS_AT_ONCE", -1.0)
    monkeypatch.setattr("communities.ground.queue.wake", woken.append)

    assert mails.send_due(at=NOON) == 0
    assert woken == [mails.SEND]
    assert Mail.objects.filter(due_at=NOON).count() == 2


def test_settings_that_cannot_work_cost_an_attempt_and_not_the_mail(
    server: Server, settings: Settings
) -> None:
    settings.EMAIL_HOST = "ü" * 70
    mail = written()
    mails.send_due(at=NOON)
    mail.refresh_from_db()

    assert (mail.status, mail.attempt_count) == ("failed", 1)


@pytest.mark.parametrize("refuses", ["nobody", "the address", "the member"])
def test_a_mail_that_waits_is_not_sent_after_its_reader_has_unsubscribed(
    server: Server, refuses: str
) -> None:
    member = MemberFactory.create()
    mail = mails.write(
        HELLO,
        kind="personal_link:17",
        at=NOON,
        community_id=member.community_id,
        user_id=member.user_id,
    )
    if refuses == "the address":
        recipients.refuse_mails(
            recipients.Reader(member.community_id, 0, keyed_hash(HELLO.to, community_id=member.community_id)),
            at=NOON,
        )
    elif refuses == "the member":
        Member.objects.update(mail_refused_at=NOON)
    mails.send_due(at=NOON)
    mail.refresh_from_db()

    assert len(server.received) == (refuses == "nobody")
    assert mail.status == ("sent" if refuses == "nobody" else "abandoned")
    assert mail.sealed is None


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("ada@example.org", " Ada@EXAMPLE.org"),
        ("ada@example.org", '"ada"@example.org'),
        ("ada@bücher.example", "ada@xn--bcher-kva.example"),
        ("ada@BÜCHER.example", "ada@bücher.example"),
    ],
)
def test_an_address_has_one_hash_in_all_spellings(one: str, other: str) -> None:
    assert keyed_hash(one, community_id=1) == keyed_hash(other, community_id=1)
    assert keyed_hash(one, community_id=1) != keyed_hash(one, community_id=2)
    assert keyed_hash(one, community_id=1) != keyed_hash(f"b{one}", community_id=1)


def test_mails_as_files_are_for_this_account_alone(settings: Settings, tmp_path: Path) -> None:
    """Rule 12.9."""
    folder = tmp_path / "mail"
    folder.mkdir(mode=0o755)
    for name, value in environment.django_mail("", folder=folder).items():
        setattr(settings, name, value)
    written()
    umask = os.umask(0)
    try:
        assert mails.send_due(at=NOON) == 1
    finally:
        os.umask(umask)

    (file,) = folder.iterdir()
    assert b"A secret link." in file.read_bytes()
    assert (stat.S_IMODE(folder.stat().st_mode), stat.S_IMODE(file.stat().st_mode)) == (0o700, 0o600)
