/* The script editor: reads the state that the page embeds, and puts its parts together. */

import { createRequest } from "./api.js";
import { mountArchived } from "./archived.js";
import { mountCompletion, openTokens } from "./completion.js";
import { confirmAction } from "./dialogs.js";
import { title } from "./document.js";
import { afterPause, h, icon, isTextEntry, plural } from "./dom.js";
import { mountFiles } from "./files.js";
import { mountFlow } from "./flow.js";
import { mountForm } from "./form.js";
import { createKeeping } from "./keeping.js";
import { mountKeyboard } from "./keyboard.js";
import { mountList } from "./list.js";
import { mountLogic } from "./logic.js";
import { mountNotices } from "./notices.js";
import { mountPalette } from "./palette.js";
import { mountPanes } from "./panes.js";
import { mountPreview } from "./preview.js";
import { calledOf, nameOf, shortened } from "./reach.js";
import { carryName, carryValue, usersOf } from "./renaming.js";
import { mountStart } from "./start.js";
import { ago, mountStatus } from "./status.js";
import { createStore } from "./store.js";
import { mayArchive, typeName } from "./types.js";

const MOST_USERS = 5; // blocks that are named as those that use another one
const SHOWN_FOR = 5_000; // milliseconds
const root = /** @type {HTMLElement} */ (document.getElementById("editor"));
/** @param {string} name */
const part = (name) => /** @type {HTMLElement} */ (root.querySelector(`[data-part="${name}"]`));

function start(state) {
  const store = createStore(state);
  const request = createRequest(location.pathname);
  const keeping = createKeeping(store, request, state);
  const announce = announcer(document.getElementById("editor-announcer"), part("announced"));
  const editor = { store, request, keeping, announce, state };
  const actions = blockActions(editor);

  const panes = mountPanes(root);
  const palette = mountPalette(document.body, store, { add: actions.add });
  const openPalette = () => (list.whyNoMore() ? list.tellWhy() : palette.open());
  const form = mountForm(part("form"), store, { ...actions, announce, request, mountLogic, mountCompletion, openTokens,
    tools: (block) => formTools(block, store, actions), openPalette, turnScoringOn: () => turnScoringOn(editor),
    openStart: (way) => editor.startFrom.open(way), duplicateProject: () => duplicateProject(editor),
    confirmOption: (block, option, noun) => confirmOption(editor, block, option, noun),
    renamed: (key, before, after) => renamed(editor, key, before, after),
    revalued: (key, before, after) => revalued(editor, key, before, after) });
  const list = mountList(part("list"), store, { ...actions, announce, openPalette, openHelp: () => keyboard.openHelp(),
    open: actions.open, chosen: () => showForm(panes) });
  const startFrom = mountStart(part("start"), store, { request, keeping, announce });
  const preview = mountPreview(part("preview"), store, { request, keeping, announce });
  const saving = saveActions(editor, () => status);
  const status = mountStatus(part("status"), store,
    { keeping, announce, ...saving, jump: (issue) => jump(editor, panes, issue) });
  const toList = () => {
    panes.show("list", { onlyNarrow: true });
    list.focus();
  };
  const keyboard = mountKeyboard(root, store,
    { form: part("form"), announce, toList, save: saving.save, openPalette, step: actions.step });
  Object.assign(editor, { panes, form, list, palette, startFrom, preview, status });
  mountNotices(part("notices"), store, { keeping, state, ago, discard: saving.discard });
  mountUndo(part("undo"), store, announce);
  mountFlow(part("flow"), store, { request, announce });
  mountFiles(part("files"), store, { keeping, announce });
  mountArchived(part("archived"), store, { request });
  if (document.activeElement === document.body) list.focus({ preventScroll: true }); // its keys work at once
  startFrom.openAsAsked();
  askAsAsked(store, actions);
  Object.assign(window, { colloquyEditor: editor }); // for tests, and for the curious
  return editor;
}

