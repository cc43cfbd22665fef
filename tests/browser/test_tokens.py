"""A page of another site leads a conversation with a token, in a browser that enforces what pages may do."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Page, Route

from tests.support.caller import CHOICE, TEXT, Caller

pytestmark = pytest.mark.django_db(transaction=True)
SHOP = "https://shop.example"
# Asks the interface as any page would, and returns what the page may read of the answer.
ASK = """async ([address, token, method, body, headers]) => {
    const all = { "Content-Type": "application/json", ...headers };
    if (token) all.Authorization = `Bearer ${token}`;
    try {
        const answer = await fetch(address, { method, headers: all, body: body && JSON.stringify(body) });
        const limit = answer.headers.get("X-RateLimit-Limit");
        return { status: answer.status, body: await answer.json(), limit };
    } catch (error) {
        return { error: error.name };
    }
}"""


class Shop:
    """A page of the site, and the conversation that its server has begun."""

    def __init__(self, page: Page, address: str, caller: Caller, *, origin: str = SHOP) -> None:
        made = caller.make_open(CHOICE, TEXT, delivery={"audience": {"participation": "open_web"}})
        self.step: Any = caller.post(f"/projects/{made['id']}/conversations", {}).json()
        self.token = caller.post(f"/conversations/{self.step['id']}/tokens", {}).json()["token"]
        self.community = f"{address}/v1/communities/{caller.community.pk}"
        self.page = page
        page.route(f"{origin}/", _serve)
        # The interface of this test is on the machine of the browser, which asks before it connects there.
        page.context.grant_permissions(["local-network-access"], origin=origin)
        page.goto(f"{origin}/")
        page.unroute(f"{origin}/")  # While Playwright looks at requests, it answers preflights itself.

    def ask(self, method: str, path: str = "", body: Any = None, **headers: str) -> Any:
        address = f"{self.community}/conversations/{self.step['id']}{path}"
        return self.page.evaluate(ASK, [address, self.token, method, body, headers])


def _serve(route: Route) -> None:
    route.fulfill(content_type="text/html", body="<!doctype html><title>Shop</title>")


def _expect_refusals(windows: Any, count: int) -> None:
    """The browser's own reports of what it kept from pages, which are complaints elsewhere."""
    reports = [each for each in windows.complaints if "has been blocked by CORS policy" in each]
    assert len(reports) == count
    windows.complaints[:] = [each for each in windows.complaints if each not in reports]


def test_a_page_of_a_named_site_leads_a_conversation(windows: Any) -> None:
    """Rules 11.90 and 11.94."""
    caller = Caller()
    caller.patch("/settings", {"allowed_origins": [SHOP]})
    shop = Shop(windows.open(), windows.address, caller)
    block = shop.step["step"]["block"]

    read = shop.ask("GET")
    wrong = shop.ask("POST", "/answers", {"block_id": block["id"], "value": "mauve"})
    sent = {"block_id": block["id"], "option_id": block["options"][0]["id"]}
    answered = shop.ask("POST", "/answers", sent, **{"Idempotency-Key": "first"})
    back = shop.ask("POST", "/back", {})
    again = shop.ask("POST", "/answers", sent)
    text = {"block_id": again["body"]["step"]["block"]["id"], "value": "Because."}
    last = shop.ask("POST", "/answers", text)
    late = shop.ask("GET")

    assert (read["status"], read["body"]["step"], read["limit"]) == (200, shop.step["step"], "60")
    assert (wrong["status"], wrong["body"]["violations"][0]["field"]) == (400, "value")
    assert [each["status"] for each in (answered, back, again, last, late)] == [200, 200, 200, 200, 401]
    assert last["body"]["status"] == "completed"
    assert shop.page.context.cookies() == []
    (response,) = caller.get(f"/projects/{shop.step['project_id']}/responses").json()["data"]
    assert [each["value"] for each in response["answers"]] == ["red", "Because."]


def test_a_page_of_a_site_that_is_not_named_reads_and_writes_nothing(windows: Any) -> None:
    """Rule 11.94."""
    caller = Caller()
    caller.patch("/settings", {"allowed_origins": [SHOP]})
    shop = Shop(windows.open(), windows.address, caller, origin="https://other.example")
    block = shop.step["step"]["block"]

    sent = {"block_id": block["id"], "option_id": block["options"][0]["id"]}
    answers = [shop.ask("GET"), shop.ask("POST", "/answers", sent)]

    assert answers == [{"error": "TypeError"}] * 2
    _expect_refusals(windows, 2)
    assert caller.get(f"/conversations/{shop.step['id']}").json()["step"] == shop.step["step"]


def test_a_page_with_an_api_key_is_kept_from_the_interface(windows: Any) -> None:
    """Rule 11.95."""
    caller = Caller()
    caller.patch("/settings", {"allowed_origins": [SHOP]})
    shop = Shop(windows.open(), windows.address, caller)
    shop.token = ""

    read = shop.ask("GET", **{"X-API-Key": caller.secret})
    settings = shop.page.evaluate(
        ASK, [f"{shop.community}/settings", "", "GET", None, {"X-API-Key": caller.secret}]
    )

    assert [read, settings] == [{"error": "TypeError"}] * 2
    _expect_refusals(windows, 2)
