"""The platform's limits: values at a limit pass, and values one beyond it do not."""

from typing import Any

from communities.chat_platform import limits
from surveys.chat.messages import Button, Embed, Menu, MenuOption, Message, Window
from tests.support.cases import try_each


def button(n: int = 0, **fields: Any) -> dict[str, Any]:
    return {"type": 2, "style": 1, "label": "Go", "custom_id": f"id-{n}", **fields}


def row(*parts: dict[str, Any]) -> dict[str, Any]:
    return {"type": 1, "components": list(parts)}


def menu(count: int = 1, **fields: Any) -> dict[str, Any]:
    options = [{"label": f"{n}", "value": f"{n}"} for n in range(count)]
    return {"type": 3, "custom_id": "menu", "options": options, "min_values": 1, "max_values": 1, **fields}


def embed(**fields: Any) -> dict[str, Any]:
    return {"embeds": [{"description": "a", **fields}]}


AT_LIMITS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "content": ({"content": "a" * 2000}, {"content": "a" * 2001}),
    "astral characters": ({"content": "🎲" * 2000}, {"content": "🎲" * 2001}),
    "embeds": ({"embeds": [{"title": "a"}] * 10}, {"embeds": [{"title": "a"}] * 11}),
    "title": (embed(title="a" * 256), embed(title="a" * 257)),
    "description": (embed(description="a" * 4096), embed(description="a" * 4097)),
    "footer": (embed(footer={"text": "a" * 2048}), embed(footer={"text": "a" * 2049})),
    "author": (embed(author={"name": "a" * 256}), embed(author={"name": "a" * 257})),
    "all embeds": (
        {"embeds": [{"description": "a" * 3000}] * 2},
        {"embeds": [{"description": "a" * 3000}, {"description": "a" * 3001}]},
    ),
    "colour": (embed(color=0xFFFFFF), embed(color=0x1000000)),
    "picture": (embed(image={"url": "https://a.example/b.png"}), embed(image={"url": "ftp://a.example/b"})),
    "rows": (
        {"components": [row(button(n)) for n in range(5)]},
        {"components": [row(button(n)) for n in range(6)]},
    ),
    "buttons in a row": (
        {"components": [row(*(button(n) for n in range(5)))]},
        {"components": [row(*(button(n) for n in range(6)))]},
    ),
    "custom id": (
        {"components": [row(button(custom_id="a" * 100))]},
        {"components": [row(button(custom_id="a" * 101))]},
    ),
    "custom id twice": (
        {"components": [row(button(1), button(2))]},
        {"components": [row(button(1), button(1))]},
    ),
    "label": (
        {"components": [row(button(label="a" * 80))]},
        {"components": [row(button(label="a" * 81))]},
    ),
    "emoji": (
        {"components": [row(button(label="", emoji={"name": "🎲"}))]},
        {"components": [row(button(label="", emoji={"name": "★"}))]},
    ),
    "button without anything": ({"components": [row(button())]}, {"components": [row(button(label=" "))]}),
    "options": ({"components": [row(menu(25))]}, {"components": [row(menu(26))]}),
    "no options": ({"components": [row(menu(1))]}, {"components": [row(menu(0))]}),
    "chosen": (
        {"components": [row(menu(2, max_values=2))]},
        {"components": [row(menu(2, max_values=3))]},
    ),
    "mixed row": ({"components": [row(menu())]}, {"components": [row(menu(), button())]}),
    "empty": ({"content": "a"}, {"content": ""}),
    "link": (
        {"components": [row({"type": 2, "style": 5, "label": "a", "url": "https://a.example"})]},
        {"components": [row({"type": 2, "style": 5, "label": "a", "url": "javascript:x"})]},
    ),
}


@try_each("case", AT_LIMITS)
def test_a_message_may_reach_a_limit_and_not_pass_it(case):
    at, beyond = AT_LIMITS[case]

    assert limits.check_message(at) == []
    assert limits.check_message(beyond)


def window(**fields: Any) -> dict[str, Any]:
    field = {"type": 4, "custom_id": "text", "style": 1, **fields.pop("field", {})}
    labelled = {"type": 18, "label": "Your answer", "component": field, **fields.pop("labelled", {})}
    return {"custom_id": "a", "title": "Title", "components": [labelled], **fields}


WINDOWS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "title": (window(title="a" * 45), window(title="a" * 46)),
    "label": (window(labelled={"label": "a" * 45}), window(labelled={"label": "a" * 46})),
    "hint": (window(labelled={"description": "a" * 100}), window(labelled={"description": "a" * 101})),
    "value": (window(field={"value": "a" * 4000}), window(field={"value": "a" * 4001})),
    "length": (window(field={"max_length": 4000}), window(field={"max_length": 4001})),
    "parts": (window(), window(components=[])),
}


@try_each("case", WINDOWS)
def test_a_window_may_reach_a_limit_and_not_pass_it(case):
    at, beyond = WINDOWS[case]

    assert limits.check_window(at) == []
    assert limits.check_window(beyond)


def test_whatever_is_drawn_keeps_the_limits():
    long = "🎲 word " * 2000
    buttons = [[Button(long, f"{n}-{m}", emoji="★") for m in range(5)] for n in range(4)]
    options = [MenuOption(str(n), long, "🎲") for n in range(25)]
    embeds = [Embed(long, title=long, author=long, footer=long, colour=1)] * 12

    message = Message(embeds, [*buttons, Menu("menu", options, long)], content=long).as_json()
    assert limits.check_message(message) == []
    assert message["embeds"][-1]["description"].startswith("🎲 word")
    drawn = Window("id", long, long, text=long, value=long, hint=long, placeholder=long).as_json()
    assert limits.check_window(drawn) == []
