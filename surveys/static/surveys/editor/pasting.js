/* A pasted list as options: one per line, without bullets and numbers. Lines beyond the limit and lines that are too
   long stay in the box, with a message, and lines that repeat are named in it: no line is shortened or dropped
   silently. */

import { h, icon, plural } from "./dom.js";
import { LISTS, isTranslated, languages } from "./known-lists.js";
import { MAX_LABEL } from "./types.js";

const MARKER = /^\s*(?:[-*•‣◦·–—]\s+|\(?\d{1,3}[.)]\s+|[a-zA-Z][.)]\s+|[○●☐☑□■]\s*)/;

const MOST_NAMED = 3;

/** The lines of a pasted text, cleaned.
 *  @param {string} pasted */
export function linesOf(pasted) {
  const lines = pasted.normalize("NFC").split(/\r\n|\r|\n/).map((line) => line.replace(MARKER, "").trim());
  return lines.filter(Boolean);
}

/** The lines that become options if there is room for `room` more, and the lines that are left out. `present` are
    the texts that the question has already.
 *  @param {string[]} lines @param {number} room @param {string[]} [present] */
export function divide(lines, room, present = []) {
  const seen = new Set(present);
  const isNew = (line) => !seen.has(line) && seen.add(line);
  const fitting = [];
  const repeated = [];
  for (const line of lines) (isNew(line) ? fitting : repeated).push(line);
  const short = fitting.filter((line) => !isLong(line));
  return { taken: short.slice(0, Math.max(0, room)), tooMany: short.slice(Math.max(0, room)),
    tooLong: fitting.filter(isLong), repeated };
}

/** The result of pasting a list, in a sentence.
 *  @param {ReturnType<typeof divide>} parts @param {string} noun @param {number} most */
export function told({ taken, tooMany, tooLong, repeated }, noun, most) {
  const left = ({ length }, reason) =>
    (length ? `; ${plural(length, "line")} ${length === 1 ? "was" : "were"} left out, because ${reason}` : "");
  return `${plural(taken.length, noun)} added`
    + left(tooMany, `a question has at most ${most} ${noun}s`)
    + left(tooLong, `an ${noun} has at most ${MAX_LABEL} characters`)
    + `${left(repeated, `the question has ${repeated.length === 1 ? "it" : "them"} already: ${named(repeated)}`)}.`;
}

/** What is left of a pasted list. @typedef {{ rest: string[], says: string, isFull: boolean }} Left */

/** Ask for a list. `take(lines, values)` adds lines and returns the rest: `{ rest, says, isFull }`, with `isFull` if
    nothing more can be added; `values` are the stored values of lines of a known list. `before` is an earlier rest.
 *  @param {string} noun @param {(lines: string[], values: Map<string, string>) => Left} take
 *  @param {Left | null} [before] */
export function askForList(noun, take, before = null) {
  const label = h("label", { for: "pasted-list" }, `One ${noun} on each line`);
  const close = h("button", { type: "button", class: "button second", onclick: () => dialog.close() }, "Cancel");
  const add = h("button", { type: "submit", class: "button" }, "Add them");
  const area = h("textarea", { class: "entry", rows: "10", id: "pasted-list", dir: "auto",
    "aria-describedby": "pasted-left pasted-help" });
  const count = h("span", { role: "status" });
  const says = h("p", { class: "help", id: "pasted-left", role: "alert", hidden: true });
  const recount = () => {
    const length = new Set(linesOf(area.value)).size;
    count.textContent = area.readOnly ? plural(length, "line left out", "lines left out") : plural(length, noun);
  };
  area.addEventListener("input", recount);
  /** @type {Map<string, string>} */
  const values = new Map();
  const known = knownLists((list) => {
    list.forEach(({ value, label }) => { if (label) values.set(label, value); });
    area.value = list.map(({ value, label }) => label ?? value).join("\n");
    recount();
  });
  const dialog = h("dialog", { class: "sheet", "aria-labelledby": "pasted-title" },
    h("form", { method: "dialog", class: "sheet-body" },
      h("div", { class: "sheet-head" }, h("h2", { id: "pasted-title" }, "Paste a list"),
        h("button", { type: "button", class: "icon-button", "aria-label": "Close", onclick: () => dialog.close() },
          icon("close"))),
      known, label, area, says,
      h("p", { class: "help", id: "pasted-help" }, "Bullets and numbers in front of lines are left out."),
      h("div", { class: "sheet-foot" }, count, close, add)));
  const keep = (left) => {
    area.value = left.rest.join("\n");
    says.textContent = left.says;
    says.hidden = false;
    if (left.isFull) { // they can be read and copied, and nothing else
      area.readOnly = true;
      label.textContent = "Lines that were not taken";
      close.textContent = "Close";
      known.remove();
      add.remove();
    }
    recount();
  };
  dialog.addEventListener("submit", (event) => {
    if (area.readOnly) return;
    const lines = linesOf(area.value);
    const left = lines.length ? take(lines, values) : null;
    if (!left?.rest.length) return;
    event.preventDefault();
    keep(left);
    area.focus();
  });
  area.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) dialog.querySelector("form")?.requestSubmit();
  });
  dialog.addEventListener("close", () => dialog.remove());
  if (before) keep(before);
  else recount();
  document.body.append(dialog);
  dialog.showModal();
  area.focus();
}

/** Menus for a known list and its language, which `fill` puts into the box.
 *  @param {(list: import("./known-lists.js").Known[]) => void} fill */
function knownLists(fill) {
  const own = document.documentElement.lang.split("-")[0];
  const offered = languages();
  const list = h("select", { id: "known-list" }, h("option", { value: "" }, "None"),
    Object.keys(LISTS).map((title) => h("option", {}, title)));
  const language = h("select", { id: "known-language" },
    offered.map(([tag, name]) => h("option", { value: tag, selected: tag === own, lang: tag }, name)));
  const inLanguage = h("div", { hidden: true }, h("label", { for: "known-language" }, "Language"), language);
  const show = () => {
    inLanguage.hidden = !list.value || !isTranslated(list.value);
    if (list.value) fill(LISTS[list.value](language.value));
  };
  list.addEventListener("change", show);
  language.addEventListener("change", show);
  return h("div", { class: "known-lists" },
    h("div", {}, h("label", { for: "known-list" }, "Begin with a known list"), list), inLanguage);
}

/** @param {string[]} lines */
function named(lines) {
  const first = [...new Set(lines)].slice(0, MOST_NAMED).map((line) => `“${line}”`).join(", ");
  return new Set(lines).size > MOST_NAMED ? `${first} …` : first;
}

function isLong(line) {
  return [...line].length > MAX_LABEL;
}
