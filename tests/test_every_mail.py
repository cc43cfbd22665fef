"""Every kind of mail: the reason for sending it, and its text for people who have not requested it.

A new kind fails here until it is declared and has a row; so does a new module that writes mails.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone

from communities.accounts import wording
from communities.ground.actors import Actor
from communities.ground.errors import Conflict
from communities.models import ApiKey, Mail, MailSum, Member
from communities.services.api_keys import key_notices
from communities.services.chat import notices
from communities.services.inviting import invitations
from communities.services.mail import mails, recipients
from communities.services.mail.mails import Consent
from communities.services.people import account_security
from surveys.models import Project
from surveys.services.conversations import admission
from surveys.services.conversations import service as conversations
from surveys.services.links import mailing
from surveys.services.links.mailing import Choice, Who
from surveys.services.responses import copies
from tests.factories import ApiKeyFactory, CommunityFactory, CommunitySettingsFactory, MemberFactory
from tests.support.mails import confirm, written
from tests.support.surveys import scenario
from tests.support.surveys.personal_links import private
from tests.support.surveys.scenario import TEXT

pytestmark = pytest.mark.django_db
ROOT = Path(__file__).parent.parent
CLUB, EVIL, READER = "Harbour Chess Club", "win now at evil.example/x", "reader@example.org"


class Scene:
    """A community whose admin chose every text that they can choose to be an advertisement."""

    def __init__(self) -> None:
        self.community = CommunityFactory.create(name=CLUB)
        CommunitySettingsFactory.create(community=self.community)
        there: dict[str, Any] = {"community": self.community, "nick": EVIL}
        self.admin = MemberFactory.create(**there, access="admin", user__name=EVIL)
        self.reader = MemberFactory.create(**there, email=READER, user__name=EVIL, user__password="!")
        self.actor = Actor(self.admin.user_id, "admin", self.community.pk, "premium")
        self.key: ApiKey = ApiKeyFactory.create(community=self.community, user=self.reader.user, name=EVIL)

    def send_links(self, *, is_reminder: bool = False) -> None:
        project = Project.objects.filter(community=self.community).first() or self.project()
        choice = Choice(Who.NOT_BEGUN if is_reminder else Who.MEMBERS)
        what: dict[str, Any] = {"subject": EVIL, "text": EVIL, "at": timezone.now()}
        mailing.send(actor=self.actor, project_id=project.pk, choice=choice, **what)

    def remind(self) -> None:
        self.send_links()
        self.send_links(is_reminder=True)

    def project(self) -> Project:
        project = private(name=EVIL)
        Project.objects.filter(pk=project.pk).update(community=self.community)
        return project

    def invite(self, **fields: Any) -> None:
        what: dict[str, Any] = {"access": "member", "name": EVIL, "at": timezone.now()}
        invitations.invite(actor=self.actor, email=READER, **what, **fields)

    def invite_member(self) -> None:
        self.invite(member_id=self.reader.pk)

    def invite_again(self) -> None:
        self.invite()
        (open_one,) = invitations.open_invitations(community_id=self.community.pk, at=timezone.now())
        invitations.send_again(actor=self.actor, invitation_id=open_one.pk, at=timezone.now())

    def tell_of_key(self) -> None:
        key_notices.tell_of_new_key(self.key, at=timezone.now())

    def rotate(self) -> None:
        key_notices.tell_of_rotation(self.key, actor=self.actor, at=timezone.now())

    def end_sessions(self) -> None:
        account_security.end_sessions(by=self.admin.user, user=self.reader.user, at=timezone.now())

    def mail_answers(self, *, user_id: int | None = None) -> None:
        project = Project.objects.filter(community=self.community, mail_copy=True).first()
        project = project or self.answered()
        view = conversations.get(conversation_id=project.conversations.get().pk, at=timezone.now())
        copies.send(view, to=READER, user_id=user_id, at=timezone.now())

    def mail_own_answers(self) -> None:
        if copies.own_address(user_id=self.reader.user_id):
            self.mail_answers(user_id=self.reader.user_id)

    def answered(self) -> Project:
        """A project whose author and whose respondent wrote an advertisement."""
        made = scenario.project({**TEXT, "prompt": EVIL}, name=EVIL, mail_copy=True)
        Project.objects.filter(pk=made.pk).update(community=self.community)
        made.refresh_from_db()
        (block,) = scenario.script(made).blocks
        conversations.begin_with_move(
            project_id=made.pk,
            respondent=admission.visitor(visitor_id="v"),
            block_id=block.id or 0,
            raw={"block_id": block.id, "value": EVIL},
            at=timezone.now(),
        )
        return made

    def lose_the_bot(self) -> None:
        Member.objects.filter(pk=self.reader.pk).update(access="admin")
        notices.tell_of_removal(community_id=self.community.pk, at=timezone.now())


SENDERS: dict[str, list[Callable[[Scene], None]]] = {
    "personal_link": [Scene.send_links, Scene.remind],
    "answers_link": [Scene.mail_answers],
    "answers_copy": [Scene.mail_own_answers],
    "account/email/invitation": [Scene.invite, Scene.invite_member, Scene.invite_again],
    "api_key_notice": [Scene.tell_of_key, Scene.rotate],
    "account_security_notice": [Scene.end_sessions],
    "chat_removed_notice": [Scene.lose_the_bot],
}
OF_COMMUNITIES = {"answers_link", "personal_link", "account/email/invitation"}
WITHOUT_CONSENT = [(kind, send) for kind in sorted(OF_COMMUNITIES) for send in SENDERS[kind]]
TO_ACCOUNTS = [(kind, send) for kind in sorted(SENDERS.keys() - OF_COMMUNITIES) for send in SENDERS[kind]]
# Modules below the apps that call `mails.write`, beside `mails` itself.
WRITERS = {
    "communities/accounts/adapters.py",
    "communities/services/people/account_security.py",
    "communities/services/chat/notices.py",
    "communities/services/inviting/invitation_letters.py",
    "communities/services/api_keys/key_notices.py",
    "surveys/services/links/mailing.py",
    "surveys/services/responses/copies.py",
}


def test_every_kind_is_declared_with_its_consent_and_has_a_row() -> None:
    consents = mails.declared()

    assert consents.keys() == SENDERS.keys() | wording.LETTERS.keys()
    assert {kind for kind, consent in consents.items() if consent is Consent.NONE} == OF_COMMUNITIES
    of_accounts = {kind for kind, consent in consents.items() if consent is Consent.ASKED}
    assert of_accounts == wording.LETTERS.keys()


def test_no_other_module_writes_mails() -> None:
    apps = ("communities", "surveys", "webhooks", "xp", "config")
    files = [path for app in apps for path in (ROOT / app).rglob("*.py")]
    sending = ("mails.write(", "send_mail(", "EmailMessage(", "EmailMultiAlternatives(")
    found = {
        path.relative_to(ROOT).as_posix()
        for path in files
        if any(f" {call}" in path.read_text() or f".{call}" in path.read_text() for call in sending)
    }

    assert found - {"communities/services/mail/mails.py"} == WRITERS


def test_a_kind_that_is_not_declared_cannot_be_written() -> None:
    with pytest.raises(KeyError):
        mails.write(mails.Message(READER, "Hello", "Hello"), kind="anything", at=timezone.now())


@pytest.mark.parametrize(("kind", "send"), WITHOUT_CONSENT)
def test_a_stranger_reads_no_word_of_an_author_and_is_counted(
    kind: str, send: Callable[[Scene], None]
) -> None:
    scene = Scene()

    send(scene)

    sent = written(READER)
    assert sent
    assert Mail.objects.filter(kind__startswith=kind).count() == len(sent)
    for mail in sent:
        told = f"{mail['subject']} {mail['text']} {mail['html']} {mail['headers']}"
        assert CLUB in mail["subject"]
        assert "evil.example" not in told
        assert "List-Unsubscribe" in mail["headers"]
    assert MailSum.objects.get().mails == len(sent)


@pytest.mark.parametrize(("kind", "send"), WITHOUT_CONSENT)
def test_an_address_that_refused_gets_none_of_them(kind: str, send: Callable[[Scene], None]) -> None:
    scene = Scene()
    scene.send_links()
    (first,) = written(READER)
    reader = recipients.signed_reader(first["headers"]["List-Unsubscribe"].split("/mail/")[1].split("/")[0])
    assert reader is not None
    recipients.refuse_mails(reader, at=timezone.now())

    with suppress(Conflict):  # invitations say so, links go to the others
        send(scene)

    assert len(written(READER)) == 1


@pytest.mark.parametrize(("kind", "send"), WITHOUT_CONSENT)
def test_none_of_them_is_written_above_the_sum_of_the_day(
    kind: str, send: Callable[[Scene], None], settings: Any
) -> None:
    settings.UNCONFIRMED_MAILS_PER_COMMUNITY_AND_DAY = 0
    scene = Scene()

    with pytest.raises(Conflict, match="A community can send 0 mails a day"):
        send(scene)

    assert not Mail.objects.exists()


def test_who_confirmed_the_address_reads_the_authors_words_and_is_not_counted() -> None:
    scene = Scene()
    confirm(scene.reader)

    scene.send_links()

    assert written(READER)[0]["subject"] == EVIL
    assert not MailSum.objects.exclude(mails=0).exists()


def test_that_somebody_elses_account_confirmed_the_address_changes_nothing() -> None:
    """Otherwise the total would show an admin the addresses that have an account."""
    scene = Scene()
    confirm(MemberFactory.create(email=READER))

    scene.send_links()

    assert "evil.example" not in str(written(READER))
    assert MailSum.objects.get().mails == 1


@pytest.mark.parametrize(("kind", "send"), TO_ACCOUNTS)
def test_mails_about_accounts_go_to_confirmed_addresses_alone(
    kind: str, send: Callable[[Scene], None]
) -> None:
    scene = Scene()

    send(scene)
    assert not Mail.objects.exists()

    confirm(scene.reader)
    send(scene)
    assert [mail.kind for mail in Mail.objects.all()] == [kind]
