/* The blocks that were taken out of the script after people had answered them, for reading.

     mountArchived(element, store, { request }) */

import { h, icon, newId, plural } from "./dom.js";
import { typeName } from "./types.js";

/** @param {HTMLElement} element @param {Store} store @param {{ request: Send }} options */
export function mountArchived(element, store, { request }) {
  const button = h("button", { type: "button", class: "quiet", "aria-haspopup": "dialog",
    onclick: () => open(store, request) });
  const draw = () => {
    element.hidden = !store.archived;
    button.replaceChildren(icon("archive"), `Archived (${store.archived})`);
  };
  store.subscribe((what) => { if (what === "blocks" || what === "check") draw(); });
  element.append(button);
  draw();
}

/** @param {Store} store */
async function open(store, request) {
  const title = newId("archived");
  const list = h("ul", { class: "archived-list" });
  const status = h("p", { class: "help", role: "status" }, "Counting the answers …");
  const dialog = h("dialog", { class: "sheet", "aria-labelledby": title }, h("div", { class: "sheet-body" },
    h("div", { class: "sheet-head" }, h("h2", { id: title }, "Archived blocks"),
      h("button", { type: "button", class: "icon-button", "aria-label": "Close", onclick: () => dialog.close() },
        icon("close"))),
    h("p", { class: "help" },
      "These were taken out of the script after people had answered them. Nobody is asked any more. ",
      h("a", { href: store.urls.results }, "Results and exports"),
      " still contain the answers. A block that is archived does not come back: what you add is a new one."),
    status, list));
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
  try {
    const { status: code, data } = await request("GET", store.urls.archived);
    if (code !== 200) throw new Error(data?.message);
    list.append(...data.blocks.map(entry));
    status.textContent = data.blocks.length ? "" : "Their answers have been deleted since.";
  } catch {
    status.textContent = "The blocks could not be read. Try again in a moment.";
  }
}

/** @param {{ type: string, title: string, count: number, is_estimate?: boolean }} block */
function entry(block) {
  const count = `${block.is_estimate ? "about " : ""}${plural(block.count, "response")}`;
  return h("li", {}, h("b", { dir: "auto" }, block.title),
    h("span", { class: "help" }, `${typeName(block)} · answered in ${count}`));
}