/** A new poll begins with its question, whose text takes the focus; a reload adds no other.
 *  @param {Store} store */
function askAsAsked(store, actions) {
  const address = new URL(location.href);
  if (address.searchParams.get("start") !== "question") return;
  address.searchParams.delete("start");
  history.replaceState(history.state, "", address);
  if (store.mayEdit && store.blocks.every((block) => block.section === "outro")) actions.add("single_punch");
}

/** If only one pane is visible at a time, choosing a block shows its form. */
function showForm(panes) {
  if (!panes.isNarrow) return;
  panes.show("form");
  requestAnimationFrame(() => document.getElementById("form-title")?.focus({ preventScroll: true }));
}

/* Actions on blocks, from the list, the form and the keyboard */

function blockActions(editor) {
  const { store, announce } = editor;
  const open = (key) => {
    store.select(key);
    editor.panes.show("form");
    store.select(key, { focus: "" });
  };
  const announceMove = (key) => {
    const count = store.blocks.filter((block) => block.section !== "outro").length;
    announce(`Block moved to place ${store.indexOf(key) + 1} of ${count}, ${store.block(key).section}.`);
  };
  return {
    open,
    announceMove,
    add(type) {
      const key = store.add(type);
      if (!key) return;
      announce(`${typeName(store.block(key))} added as block ${store.indexOf(key) + 1}.`);
      open(key);
    },
    duplicate(key) {
      const copy = store.duplicate(key);
      if (copy) announce(`Block duplicated; the copy is block ${store.indexOf(copy) + 1}.`);
      editor.list.focus();
    },
    move(key, step) {
      if (store.move(key, step)) announceMove(key);
    },
    step(by) {
      const next = store.blocks[store.indexOf(store.selected) + by];
      if (next) open(next.key);
    },
    archive: (key) => archive(editor, key),
  };
}

async function archive(editor, key) {
  const { store, announce } = editor;
  const block = store.block(key);
  if (!mayArchive(store, block)) {
    if (store.isLive && block?.id) announce("Blocks cannot be archived while the project is open. Close it first.");
    return;
  }
  const isKnown = block.id && store.known.blocks.has(block.id);
  const number = store.indexOf(key) + 1;
  const used = usesInWords(store, block);
  const [verb, words] = isKnown ? ["Archive", answersOf(editor, block).then((counted) => `${used}${counted}`)]
    : ["Remove", `${used}Undo brings it back.`];
  const ask = () => confirmAction({ title: `${verb} block ${number}?`, words, action: `${verb} block` });
  if ((isKnown || used) && !(await ask())) return;
  store.remove(key);
  announce(`Block ${number} ${isKnown ? "archived" : "removed"}. Control Z brings it back.`);
  editor.list.focus();
}

/** The uses of a block, in words. Most of them prevent a save without the block. Empty if it is not used.
 *  @param {Store} store @param {Block} block */
function usesInWords(store, block) {
  const name = nameOf(store, block);
  const users = usersOf(store.blocks.filter((each) => each.key !== block.key),
    { name, place: store.indexOf(block.key) + 1 });
  if (!users.length) return "";
  const called = users.slice(0, MOST_USERS).map((each) => {
    const words = `“${calledOf(store, each, 40)}”`;
    return each.section === "outro" ? words : `block ${store.indexOf(each.key) + 1}, ${words}`;
  });
  const more = users.length > MOST_USERS ? `; and in ${plural(users.length - MOST_USERS, "more block")}` : "";
  return `Conditions, formulas or texts use it, and need a change too: in ${called.join("; in ")}${more}. `;
}

/** A text about the future of a block's answers. The server knows their number.
 *  @param {Block} block */
async function answersOf(editor, block) {
  const after = "It leaves the script when you save it. Undo brings it back.";
  const counted = await countAnswers(editor, block);
  if (counted === null) return `Answers that it has stay in results and exports. ${after}`;
  if (!counted) return `Nobody has answered it yet. ${after}`;
  return `It was answered in ${counted}. The answers stay in results and exports, and nobody is asked any more. `
    + after;
}

