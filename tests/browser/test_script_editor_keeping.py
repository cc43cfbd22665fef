"""The script editor in a browser: nothing that was typed is lost."""

import pytest
from django.contrib.sessions.models import Session
from playwright.sync_api import Dialog, expect

from surveys.models import ScriptDraft
from tests.support.browser import editor
from tests.support.caller import TEXT, Caller
from tests.support.concurrency import wait_until
from tests.support.surveys.script_drafts import keep

pytestmark = pytest.mark.django_db(transaction=True)

NOT_CONNECTED = "Not connected: your changes are kept on this computer"
SIGNED_OUT = "You are signed out: your changes are kept on this computer"
TYPE_WHILE_SAVING = """() => {
  const { store } = colloquyEditor;
  const send = fetch;
  window.fetch = (url, options) => {
    const isSave = String(url).endsWith("/save/");
    const sent = send(url, options);
    if (isSave) store.changeBlock(store.selected, (block) => { block.prompt = "Why ever not?"; }, "Type");
    return sent;
  };
}"""
LOSE_THE_CONNECTION = "() => { window.fetch = async () => { throw new TypeError('Failed to fetch'); }; }"
LOSE_THE_FIRST_ANSWER = """(place) => {
  const send = fetch;
  window.fetch = async (url, options) => {
    const answer = await send(url, options);
    if (!String(url).endsWith(place)) return answer; // the preview asks for things, too
    window.fetch = send;
    throw new TypeError("Failed to fetch");
  };
}"""
CUT_THE_LINE = """(place) => {
  const send = fetch;
  window.mendTheLine = () => { window.fetch = send; };
  window.fetch = (url, options) => String(url).endsWith(place)
    ? Promise.reject(new TypeError("Failed to fetch"))
    : send(url, options);
}"""
PRESS_SAVE_TWICE = """() => {
  const press = { key: "s", ctrlKey: true, bubbles: true, cancelable: true };
  for (const _ of "12") document.body.dispatchEvent(new KeyboardEvent("keydown", press));
}"""
LOCAL_COPIES = "Object.keys(localStorage).filter(name => name.startsWith('colloquy.script.'))"
OTHER_TAB = "A newer draft was kept in another tab"
SAVED_AND_KEPT = "The script was saved since, and a newer draft was kept in another tab"


@pytest.fixture
def caller():
    return Caller()


@pytest.fixture
def project(caller):
    return editor.new_project(caller, TEXT)


def question(page):
    return page.get_by_label("Question")


def write(caller, project, *blocks):
    written = caller.put(f"/projects/{project}/script", {"blocks": blocks})
    assert written.status_code == 200, written.content


def leave_with_a_local_copy(page):
    """Type what only this computer gets to know, and leave."""
    page.evaluate(LOSE_THE_CONNECTION)  # of this page alone: what leaves must not send anything on its way
    question(page).fill("Mine?")
    editor.expect_state(page, NOT_CONNECTED)
    page.goto("about:blank")


def expect_collision(page, caller, project):
    """Saving asks first, and the colleague's script is still stored."""
    editor.expect_state(page, "Draft kept")
    page.keyboard.press("Control+s")
    expect(page.get_by_role("dialog", name="The script was changed while you edited")).to_be_visible()
    assert editor.stored(caller, project)[0]["prompt"] == "Theirs?"


def discard(page):
    page.get_by_role("button", name="Discard", exact=True).last.click()
    page.get_by_role("button", name="Discard changes").click()


def test_a_draft_comes_back_with_a_reload_and_by_undo_and_tells_of_others_who_saved(windows, caller, project):
    page = editor.open_editor(windows, caller, project)
    notice = page.locator(".notice")
    question(page).fill("Why not?")
    editor.expect_state(page, "Draft kept")

    page.reload()
    expect(question(page)).to_have_value("Why not?")
    expect(notice).to_contain_text("You have a draft from")
    expect(notice).to_contain_text("it is kept, but not saved in the script yet.")
    assert editor.stored(caller, project)[0]["prompt"] == "Why?"

    # Once it is kept anew, the notice would show an older time than the bar at the bottom.
    question(page).fill("Why ever not?")
    expect(notice).to_have_count(0)
    editor.expect_state(page, "Draft kept")

    discard(page)
    expect(question(page)).to_have_value("Why?")
    assert not ScriptDraft.objects.exists()
    page.keyboard.press("Control+z")
    expect(question(page)).to_have_value("Why ever not?")
    editor.expect_state(page, "Draft kept")
    assert ScriptDraft.objects.count() == 1

    write(caller, project, {**TEXT, "prompt": "Theirs?"})
    page.reload()
    expect(notice).to_contain_text("You have a draft from")
    question(page).fill("Why not today?")
    expect(notice).not_to_contain_text("You have a draft from")
    expect(notice).to_contain_text("The script was saved by somebody else since")
    notice.get_by_role("button", name="Hide").click()
    expect(notice).to_have_count(0)


