/* A list from somewhere else as options: one a line, without the bullets and numbers in front. */

import { h, icon } from "./dom.js";
import { MAX_OPTIONS } from "./types.js";

const MARKER = /^\s*(?:[-*•‣◦·–—]\s+|\(?\d{1,3}[.)]\s+|[a-zA-Z][.)]\s+|[○●☐☑□■]\s*)/;

/** The lines of a pasted text, cleaned, without repetitions. */
export function linesOf(pasted) {
  const lines = pasted.split(/\r\n|\r|\n/).map((line) => line.replace(MARKER, "").trim()).filter(Boolean);
  return [...new Set(lines.map((line) => line.slice(0, 500)))].slice(0, MAX_OPTIONS);
}

/** Ask for a list; `take(lines)` gets it. */
export function askForList(noun, take) {
  const area = h("textarea", { class: "entry", rows: "10", id: "pasted-list", dir: "auto", "aria-describedby": "pasted-help" });
  const count = h("span", { role: "status" }, `0 ${noun}s`);
  area.addEventListener("input", () => { count.textContent = `${linesOf(area.value).length} ${noun}s`; });
  const dialog = h("dialog", { class: "sheet", "aria-labelledby": "pasted-title" },
    h("form", { method: "dialog", class: "sheet-body" },
      h("div", { class: "sheet-head" }, h("h2", { id: "pasted-title" }, "Paste a list"),
        h("button", { type: "button", class: "icon-button", "aria-label": "Close", onclick: () => dialog.close() }, icon("close"))),
      h("label", { for: "pasted-list" }, `One ${noun} on each line`), area,
      h("p", { class: "help", id: "pasted-help" }, "Bullets and numbers in front are left out, and so are lines that repeat."),
      h("div", { class: "sheet-foot" }, count,
        h("button", { type: "button", class: "button second", onclick: () => dialog.close() }, "Cancel"),
        h("button", { type: "submit", class: "button" }, "Add them"))));
  dialog.addEventListener("submit", () => {
    const lines = linesOf(area.value);
    if (lines.length) take(lines);
  });
  area.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) dialog.querySelector("form").requestSubmit();
  });
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
  area.focus();
}
