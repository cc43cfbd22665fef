"""A reader of the feed of changes that maintains a copy, like a nightly job of a data team."""

from __future__ import annotations

from typing import Any

from surveys.services.ground import feed_order
from tests.support.caller import Caller
from tests.support.concurrency import wait_until

MOST_PAGES = 1_000


class Copy:
    """Responses by their id, updated by reading from the cursor of the last page."""

    def __init__(self, caller: Caller, project: dict[str, Any] | None = None, *, per_page: int = 25) -> None:
        self.caller = caller
        self.path = f"/projects/{project['id']}/responses/changes" if project else "/responses/changes"
        self.per_page = per_page
        self.cursor: str | None = None
        self.responses: dict[str, dict[str, Any]] = {}

    def read_page(self) -> tuple[list[dict[str, Any]], bool]:
        """Read one page into the copy. Returns its elements, and whether there are more pages."""
        query = f"?per_page={self.per_page}" + (f"&cursor={self.cursor}" if self.cursor else "")
        answer = self.caller.get(self.path + query)
        assert answer.status_code == 200, answer.content
        page = answer.json()
        for each in page["data"]:
            if each.get("deleted"):
                self.responses.pop(each["id"], None)
            else:
                self.responses[each["id"]] = each
        self.cursor = page["cursor"]
        return page["data"], page["has_more"]

    def read(self, *, waits: bool = True) -> list[dict[str, Any]]:
        """Read all new changes, page by page.

        `waits` for every transaction that is open now, including the server's own: the feed holds back later
        changes until they end.
        """
        if waits:
            last = feed_order.now().next
            wait_until(lambda: feed_order.now().open >= last)
        elements: list[dict[str, Any]] = []
        for _ in range(MOST_PAGES):
            page, has_more = self.read_page()
            elements += page
            if not has_more:
                return elements
        raise AssertionError("The feed has no end.")


def source(caller: Caller, project: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The responses of a project, as the listing returns them."""
    responses: dict[str, dict[str, Any]] = {}
    query = ""
    while True:
        page = caller.get(f"/projects/{project['id']}/responses?per_page=100{query}").json()
        responses |= {each["id"]: each for each in page["data"]}
        if not page["pagination"]["has_more"]:
            return responses
        query = f"&after={page['data'][-1]['id']}"
