/* Questions before an action. */

import { h } from "./dom.js";

/** Ask, and return whether the person agreed. `words` may be a promise; the text appears when it resolves.
 *  @param {{ title: string, words: string | Promise<string>, action: string, isDangerous?: boolean }} question
 *  @returns {Promise<boolean>} */
export function confirmAction({ title, words, action, isDangerous = true }) {
  return new Promise((resolve) => {
    const body = h("p", { id: "confirm-words" }, typeof words === "string" ? words : "…");
    Promise.resolve(words).then((known) => { body.textContent = known; });
    const dialog = h("dialog", { class: "sheet", role: "alertdialog", "aria-labelledby": "confirm-title",
      "aria-describedby": "confirm-words" },
      h("form", { method: "dialog", class: "sheet-body" }, h("h2", { id: "confirm-title" }, title), body,
        h("div", { class: "sheet-foot" },
          h("button", { value: "no", class: "button second" }, "Cancel"),
          h("button", { value: "yes", class: isDangerous ? "button danger" : "button", autofocus: true }, action))));
    dialog.addEventListener("close", () => {
      dialog.remove();
      resolve(dialog.returnValue === "yes");
    });
    document.body.append(dialog);
    dialog.showModal();
  });
}