def test_typing_goes_on_without_a_network_and_survives_leaving_the_page(windows, caller, project):
    page = editor.open_editor(windows, caller, project)

    page.context.set_offline(True)
    question(page).fill("Why not?")
    editor.expect_state(page, NOT_CONNECTED)
    page.context.set_offline(False)
    editor.expect_state(page, "Draft kept")
    assert "Why not?" in ScriptDraft.objects.get().blocks

    page.context.set_offline(True)
    question(page).fill("Why ever not?")
    editor.expect_state(page, NOT_CONNECTED)
    page.goto("about:blank")
    page.context.set_offline(False)
    page.goto(editor.address_of(project))
    expect(question(page)).to_have_value("Why ever not?")
    editor.expect_state(page, "Draft kept")

    question(page).fill("Typed just before leaving?")
    page.reload()
    expect(question(page)).to_have_value("Typed just before leaving?")


def test_after_signing_in_again_in_another_tab_one_goes_on(windows, caller, project):
    page = editor.open_editor(windows, caller, project)
    expect(editor.preview(page).locator("#question")).to_be_visible()
    Session.objects.all().delete()
    question(page).fill("Why not?")
    editor.expect_state(page, SIGNED_OUT)

    with page.context.expect_page() as opened:
        page.get_by_role("button", name="Sign in again").click()
    opened.value.wait_for_url(lambda url: "/login" in url)
    editor.sign_in(page, caller, windows.address)
    page.get_by_role("button", name="Try again").click()

    editor.expect_state(page, "Draft kept")


def test_the_tab_with_the_earlier_version_is_told_and_takes_the_later_or_keeps_its_own(
    windows, caller, project
):
    earlier = editor.open_editor(windows, caller, project)
    later = editor.open_editor(windows, caller, project)
    question(later).fill("Why not?")
    editor.expect_state(later, "Draft kept")

    question(earlier).fill("How?")
    editor.expect_state(earlier, OTHER_TAB)
    earlier.get_by_role("button", name="Take the newer one").click()
    expect(question(earlier)).to_have_value("Why not?")
    editor.expect_state(earlier, "Draft kept")

    # One press keeps a version though the other tab goes on.
    question(later).fill("Why not now?")
    editor.expect_state(later, "Draft kept")
    question(earlier).fill("How?")
    editor.expect_state(earlier, OTHER_TAB)
    expect(earlier.get_by_role("button", name="Save script")).to_be_disabled()
    kept = ScriptDraft.objects.get().version
    question(later).fill("Why not today?")
    wait_until(lambda: ScriptDraft.objects.get().version > kept)
    earlier.get_by_role("button", name="Keep this one").click()
    editor.expect_state(earlier, "Draft kept")
    assert "How?" in ScriptDraft.objects.get().blocks

    # An earlier tab does not discard the draft of a later one.
    later.reload()
    question(later).fill("Later?")
    editor.expect_state(later, "Draft kept")
    discard(earlier)
    editor.expect_state(earlier, OTHER_TAB)
    assert "Later?" in ScriptDraft.objects.get().blocks
    earlier.get_by_role("button", name="Keep this one").click()
    editor.expect_state(earlier, "Draft kept")
    assert "How?" in ScriptDraft.objects.get().blocks


def test_a_tab_is_told_that_the_script_was_saved_or_discarded_in_another(windows, caller, project):
    earlier = editor.open_editor(windows, caller, project)
    question(earlier).fill("How?")
    editor.expect_state(earlier, "Draft kept")
    later = editor.open_editor(windows, caller, project)
    question(later).fill("Why not?")
    editor.save(later)

    question(earlier).fill("How so?")
    editor.expect_state(earlier, "The script was saved in another tab")
    earlier.get_by_role("button", name="Take the saved one").click()
    expect(question(earlier)).to_have_value("Why not?")
    question(earlier).fill("How?")
    editor.expect_state(earlier, "Draft kept")
    later.reload()
    discard(later)
    editor.expect_state(later, "Saved")
    question(earlier).fill("How so?")

    editor.expect_state(earlier, "The draft was discarded in another tab")


