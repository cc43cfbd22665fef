/* A pasted list as options: one per line, without bullets and numbers. Lines beyond the limit and lines that are too
   long stay in the box, with a message: no line is shortened or dropped silently. */

import { h, icon, plural } from "./dom.js";
import { MAX_LABEL } from "./types.js";

const MARKER = /^\s*(?:[-*•‣◦·–—]\s+|\(?\d{1,3}[.)]\s+|[a-zA-Z][.)]\s+|[○●☐☑□■]\s*)/;

/** The lines of a pasted text, cleaned, without repetitions.
 *  @param {string} pasted */
export function linesOf(pasted) {
  const lines = pasted.normalize("NFC").split(/\r\n|\r|\n/).map((line) => line.replace(MARKER, "").trim());
  return [...new Set(lines.filter(Boolean))];
}

/** The lines that become options if there is room for `room` more, and the lines that are left out.
 *  @param {string[]} lines @param {number} room */
export function divide(lines, room) {
  const fitting = lines.filter((line) => !isLong(line));
  return { taken: fitting.slice(0, Math.max(0, room)), tooMany: fitting.slice(Math.max(0, room)),
    tooLong: lines.filter(isLong) };
}

/** The result of pasting a list, in a sentence.
 *  @param {ReturnType<typeof divide>} parts @param {string} noun @param {number} most */
export function told({ taken, tooMany, tooLong }, noun, most) {
  const left = ({ length }, reason) =>
    (length ? `; ${plural(length, "line")} ${length === 1 ? "was" : "were"} left out, because ${reason}` : "");
  return `${plural(taken.length, noun)} added`
    + left(tooMany, `a question has at most ${most} ${noun}s`)
    + `${left(tooLong, `an ${noun} has at most ${MAX_LABEL} characters`)}.`;
}

/** What is left of a pasted list. @typedef {{ rest: string[], says: string, isFull: boolean }} Left */

/** Ask for a list. `take(lines)` adds lines and returns the rest: `{ rest, says, isFull }`, with `isFull` if
    nothing more can be added. `before` is an earlier rest.
 *  @param {string} noun @param {(lines: string[]) => Left} take @param {Left | null} [before] */
export function askForList(noun, take, before = null) {
  const label = h("label", { for: "pasted-list" }, `One ${noun} on each line`);
  const close = h("button", { type: "button", class: "button second", onclick: () => dialog.close() }, "Cancel");
  const add = h("button", { type: "submit", class: "button" }, "Add them");
  const area = h("textarea", { class: "entry", rows: "10", id: "pasted-list", dir: "auto",
    "aria-describedby": "pasted-left pasted-help" });
  const count = h("span", { role: "status" });
  const says = h("p", { class: "help", id: "pasted-left", role: "alert", hidden: true });
  const recount = () => {
    const { length } = linesOf(area.value);
    count.textContent = area.readOnly ? plural(length, "line left out", "lines left out") : plural(length, noun);
  };
  area.addEventListener("input", recount);
  const dialog = h("dialog", { class: "sheet", "aria-labelledby": "pasted-title" },
    h("form", { method: "dialog", class: "sheet-body" },
      h("div", { class: "sheet-head" }, h("h2", { id: "pasted-title" }, "Paste a list"),
        h("button", { type: "button", class: "icon-button", "aria-label": "Close", onclick: () => dialog.close() },
          icon("close"))),
      label, area, says,
      h("p", { class: "help", id: "pasted-help" },
        "Bullets and numbers in front are left out, and so are lines that repeat."),
      h("div", { class: "sheet-foot" }, count, close, add)));
  const keep = (left) => {
    area.value = left.rest.join("\n");
    says.textContent = left.says;
    says.hidden = false;
    if (left.isFull) { // they can be read and copied, and nothing else
      area.readOnly = true;
      label.textContent = "Lines that were not taken";
      close.textContent = "Close";
      add.remove();
    }
    recount();
  };
  dialog.addEventListener("submit", (event) => {
    if (area.readOnly) return;
    const lines = linesOf(area.value);
    const left = lines.length ? take(lines) : null;
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

function isLong(line) {
  return [...line].length > MAX_LABEL;
}
