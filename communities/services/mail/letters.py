"""The layout of mails: the same words as plain text and as simple HTML, in the design of our pages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from django.template import engines

from communities.services.mail.mails import Message


@dataclass(frozen=True, slots=True)
class Letter:
    """A mail to one person: paragraphs, one thing to do, facts, and small print at the end."""

    subject: str
    paragraphs: Sequence[str]
    action: tuple[str, str] | None = None
    """A label and an address."""
    facts: Sequence[tuple[str, str]] = ()
    closing: Sequence[str] = ()
    headers: Mapping[str, str] = field(default_factory=dict)


def compose(letter: Letter, *, to: str) -> Message:
    """Render a letter as a mail."""
    subject = " ".join(letter.subject.split())  # A header has one line.
    context = {"letter": letter, "subject": subject}
    text = engines["jinja2"].get_template("account/email/letter.txt").render(context)
    html = engines["jinja2"].get_template("account/email/letter.html").render(context)
    return Message(to, subject, text, html, letter.headers)
