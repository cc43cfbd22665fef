/* Keys for the whole editor, and the list of all keys. */

import { h, icon } from "./dom.js";

/** @type {[string, [string[], string][]][]} */
const KEYS = [
  ["In the list of blocks", [
    [["↑", "↓"], "Go to another block"], [["Enter"], "Edit the block"], [["A"], "Add a block after it"],
    [["D"], "Duplicate it"],
    [["Alt", "↑"], "Move it up"], [["Alt", "↓"], "Move it down"], [["Delete"], "Archive it"],
    [["Home", "End"], "First or last block"],
  ]],
  ["In the options", [
    [["Enter"], "Add an option below"], [["Backspace"], "Remove an empty option"], [["↑", "↓"], "Go to another option"],
    [["Alt", "↑", "↓"], "Move it up or down"],
    [["Ctrl", "V"], "Several lines become options"],
  ]],
  ["Everywhere", [
    [["Ctrl", "Z"], "Undo"], [["Ctrl", "Shift", "Z"], "Redo"], [["Ctrl", "S"], "Save the script"],
    [["Ctrl", "Enter"], "Add a block after this one"], [["Ctrl", "↑", "↓"], "Edit the block before or after"],
    [["Esc"], "Back to the list of blocks"], [["?"], "This help (not while typing)"],
  ]],
];

/**
 * @typedef {object} KeyboardOptions
 * @property {HTMLElement} form
 * @property {Announce} announce
 * @property {() => void} save
 * @property {() => void} openPalette
 * @property {(by: number) => void} step
 * @property {() => void} toList
 */

/** `options`: form, announce(text), save(), openPalette(), step(n), toList(). Answers `{openHelp()}`.
 *  @param {HTMLElement} element @param {Store} store @param {KeyboardOptions} options */
export function mountKeyboard(element, store, options) {
  const sheet = buildSheet();
  document.body.append(sheet);
  const openHelp = () => sheet.showModal();
  document.addEventListener("keydown", (event) => {
    if (!document.querySelector("dialog[open]")) onKey(event, store, { ...options, element, openHelp });
  });
  document.addEventListener("beforeinput", (event) => { // undo from a menu or a touch gesture
    const target = /** @type {Node} */ (event.target);
    if (!element.contains(target) || !["historyUndo", "historyRedo"].includes(event.inputType)) return;
    event.preventDefault();
    travel(event.inputType === "historyUndo", store, options);
  });
  return { openHelp };
}

/** @param {Store} store */
function onKey(event, store, options) {
  const isCommand = event.ctrlKey || event.metaKey;
  const key = event.key.toLowerCase();
  const step = { arrowup: -1, arrowdown: 1 }[key];
  if (event.isComposing) return;
  if (isCommand && key === "s") options.save();
  else if (isCommand && key === "z" && !event.altKey) travel(!event.shiftKey, store, options);
  else if (isCommand && key === "y") travel(false, store, options);
  else if (isCommand && key === "enter") options.openPalette();
  else if (isCommand && step) options.step(step);
  else if (key === "escape"
    && (options.form.contains(event.target) || event.target === document.body)) options.toList();
  else if (event.key === "?" && !isTyping(event.target)) options.openHelp();
  else return;
  event.preventDefault();
}

function isTyping(target) {
  return target.closest?.("input:not([type=checkbox], [type=radio]), textarea, select, [contenteditable]") !== null;
}

/** @param {Store} store */
function travel(isBack, store, { announce }) {
  const path = document.activeElement?.getAttribute("data-path");
  const label = isBack ? store.undo() : store.redo();
  announce(label === null ? `Nothing to ${isBack ? "undo" : "redo"}` : `${isBack ? "Undone" : "Redone"}: ${label}`);
  if (document.activeElement === document.body) store.select(store.selected, { focus: path ?? "" });
}

function buildSheet() {
  const isMac = /mac/i.test(navigator.platform);
  const named = (key) => (key === "Ctrl" && isMac ? "⌘" : key === "Alt" && isMac ? "⌥" : key);
  const keys = (some) => h("dt", {}, some.map((key) => h("kbd", {}, named(key))));
  /** @param {[string, [string[], string][]]} group */
  const group = ([name, rows]) => h("section", {}, h("h3", {}, name),
    h("dl", {}, rows.map(([some, words]) => h("div", {}, keys(some), h("dd", {}, words)))));
  const sheet = h("dialog", { class: "sheet help-sheet", "aria-labelledby": "help-title",
    onclick: (event) => { if (event.target === sheet) sheet.close(); } },
    h("div", { class: "sheet-body" },
      h("div", { class: "sheet-head" }, h("h2", { id: "help-title" }, "Keys"),
        h("button", { type: "button", class: "icon-button", "aria-label": "Close", onclick: () => sheet.close() },
          icon("close"))),
      h("div", { class: "help-columns" }, KEYS.map(group)),
      h("p", { class: "help" },
        "Everything is also possible with a pointer: cards and options can be dragged by their grip.")));
  return sheet;
}
