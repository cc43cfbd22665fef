"""An integration: a nightly sync of all responses into the integrator's own table, only by the feed."""

from __future__ import annotations

from typing import Any

import pytest

from communities.models import Member
from tests.support.caller import CHOICE, TEXT, Caller

pytestmark = pytest.mark.django_db(transaction=True)  # the feed reads what other transactions have committed
WEB = {"delivery": {"audience": {"participation": "open_web"}}}


class Sync:
    """Keeps `table` like the source. All that it remembers between two nights is the cursor."""

    def __init__(self, caller: Caller) -> None:
        self._caller = caller
        self.table: dict[str, dict[str, Any]] = {}
        self.cursor: str | None = None

    def run(self, *, pages: int = 1000) -> None:
        """Read on from the cursor, one row a page, so that a run can stop anywhere."""
        for _ in range(pages):
            query = f"?per_page=1&cursor={self.cursor}" if self.cursor else "?per_page=1"
            page = self._caller.get(f"/responses/changes{query}").json()
            for row in page["data"]:
                if row.get("deleted"):
                    self.table.pop(row["id"], None)
                else:
                    self.table[row["id"]] = row
            self.cursor = page["cursor"]
            if not page["has_more"]:
                return


def source(caller: Caller, *project_ids: str) -> dict[str, dict[str, Any]]:
    rows = [
        row
        for each in project_ids
        for row in caller.get(f"/projects/{each}/responses?per_page=100").json()["data"]
    ]
    return {row["id"]: row for row in rows}


def respond(caller: Caller, project_id: str, value: str, *, completes: bool = True, **who: str) -> str:
    begun = caller.post(f"/projects/{project_id}/conversations", who).json()
    address = f"/conversations/{begun['id']}/answers"
    first = caller.post(address, {"block_id": begun["step"]["block"]["id"], "value": value}).json()
    if completes:
        caller.post(address, {"block_id": first["step"]["block"]["id"], "value": "Because."})
    return begun["id"]


def test_a_sync_follows_answers_votes_deletions_and_erasures_night_by_night():
    caller = Caller("admin")
    survey = caller.make_open(CHOICE, TEXT, **WEB)["id"]
    poll = caller.make_open(CHOICE, type="poll", settings={"change_poll": True}, **WEB)["id"]
    sync = Sync(caller)
    member = caller.beside("member")
    member_id = str(Member.objects.get(user=member.user).pk)

    partial = respond(caller, survey, "red", completes=False, external_id="C-1")
    gone = respond(caller, survey, "green")
    erased = respond(caller, survey, "blue", member_id=member_id)
    vote = respond(caller, poll, "red", completes=False, external_id="C-1")
    sync.run(pages=2)  # the first night was cut short
    sync.run()
    assert sync.table == source(caller, survey, poll)
    assert set(sync.table) == {partial, gone, erased, vote}

    caller.delete(f"/responses/{gone}")
    assert caller.delete(f"/members/{member_id}/data").status_code == 204
    again = caller.post(f"/projects/{poll}/conversations", {"external_id": "C-1"}).json()
    reopened = caller.post(f"/conversations/{again['id']}/back").json()
    body = {"block_id": reopened["step"]["block"]["id"], "value": "green"}
    assert caller.post(f"/conversations/{vote}/answers", body).status_code == 200
    sync.run()

    assert sync.table == source(caller, survey, poll)
    assert gone not in sync.table
    assert sync.table[erased]["user_id"] is None
    assert [each["value"] for each in sync.table[vote]["answers"]] == ["green"]
    before = sync.cursor
    sync.run()
    assert sync.table == source(caller, survey, poll)
    assert before is not None