/** Ask before the removal of an option that people may have chosen.
 *  @param {Block} block @param {BlockOption} option */
function confirmOption(editor, block, option, noun) {
  const words = countAnswers(editor, block, option).then((counted) => {
    if (counted === null) return "Answers that have it keep it in results and exports. Undo brings it back.";
    if (!counted) return "Nobody has chosen it yet. Undo brings it back.";
    return `It was chosen in ${counted}. Results and exports keep it there, by its name and as removed; `
      + "nobody can choose it any more. Undo brings it back.";
  });
  return confirmAction({ title: `Remove “${shortened(option.label || option.value, 40)}”?`, words,
    action: `Remove ${noun}` });
}

/** In how many responses a block was answered, or one of its options was chosen: "3 responses"; empty for none, null if
 *  the server does not tell.
 *  @param {{ store: Store, request: Send }} editor @param {Block} block
 *  @param {BlockOption} [option] @param {BlockOption} option */
async function countAnswers({ store, request }, block, option) {
  try {
    const url = (store.urls.answers ?? "blocks/0/answers/").replace("/0/", `/${block.id}/`);
    const { status, data } = await request("GET", option ? `${url}?option=${option.id}` : url);
    if (status !== 200) return null;
    return data.count ? `${data.is_estimate ? "about " : ""}${plural(data.count, "response")}` : "";
  } catch {
    return null;
  }
}

/** @param {Block} block @param {Store} store */
function formTools(block, store, actions) {
  if (block.section === "outro" || !store.mayEdit) return [];
  const tool = (name, label, act) =>
    h("button", { type: "button", class: "icon-button", "aria-label": label, title: label, onclick: act }, icon(name));
  return [
    tool("up", "Move block up", () => actions.move(block.key, -1)),
    tool("down", "Move block down", () => actions.move(block.key, 1)),
    tool("copy", "Duplicate block", () => actions.duplicate(block.key)),
    ...(mayArchive(store, block) ? [tool("archive", "Archive block", () => actions.archive(block.key))] : []),
  ];
}

/** References to a renamed block follow it. */
function renamed({ store, announce }, key, before, after) {
  let carried = 0;
  const names = store.blocks.filter((block) => block.key !== key).map((block) => title(block.name ?? ""));
  if (!before || !after || names.includes(title(before)) || names.includes(title(after))) return;
  store.change((blocks) => { carried = carryName(blocks.filter((block) => block.key !== key), before, after); },
    "Carry the new name");
  if (carried) announce(`The new name was carried into ${plural(carried, "other block")}.`);
}

/** Conditions and formulas that compare with an option's stored value follow it. */
function revalued({ store, announce }, key, before, after) {
  const name = store.block(key)?.name ?? store.marks.get(key)?.name;
  const values = (store.block(key)?.options ?? []).map((option) => option.value);
  // it is unclear which option the value belongs to
  if (values.includes(before) || values.filter((value) => value === after).length > 1) return;
  let carried = 0;
  store.change((blocks) => { carried = carryValue(blocks, { name, place: store.indexOf(key) + 1 }, before, after); },
    "Carry the new value");
  if (carried) announce(`The new value was carried into the logic of ${plural(carried, "block")}.`);
}

/** @param {Issue} issue */
function jump(editor, panes, issue) {
  if (!issue.key) {
    panes.show("list");
    editor.list.focus();
    editor.announce("This is about the script as a whole, not about one block.");
    return;
  }
  panes.show("form");
  editor.store.select(issue.key, { focus: issue.path });
}

/* Saving */