def test_a_tab_is_told_that_another_saved_the_script_and_went_on(windows, caller, project):
    earlier = editor.open_editor(windows, caller, project)
    question(earlier).fill("How?")
    editor.expect_state(earlier, "Draft kept")
    later = editor.open_editor(windows, caller, project)
    editor.save(later)
    for words in ("Why not?", "Why not today?"):
        question(later).fill(words)
        wait_until(ScriptDraft.objects.filter(blocks__contains=words).exists)

    question(earlier).fill("How so?")
    editor.expect_state(earlier, SAVED_AND_KEPT)
    earlier.get_by_role("button", name="Take the newer draft").click()

    expect(question(earlier)).to_have_value("Why not today?")


def test_leaving_asks_only_if_nothing_could_keep_the_changes(windows, caller, project):
    page = editor.open_editor(windows, caller, project)
    asked: list[str] = []

    def accept(dialog: Dialog) -> None:
        asked.append(dialog.type)
        dialog.accept()

    page.on("dialog", accept)
    page.evaluate("() => { Storage.prototype.setItem = () => { throw new Error('full'); }; }")
    page.context.set_offline(True)
    question(page).fill("Why not?")
    editor.expect_state(page, NOT_CONNECTED)

    page.close(run_before_unload=True)
    page.wait_for_event("close")

    assert asked == ["beforeunload"]


def test_an_answer_lost_on_the_way_is_no_conflict_and_what_is_typed_while_saving_is_the_next_draft(
    windows, caller, project
):
    page = editor.open_editor(windows, caller, project)
    page.evaluate(LOSE_THE_FIRST_ANSWER, "/draft/")
    question(page).fill("Why not now?")
    editor.expect_state(page, NOT_CONNECTED)
    question(page).fill("Why not today?")
    editor.expect_state(page, "Draft kept")
    assert "Why not today?" in ScriptDraft.objects.get().blocks

    page.evaluate(TYPE_WHILE_SAVING)
    question(page).fill("Why not?")
    page.keyboard.press("Control+s")
    expect(question(page)).to_have_value("Why ever not?")
    editor.expect_state(page, "Draft kept")
    assert editor.stored(caller, project)[0]["prompt"] == "Why not?"
    assert "Why ever not?" in ScriptDraft.objects.get().blocks

    assert caller.delete(f"/projects/{project}").status_code == 204
    discard(page)
    expect(page.locator(".state-words")).to_contain_text("project")
    expect(page.locator('[data-state="refused"]')).to_be_attached()
    expect(question(page)).to_have_value("Why ever not?")


# --- Colleagues -----------------------------------------------------------------------------------


def test_a_copy_on_this_computer_is_not_saved_over_what_a_colleague_saved_since(windows, caller, project):
    (block,) = editor.stored(caller, project)
    page = editor.open_editor(windows, caller, project)
    leave_with_a_local_copy(page)
    write(caller, project, {**block, "prompt": "Theirs?"})

    page.goto(editor.address_of(project))

    expect(question(page)).to_have_value("Mine?")
    expect_collision(page, caller, project)


def test_a_copy_that_is_taken_before_a_later_draft_keeps_its_beginning(windows, caller, project):
    (block,) = editor.stored(caller, project)
    page = editor.open_editor(windows, caller, project)
    leave_with_a_local_copy(page)
    write(caller, project, {**block, "prompt": "Theirs?"})
    keep(caller, {"id": project}, [{**block, "prompt": "From another computer?"}], revision=2)

    page.goto(editor.address_of(project))
    page.get_by_role("button", name="Use this computer's").click()

    expect(question(page)).to_have_value("Mine?")
    expect_collision(page, caller, project)


