"""A browser without JavaScript: forms and cookies only."""

from __future__ import annotations

import hashlib
import html
import re
import uuid
from typing import Any, Self

from django.http import HttpResponse, HttpResponseBase
from django.test import Client

from surveys.models import Project
from surveys.pages.respondent import browsers


class Visitor:
    """Stores cookies and the last page's form.

    `page` is the last page's text, with entities resolved and without the language and direction of texts.
    """

    def __init__(self, project: Project, *, is_framed: bool = False, htmx: bool = False) -> None:
        self.client = Client(enforce_csrf_checks=True)
        self.address = f"/s/{project.slug}" + ("?embed=1" if is_framed else "")
        self.headers = {"HX-Request": "true"} if htmx else {}
        self.hidden: dict[str, str] = {}
        self.page = ""
        self.response: Any = HttpResponse()

    def look(self, more: str = "") -> Self:
        return self._take(self.client.get(self.address + more))

    def send(self, do: str = "answer", **fields: object) -> Self:
        """Send the form, and follow a redirect."""
        response = self.client.post(self.address, {**self.hidden, "do": do, **fields}, headers=self.headers)
        if response.status_code == 303:
            response = self.client.get(response["Location"])
        return self._take(response)

    def prove(self, do: str = "answer", **fields: object) -> Self:
        """Do the proof of work that the page asks for, as its script does, and send the form again."""
        task = dict(re.findall(r'data-(nonce|target|most)="([^"]*)"', self.page))
        numbers = range(int(task["most"]))
        found = next(number for number in numbers if _hash(task["nonce"], number) == task["target"])
        return self.send(do, found=found, **fields)

    def reckon(self, do: str = "answer", *, error: int = 0, **fields: object) -> Self:
        """Answer the small question of the page, as a person without scripts does."""
        numbers = ("two", "three", "four", "five", "six", "seven", "eight", "nine")
        [words] = re.findall(r"How much is (\w+) plus (\w+)\?", self.page)
        return self.send(do, sum=sum(numbers.index(word) + 2 for word in words) + error, **fields)

    @property
    def status(self) -> int:
        return self.response.status_code

    def has_control(self, written: str) -> bool:
        return re.search(written, self.page) is not None

    def _take(self, response: HttpResponseBase) -> Self:
        self.response = response
        source = self.response.content.decode()
        found = re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)"', source)
        self.hidden = {name: html.unescape(value) for name, value in found}
        self.page = html.unescape(re.sub(r'(<(?!html)[^>]*?)(?: lang="[^"]*")? dir="auto"', r"\1", source))
        return self


def _hash(nonce: str, number: int) -> str:
    return hashlib.sha256(f"{nonce}{number}".encode()).hexdigest()


def kept_id(visitor: Visitor) -> uuid.UUID | None:
    """The id of the conversation that the browser keeps."""
    slug = visitor.address.removeprefix("/s/").partition("?")[0]
    return browsers.unsealed_id(visitor.client.cookies[browsers.CONVERSATION].value, slug)