function saveActions(editor, statusOf) {
  const { store, keeping, announce } = editor;
  const showFaults = () => {
    announce("The script has faults and was not saved.");
    statusOf().toggleIssues(true);
  };
  const actions = {
    async save() {
      if (!store.mayEdit || keeping.status === "saving") return;
      // a name that is being typed
      const focused = document.activeElement;
      if (isTextEntry(focused)) focused.dispatchEvent(new Event("change", { bubbles: true }));
      store.settle();
      if (!keeping.hasDraft) return void announce("There is nothing to save.");
      if (!(await keeping.flush())) return;
      if (store.issues().some((issue) => issue.kind === "fault")) return void showFaults();
      const refusal = await keeping.save();
      if (refusal?.status) await refused(editor, refusal, showFaults, actions.save);
    },
    async discard() {
      const agreed = await confirmAction({ title: "Discard all unsaved changes?",
        words: "The script goes back to what was last saved. Undo brings the changes back while this page stays open.",
        action: "Discard changes" });
      if (agreed && await keeping.discard()) announce("Changes discarded.");
    },
  };
  return actions;
}

async function refused(editor, { status, data }, showFaults, save) {
  const { store, keeping } = editor;
  if (status === 409 && data?.collision) {
    const { mountCollision } = await import("./collision.js");
    mountCollision(document.body, store, { ...editor, collision: data.collision, save });
  } else if (data?.violations?.length) {
    store.receiveCheck({ ...store.check, violations: data.violations }, store.blocks);
    showFaults();
  } else {
    keeping.refuse(data?.message ?? "The script could not be saved.");
  }
}

async function duplicateProject({ store, request, keeping, announce }) {
  await keeping.flush();
  const { status, data } = await request("POST", store.urls.duplicate ?? "duplicate/", {});
  if (status === 201) location.assign(data.url);
  else announce(data?.message ?? "It could not be duplicated.");
}

/** Ask, and turn scoring on as the tab Rewards does. Returns the reason of a refusal. */
async function turnScoringOn({ store, request, keeping, announce }) {
  const words =
    "Options then carry points, which are summed in a bucket called Score until you name others under Rewards, "
    + "and a choice can have a right answer. Answers are scored from then on. "
    + "It can be turned off again while the project is not open.";
  const ask = { title: "Turn scoring on?", words, action: "Turn scoring on", isDangerous: false };
  if (!(await confirmAction(ask))) return null;
  if (!(await keeping.flush())) return "The last changes could not be sent to the server. Try again in a moment.";
  try {
    const { status, data } = await request("POST", store.urls.scoring, {});
    if (status !== 200) return data?.message ?? "Scoring could not be turned on.";
    keeping.takeScoring(data);
  } catch {
    return "The server cannot be reached. Try again in a moment.";
  }
  announce("Scoring is on. Options have points now.");
  return null;
}

/* Small things */

/** @param {Store} store */
function mountUndo(element, store, announce) {
  const button = (name, label, keys, act) =>
    h("button", { type: "button", class: "icon-button", "aria-label": label, title: `${label} (${keys})`,
      onclick: () => { const what = act(); if (what) announce(`${label}: ${what}`); } }, icon(name));
  const undo = button("undo", "Undo", "Ctrl+Z", () => store.undo());
  const redo = button("redo", "Redo", "Ctrl+Shift+Z", () => store.redo());
  const show = () => {
    undo.disabled = !store.canUndo;
    redo.disabled = !store.canRedo;
  };
  element.append(undo, redo);
  store.subscribe((what) => { if (what === "blocks") show(); });
  show();
}

/** Announces texts to screen readers, and shows them for a while. Repeated texts are announced again. */
function announcer(element, shown) {
  const hide = afterPause(() => { shown.hidden = true; }, SHOWN_FOR);
  return (words) => {
    element.textContent = element.textContent === words ? `${words}\u00A0` : words;
    shown.textContent = words;
    shown.hidden = false;
    hide();
  };
}

start(JSON.parse(document.getElementById("editor-state")?.textContent ?? ""));
