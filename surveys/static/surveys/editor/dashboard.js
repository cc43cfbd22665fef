/* The charts of a dashboard: their rows are dragged, or moved with Alt and an arrow key, or with their buttons. The
   order of the rows is the order in which the form sends them. Without this script the buttons send the form. */

import { makeSortable, slotsBetween } from "./sorting.js";

/** @param {HTMLElement} list */
function start(list) {
  const rows = () => /** @type {HTMLElement[]} */ ([...list.querySelectorAll("[data-row]")]);
  const name = (row) => row.querySelector("label").textContent.trim();
  const said = list.parentElement?.querySelector("[data-moved]");

  /** @param {HTMLElement} row @param {Element | null} before */
  const move = (row, before) => {
    if (before === row) return;
    list.insertBefore(row, before);
    if (said) said.textContent = `${name(row)} is at place ${rows().indexOf(row) + 1} of ${rows().length}.`;
  };

  /** @param {HTMLElement} row @param {number} step */
  const step = (row, step) => {
    const before = step < 0 ? row.previousElementSibling : row.nextElementSibling?.nextElementSibling ?? null;
    if (step < 0 && !before) return;
    const focused = document.activeElement;
    move(row, before);
    if (focused instanceof HTMLElement) focused.focus();
  };

  makeSortable(list, {
    item: "[data-row]",
    grip: ".grip",
    gripOnly: true,
    scroller: /** @type {Element} */ (document.scrollingElement),
    canDrag: () => true,
    name,
    slots: () => slotsBetween(rows(), list.getBoundingClientRect().bottom),
    drop: (row, slot) => move(row, slot.before),
  });
  list.addEventListener("keydown", (event) => {
    const row = /** @type {HTMLElement | null} */ (/** @type {Element} */ (event.target).closest("[data-row]"));
    if (!row || !event.altKey || !["ArrowUp", "ArrowDown"].includes(event.key)) return;
    event.preventDefault();
    step(row, event.key === "ArrowUp" ? -1 : 1);
  });
  list.addEventListener("click", (event) => {
    const clicked = /** @type {Element} */ (event.target);
    const button = /** @type {HTMLButtonElement | null} */ (clicked.closest("[name=move]"));
    const row = /** @type {HTMLElement | null} */ (button?.closest("[data-row]") ?? null);
    if (!button || !row) return;
    event.preventDefault();
    step(row, button.value.endsWith(":up") ? -1 : 1);
  });
}

document.querySelectorAll("[data-sortable]").forEach((list) => start(/** @type {HTMLElement} */ (list)));
document.querySelectorAll("[data-print]").forEach((button) => {
  /** @type {HTMLElement} */ (button).hidden = false;
  button.addEventListener("click", () => print());
});
