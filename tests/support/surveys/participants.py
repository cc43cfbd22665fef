"""Members who answer over the interface, and their earnings."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.utils import timezone

from surveys.services.conversations import gifts
from tests.factories import MemberFactory
from tests.support.caller import Caller

XP_BLOCK: dict[str, Any] = {
    "type": "action_block",
    "prompt": "You get [xp_points] [xp_name].",
    "action_kind": "give_xp",
    "action_config": {"xp_amount": 50},
}
QUESTION: dict[str, Any] = {
    "type": "single_punch",
    "prompt": "Which?",
    "required": True,
    "options": [{"value": "red"}, {"value": "green"}],
}


def giving(kind: str = "give_xp", *, prompt: str = "Here you are.", **config: Any) -> dict[str, Any]:
    """An action block."""
    return {"type": "action_block", "prompt": prompt, "action_kind": kind, "action_config": config}


def a_member(caller: Caller, name: str = "Ann") -> str:
    """A new member's id."""
    return str(MemberFactory.create(community=caller.community, user__name=name).pk)


def once_the_hour_is_over() -> None:
    """Give all gifts that anonymous moves have stored so far, also those that wait for a day."""
    gifts.settle(at=timezone.now() + timedelta(days=1))


class Talk:
    """One participant's conversation over the interface. `told` is the latest response."""

    def __init__(self, caller: Caller, project: dict[str, Any], **who: Any) -> None:
        self.caller, self.project = caller, project
        self.told: Any = None
        self.begin(**who)

    def begin(self, **who: Any) -> Any:
        answer = self.caller.post(f"/projects/{self.project['id']}/conversations", who)
        assert answer.status_code in (200, 201), answer.content
        self.told = answer.json()
        return self.told

    @property
    def path(self) -> str:
        return f"/conversations/{self.told['id']}"

    @property
    def block(self) -> Any:
        return self.told["step"]["block"]

    @property
    def prompt(self) -> str:
        return str(self.block["prompt"])

    def answer(self, value: object = "red", **headers: str) -> Any:
        body = {"block_id": self.block["id"], "value": value}
        return self._moved(self.caller.post(f"{self.path}/answers", body, **headers))

    def go_on(self, **headers: str) -> Any:
        return self._moved(self.caller.post(f"{self.path}/continue", **headers))

    def back(self) -> Any:
        return self._moved(self.caller.post(f"{self.path}/back"))

    def through(self, value: object = "red") -> Any:
        """Answer every question with the same value, to the end."""
        while self.told["step"] is not None:
            if self.block["type"] in ("content_block", "action_block"):
                self.go_on()
            else:
                self.answer(value)
        return self.told

    def _moved(self, answer: Any) -> Any:
        assert answer.status_code == 200, answer.content
        self.told = answer.json()
        return self.told


def ledger(caller: Caller, member_id: str) -> list[dict[str, Any]]:
    """A member's entries, oldest first."""
    answer = caller.get(f"/members/{member_id}/xp?per_page=100")
    assert answer.status_code == 200, answer.content
    return list(reversed(answer.json()["data"]))


def deltas(caller: Caller, member_id: str) -> list[tuple[str, int]]:
    return [(entry["source_kind"], entry["delta"]) for entry in ledger(caller, member_id)]


def standing(caller: Caller, member_id: str) -> dict[str, Any]:
    answer = caller.get(f"/members/{member_id}")
    assert answer.status_code == 200, answer.content
    return answer.json()
