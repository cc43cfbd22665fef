"""Tokens in the addresses of Markdown links (rules 6.192 and 6.193)."""

from __future__ import annotations

import time
from typing import Any

import pytest

from surveys.engine.language import piping
from tests.support.caller import Caller, faults
from tests.support.cases import try_each
from tests.support.surveys import scenario
from tests.support.surveys.participants import QUESTION
from tests.support.surveys.scenario import SAYING, TEXT
from tests.support.surveys.visitor import Visitor

BARE = "Go to https://example.com/?c=[colour]."
COLOUR = {**QUESTION, "name": "colour"}
LINK = "Go [there](https://example.com/?c=[colour])."


@try_each(
    ("text", "value", "filled"),
    [
        ("[a](https://x.example/?q=[q1])", "two words", "[a](https://x.example/?q=two%20words)"),
        ("[a](https://x.example/?q=[q1])", "a)b](", "[a](https://x.example/?q=a%29b%5D%28)"),
        ("[a](https://x.example[q1])", "@evil.example", "[a](https://x.example%40evil.example)"),
        ("[a](<https://x.example/(?q=[q1]>) [q1]", "a b", "[a](<https://x.example/(?q=a%20b>) a b"),
        ("[a](https://x.example/a_(b)?q=[q1])", "a b", "[a](https://x.example/a_(b)?q=a%20b)"),
        ("[see [q1]](https://x.example/?q=[q1])", "a b", "[see a b](https://x.example/?q=a%20b)"),
        ("[a](mailto:[q1])", "ann@x.example", "[a](mailto:ann@x.example)"),
        ("[a](https://x.example/?q=[q1|a friend])", "", "[a](https://x.example/?q=a%20friend)"),
        ("[there]([q1])", "https://evil.example", "[there](https%3A%2F%2Fevil.example)"),
        ("You chose [q1]([q1]), ([q1]).", "a b", "You chose a b(a b), (a b)."),
        ("[q1](or [q1]) [a](https://x.example/[q1])", "a b", "a b(or a b) [a](https://x.example/a%20b)"),
        ("[a](not closed [q1]", "a b", "[a](not closed a b"),
    ],
)
def test_values_in_addresses_are_percent_encoded(text: str, value: str, filled: str) -> None:
    """Rule 6.192."""
    assert piping.fill(text, {"q1": value}.get) == filled


@try_each("text", ["](" * 5_000, "[a](" * 2_500, "](<" * 3_000, "](a)(" * 2_000, "]([" * 3_000])
def test_many_beginnings_of_addresses_take_no_time(text: str) -> None:
    begun = time.perf_counter()
    piping.fill(f"{text}[q1]", {"q1": "x"}.get)
    assert time.perf_counter() - begun < 1


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("redis")
def test_a_page_links_to_the_encoded_address(settings: Any) -> None:
    """Rule 6.192."""
    settings.LEAST_SECONDS_TO_FIRST_ANSWER = 0
    made = scenario.project(TEXT, {**SAYING, "prompt": "Go [there](https://x.example/?q=[q1])."})

    page = Visitor(made).look().send(value="two (words)").page

    assert 'href="https://x.example/?q=two%20%28words%29"' in page


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    ("key", "link"),
    [
        ("prompt", LINK),
        ("description", BARE),
        ("prompt", "[colour](https://example.com/[colour])"),
        ("prompt", "https:/[colour]/example.com/[colour]"),
        ("prompt", "https:[colour|//]example.com/[colour]"),
    ],
)
def test_an_anonymous_project_has_no_token_in_the_address_of_a_link(key: str, link: str) -> None:
    """Rules 6.193 and 6.702."""
    caller = Caller()
    block: dict[str, Any] = {**SAYING, "prompt": "On.", "name": "on", key: link}
    fields = {"name": "x", "type": "convo", "script": {"blocks": [COLOUR, block]}}
    refused = caller.post("/projects", {**fields, "privacy_mode": "anonymous"})
    assert faults(refused) == {(f"script.blocks[1].{key}", "not_allowed")}

    made = caller.post("/projects", {**fields, "privacy_mode": "transparent"}).json()
    path = f"/projects/{made['id']}"
    refused = caller.patch(path, {"settings": {"privacy_mode": "anonymous"}})
    assert faults(refused) == {(f"script.blocks[1].{key}", "not_allowed")}

    words = (
        "You chose [colour]([colour]), [there](https://example.com)[colour], https://example.com [colour], "
    )
    words += "https:// [colour]."
    plain = {**block, key: words}
    assert caller.put(f"{path}/script", {"blocks": [COLOUR, plain]}).status_code == 200
    assert caller.patch(path, {"settings": {"privacy_mode": "anonymous"}}).status_code == 200
    refused = caller.put(f"{path}/script", {"blocks": [COLOUR, block]})
    assert faults(refused) == {(f"blocks[1].{key}", "not_allowed")}


@pytest.mark.django_db(transaction=True)
def test_the_words_of_an_end_and_the_thanks_have_none_either() -> None:
    """Rule 6.193."""
    caller = Caller()
    made = caller.make(COLOUR, privacy_mode="anonymous")
    path = f"/projects/{made['id']}"

    end = {"where": 'language = "en"', "message": LINK}
    refused = caller.patch(path, {"settings": {"ends": [end]}})
    assert faults(refused) == {("settings.ends[0].message", "not_allowed")}

    *_, thanks = caller.get(f"{path}/script").json()["blocks"]
    refused = caller.patch(f"{path}/script/blocks/{thanks['id']}", {"prompt": LINK})
    assert {code for _, code in faults(refused)} == {"not_allowed"}, refused.content
