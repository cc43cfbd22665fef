/* Notices at the start: a draft from an earlier visit, and changes that only this computer has. */

import { toWire } from "./document.js";
import { h, inWords } from "./dom.js";

const TICK = 1_000;

/** @typedef {(then: Date) => string} Ago */
/** @typedef {{ keeping: Keeping, state: PageState, ago: Ago, discard: () => void }} NoticeOptions */

/** `options`: keeping, state (of the page), ago(date), discard().
 *  @param {HTMLElement} element @param {Store} store @param {NoticeOptions} options */
export function mountNotices(element, store, { keeping, state, ago, discard }) {
  const { local } = keeping;
  if (local && isWorthAsking(local, store)) askForLocal(element, store, keeping, { local, state, ago });
  else keeping.useLocal(false);
  if (state.draft && store.mayEdit) tellOfDraft(element, store, { keeping, state, ago, discard });
}

/** @param {Store} store */
function isWorthAsking(local, store) {
  const sent = (blocks) => JSON.stringify(toWire(blocks, store.known));
  return store.mayEdit && sent(local.blocks) !== sent(store.blocks);
}

/** The last visit ended before the server had everything. If the server has nothing newer, the copy is used at once.
 *  @param {Store} store */
function askForLocal(element, store, keeping, { local, state, ago }) {
  if (local.version === (state.draft?.version ?? null)) {
    keeping.useLocal(true);
    return;
  }
  const says = `This computer has changes from ${ago(new Date(local.at))} that the server never got. `
    + `The server has a ${state.draft ? "later draft" : "saved script"}.`;
  const note = notice(says,
    ["Use this computer's", () => { keeping.useLocal(true); note.remove(); }],
    ["Keep the server's", () => { keeping.useLocal(false); note.remove(); }]);
  element.append(note);
}

/** The draft of an earlier visit. After the next store, only the bar at the bottom shows its time.
 *  @param {Store} store */
function tellOfDraft(element, store, { keeping, state, ago, discard }) {
  const saved = new Date(state.draft.saved_at);
  const time = h("time", { datetime: saved.toISOString(), title: inWords(saved) }, ago(saved));
  const ticks = setInterval(() => { time.textContent = ago(saved); }, TICK);
  const behind = state.draft.is_behind
    ? "The script was saved by somebody else since; you can compare both when you save." : "";
  const words = h("span", {}, "You have a draft from ", time, ": it is kept, but not saved in the script yet. ");
  const note = notice([words, behind], ["Discard", discard], ["Hide", () => remove()]);
  const remove = () => {
    clearInterval(ticks);
    note.remove();
  };
  store.subscribe((what) => {
    if (what !== "status") return;
    const isKeptAnew = keeping.savedAt > saved;
    if (["clean", "saved"].includes(keeping.status) || (isKeptAnew && !behind)) remove();
    else if (isKeptAnew) words.remove();
  });
  element.append(note);
}

/** @param {any} words @param {[string, () => void][]} actions */
function notice(words, ...actions) {
  return h("div", { class: "notice" }, h("p", {}, words),
    actions.map(([label, act]) => h("button", { type: "button", class: "ed-link", onclick: act }, label)));
}
