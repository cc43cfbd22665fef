"""The script editor in a browser, used like staff use it: by keyboard, or with a pointer."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.test import Client
from playwright.sync_api import FrameLocator, Locator, Page, expect

from tests.support.caller import Caller

SEARCH = "Search the types of blocks"
MOST_TABS = 60
FIRST_PAGE = 30_000  # milliseconds, in which the first request loads the application
FOCUSED_NAME = """() => {
  const element = document.activeElement;
  if (element.tagName === "SUMMARY") return (element.firstElementChild ?? element).textContent;
  const labels = [...(element.labels ?? [])].map((label) => label.textContent.trim()).join(" ");
  return element.getAttribute("aria-label") || labels || element.textContent.trim();
}"""
BLOCKS = "colloquyEditor.store.blocks"
STILL = """element => new Promise((resolve) => {
  let last = NaN;
  let frames = 0;
  const look = () => {
    const { top } = element.getBoundingClientRect();
    frames = top === last ? frames + 1 : 0;
    last = top;
    if (frames < 10) requestAnimationFrame(look);
    else resolve();
  };
  look();
})"""


def new_project(caller: Caller, *blocks: dict[str, Any], **fields: Any) -> str:
    """Create a project over the interface, and return its id."""
    script = {"script": {"blocks": list(blocks)}} if blocks else {}
    body = {"name": "Your year at the club", "type": "convo", **script, **fields}
    created = caller.post("/projects", body)
    assert created.status_code == 201, created.content
    return str(created.json()["id"])


def stored(caller: Caller, project: str) -> list[dict[str, Any]]:
    """The blocks that the interface reads, without the outro."""
    return list(caller.get(f"/projects/{project}/script").json()["blocks"])


def sign_in(page: Page, caller: Caller, address: str) -> None:
    """Sign the caller's user in to the admin as staff."""
    caller.user.is_staff = True
    caller.user.save(update_fields=["is_staff"])
    client = Client()
    client.force_login(caller.user)
    name = settings.SESSION_COOKIE_NAME
    page.context.add_cookies([{"name": name, "value": client.cookies[name].value, "url": address}])


def open_editor(windows: Any, caller: Caller, project: str, **options: Any) -> Page:
    """The editor of a project, opened by the caller's user."""
    page: Page = windows.open(**options)
    sign_in(page, caller, windows.address)
    page.goto(address_of(project), timeout=FIRST_PAGE)
    expect(page.locator(".status-bar")).to_be_visible()
    return page


def opened(windows: Any, *blocks: dict[str, Any], is_open: bool = False, **options: Any) -> Page:
    """The editor of a new project with these blocks, with fields of the project or options of the page."""
    of_page = {name: options.pop(name) for name in ("phone", "viewport", "color_scheme") if name in options}
    caller = Caller()
    project = new_project(caller, *blocks, **options)
    if is_open:
        caller.post(f"/projects/{project}/open")
    return open_editor(windows, caller, project, **of_page)


def select(page: Page, n: int) -> None:
    """Open the form of the n-th block, from 0."""
    page.evaluate(
        "n => { const { store } = colloquyEditor; store.select(store.blocks[n].key, { focus: '' }); }", n
    )


def block(page: Page, n: int) -> dict[str, Any]:
    """The n-th block as the editor has it."""
    shown: dict[str, Any] = page.evaluate(f"n => {BLOCKS}[n]", n)
    return shown


def expect_kept(page: Page) -> None:
    """Wait until the draft has been stored and checked."""
    expect(page.locator('[data-state="waiting"], [data-state="sending"]')).to_have_count(0)
    expect(page.locator('[data-state="kept"]')).to_be_attached()


def suggestions(page: Page) -> Locator:
    """The entries of the open list of suggestions."""
    return page.get_by_role("listbox", name="Suggestions").get_by_role("option")


def logic(page: Page) -> Locator:
    """The part of the form that says when the block is shown."""
    return page.get_by_role("region", name="Logic")


def press(page: Page, *keys: str) -> None:
    for key in keys:
        page.keyboard.press(key)


def preview(page: Page) -> FrameLocator:
    """The respondent's page in the frame of the preview."""
    return page.frame_locator(".preview-stage iframe:not(.incoming)")


def address_of(project: str) -> str:
    return f"/admin/surveys/project/{project}/script/"


def add(page: Page, words: str) -> None:
    """Add a block after the selected one by keyboard: the palette's search finds its type."""
    page.keyboard.press("Control+Enter")
    expect(page.get_by_label(SEARCH)).to_be_focused()
    page.keyboard.type(words)
    page.keyboard.press("Enter")


def tab_to(page: Page, name: str, *, backwards: bool = False) -> None:
    """Press Tab until the element with this name has the focus."""
    for _ in range(MOST_TABS):
        if page.evaluate(FOCUSED_NAME) == name:
            return
        page.keyboard.press("Shift+Tab" if backwards else "Tab")
    raise AssertionError(f"Tab never came to {name}")


def write_options(page: Page, *values: str, noun: str = "Option") -> None:
    """Write the options of a new block, one after the other, by keyboard."""
    tab_to(page, f"{noun} 1")
    for n, value in enumerate(values):
        if n:
            page.keyboard.press("Enter")
        page.keyboard.type(value)


def save(page: Page) -> None:
    page.keyboard.press("Control+s")
    expect_state(page, "Script saved")


def expect_state(page: Page, words: str) -> None:
    """Wait for the words of the bar at the bottom."""
    expect(page.locator(".state-words")).to_have_text(words)


def prompts(page: Page) -> list[str]:
    """The prompts of the blocks in the editor, in order, without the outro."""
    shown: list[str] = page.evaluate(f"{BLOCKS}.filter(b => b.section !== 'outro').map(b => b.prompt)")
    return shown


def values(page: Page) -> list[str]:
    """The values of the options of the selected block."""
    shown: list[str] = page.evaluate(
        "(colloquyEditor.store.block(colloquyEditor.store.selected).options ?? []).map(o => o.value)"
    )
    return shown


def shown_as_stored(page: Page, blocks: list[dict[str, Any]]) -> bool:
    """Whether the editor shows exactly what the interface reads."""
    shown = page.evaluate(f"{BLOCKS}.filter(b => b.section !== 'outro')")
    return [_without_key(block) for block in shown] == blocks


def _without_key(block: dict[str, Any]) -> dict[str, Any]:
    options = block["options"]
    plain = [{name: value for name, value in option.items() if name != "key"} for option in options or []]
    return {**{name: value for name, value in block.items() if name != "key"}, "options": plain or None}


def swipe(page: Page, box: Any, *, by: float) -> None:
    """Put a finger on the middle of a box and draw it `by` pixels down (negative: up)."""
    finger = page.context.new_cdp_session(page)
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    finger.send("Input.dispatchTouchEvent", {"type": "touchStart", "touchPoints": [{"x": x, "y": y}]})
    for n in range(1, 9):
        moved = [{"x": x, "y": y + by * n / 8}]
        finger.send("Input.dispatchTouchEvent", {"type": "touchMove", "touchPoints": moved})
    finger.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})


def wait_until_still(element: Locator) -> None:
    """Wait until an element has not moved for ten frames, because a swipe continues after the finger left."""
    element.evaluate(STILL)
