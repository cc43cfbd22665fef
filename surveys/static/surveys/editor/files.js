/* Downloads the script of the editor as a file, which “Start from…” imports.

     mountFiles(element, store, { keeping, announce }) */

import { h } from "./dom.js";

/** @param {HTMLElement} element @param {Store} store @param {{ keeping: Keeping, announce: Announce }} options */
export function mountFiles(element, store, { keeping, announce }) {
  const link = h("a", { class: "quiet export", href: store.urls.export, download: "",
    title: "Export the script as a file" }, "Export");
  link.addEventListener("click", async (event) => {
    if (!keeping.isBehind) return;
    event.preventDefault(); // the server exports the draft, so the draft has to be stored first
    if (await keeping.flush()) link.click();
    else announce("The last changes could not be sent to the server, so there is no file yet.");
  });
  element.append(link);
}
