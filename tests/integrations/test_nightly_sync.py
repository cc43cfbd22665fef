"""An integration: a nightly sync of all responses into the integrator's own table, only by the feed."""

from __future__ import annotations

from itertools import chain, islice

import pytest

from colloquy_client import Colloquy, api
from colloquy_client.types import ConversationRequest, Response
from communities.models import Member
from tests.support.caller import CHOICE, TEXT, Caller

pytestmark = pytest.mark.django_db(transaction=True)  # the feed reads what other transactions have committed
WEB = {"delivery": {"audience": {"participation": "open_web"}}}


class Sync:
    """Keeps `table` like the source. All that it remembers between two nights is the cursor."""

    def __init__(self, colloquy: Colloquy) -> None:
        self._colloquy = colloquy
        self.table: dict[str, Response] = {}
        self.cursor: str | None = None

    def run(self, *, pages: int | None = None) -> None:
        """Read on from the cursor, one row a page, so that a run can stop anywhere."""
        feed = self._colloquy.pages(api.responses_all_changes(cursor=self.cursor, per_page=1))
        for page in islice(feed, pages):
            for change in page["data"]:
                if "deleted" in change:
                    self.table.pop(change["id"], None)
                else:
                    self.table[change["id"]] = change
            self.cursor = page["cursor"]


def source(colloquy: Colloquy, *project_ids: str) -> dict[str, Response]:
    lists = [colloquy.each(api.responses_list(each)) for each in project_ids]
    return {row["id"]: row for row in chain.from_iterable(lists)}


def respond(
    colloquy: Colloquy, project_id: str, value: str, person: ConversationRequest, *, completes: bool = True
) -> str:
    begun = colloquy.send(api.conversations_begin(project_id, person))
    for answer in [value, "Because."] if completes else [value]:
        assert begun["step"]
        block_id = begun["step"]["block"]["id"]
        begun = colloquy.send(api.conversations_answer(begun["id"], {"block_id": block_id, "value": answer}))
    return begun["id"]


def test_a_sync_follows_answers_votes_deletions_and_erasures_night_by_night():
    caller = Caller("admin")
    survey = caller.make_open(CHOICE, TEXT, **WEB)["id"]
    poll = caller.make_open(CHOICE, type="poll", settings={"change_poll": True}, **WEB)["id"]
    colloquy = caller.colloquy()
    sync = Sync(colloquy)
    member = caller.beside("member")
    member_id = str(Member.objects.get(user=member.user).pk)

    partial = respond(colloquy, survey, "red", {"external_id": "C-1"}, completes=False)
    gone = respond(colloquy, survey, "green", {})
    erased = respond(colloquy, survey, "blue", {"member_id": member_id})
    vote = respond(colloquy, poll, "red", {"external_id": "C-1"}, completes=False)
    sync.run(pages=2)  # the first night was cut short
    sync.run()
    assert sync.table == source(colloquy, survey, poll)
    assert set(sync.table) == {partial, gone, erased, vote}

    colloquy.send(api.responses_delete(gone))
    colloquy.send(api.members_data_erase(member_id))
    again = colloquy.send(api.conversations_begin(poll, {"external_id": "C-1"}))
    colloquy.send(api.conversations_back(again["id"]))
    assert respond(colloquy, poll, "green", {"external_id": "C-1"}, completes=False) == vote
    sync.run()

    assert sync.table == source(colloquy, survey, poll)
    assert gone not in sync.table
    assert sync.table[erased]["user_id"] is None
    assert [each["value"] for each in sync.table[vote]["answers"]] == ["green"]
    before = sync.cursor
    sync.run()
    assert sync.table == source(colloquy, survey, poll)
    assert before is not None