def test_the_tab_that_keeps_its_own_version_keeps_its_beginning(windows, caller, project):
    (block,) = editor.stored(caller, project)
    earlier = editor.open_editor(windows, caller, project)
    write(caller, project, {**block, "prompt": "Theirs?"})
    later = editor.open_editor(windows, caller, project)
    question(later).fill("Later?")
    editor.expect_state(later, "Draft kept")

    question(earlier).fill("Mine?")
    editor.expect_state(earlier, SAVED_AND_KEPT)
    earlier.get_by_role("button", name="Keep this one").click()

    expect_collision(earlier, caller, project)


def test_the_tab_that_takes_a_later_version_knows_the_blocks_that_a_colleague_added(windows, caller, project):
    earlier = editor.open_editor(windows, caller, project)
    write(caller, project, *editor.stored(caller, project), TEXT | {"prompt": "Theirs?"})
    before = [block["id"] for block in editor.stored(caller, project)]
    later = editor.open_editor(windows, caller, project)
    question(later).fill("Later?")
    editor.expect_state(later, "Draft kept")
    question(earlier).fill("Mine?")
    editor.expect_state(earlier, SAVED_AND_KEPT)

    earlier.get_by_role("button", name="Take the newer draft").click()
    expect(question(earlier)).to_have_value("Later?")
    question(earlier).fill("Last?")
    editor.save(earlier)

    assert [block["id"] for block in editor.stored(caller, project)] == before
    assert editor.prompts(earlier) == ["Last?", "Theirs?"]


# --- Answers of the server that are lost ------------------------------------------------------------


def add_block(page, prompt):
    """Add a block, which has no id yet."""
    editor.add(page, "text")
    question(page).fill(prompt)
    editor.expect_state(page, "Draft kept")


def ids_and_prompts(caller, project):
    return [(block["id"], block["prompt"]) for block in editor.stored(caller, project)]


def test_a_save_whose_answer_was_lost_is_a_save_and_one_that_never_arrived_is_none(windows, caller, project):
    page = editor.open_editor(windows, caller, project)
    add_block(page, "And what else?")
    page.evaluate(LOSE_THE_FIRST_ANSWER, "/save/")
    page.keyboard.press("Control+s")
    editor.expect_state(page, "Script saved")
    (first, _), (second, prompt) = ids_and_prompts(caller, project)
    assert prompt == "And what else?"
    assert page.evaluate(LOCAL_COPIES) == []
    question(page).fill("What next?")
    editor.save(page)
    assert ids_and_prompts(caller, project) == [(first, "Why?"), (second, "What next?")]

    # Though the server strips texts.
    add_block(page, "Cafe\u0301? ")
    page.evaluate(LOSE_THE_FIRST_ANSWER, "/save/")
    page.keyboard.press("Control+s")
    editor.expect_state(page, "Script saved")
    assert editor.prompts(page) == ["Why?", "What next?", "Café?"]

    # What is typed after it is the next draft.
    add_block(page, "Where?")
    page.evaluate(LOSE_THE_FIRST_ANSWER, "/save/")
    page.keyboard.press("Control+s")
    editor.expect_state(page, NOT_CONNECTED)
    question(page).fill("When?")
    editor.expect_state(page, "Draft kept")
    stored = ids_and_prompts(caller, project)
    editor.save(page)
    assert [prompt for _, prompt in stored] == ["Why?", "What next?", "Café?", "Where?"]
    assert ids_and_prompts(caller, project) == [*stored[:3], (stored[3][0], "When?")]

    add_block(page, "Who?")
    page.evaluate(CUT_THE_LINE, "/save/")
    page.keyboard.press("Control+s")
    editor.expect_state(page, NOT_CONNECTED)
    page.evaluate("mendTheLine()")
    editor.expect_state(page, "Draft kept")
    editor.save(page)
    assert len(editor.stored(caller, project)) == 5


def test_two_presses_save_once_and_a_discard_whose_answer_was_lost_is_a_discard(windows, caller, project):
    page = editor.open_editor(windows, caller, project)
    add_block(page, "And what else?")
    page.evaluate(PRESS_SAVE_TWICE)
    editor.expect_state(page, "Script saved")
    page.wait_for_load_state("networkidle")
    editor.expect_state(page, "Script saved")

    add_block(page, "Where?")
    page.evaluate(LOSE_THE_FIRST_ANSWER, "/draft/")
    discard(page)
    editor.expect_state(page, "Saved")
    assert editor.prompts(page) == ["Why?", "And what else?"]
    assert not ScriptDraft.objects.exists()
