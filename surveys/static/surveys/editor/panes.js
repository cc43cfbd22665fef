/* The three panes. Where there is no room for all, one is shown at a time, chosen by a switch at the bottom. */

import { attribute } from "./dom.js";

/** @param {HTMLElement} root */
export function mountPanes(root) {
  const buttons = /** @type {HTMLElement[]} */ ([...root.querySelectorAll("[data-show-pane]")]);
  const narrow = matchMedia("(max-width: 60rem)");
  /** @param {string | undefined} name @param {{ onlyNarrow?: boolean }} [options] */
  const show = (name, { onlyNarrow = false } = {}) => {
    if (onlyNarrow && !narrow.matches) return;
    const isOther = root.dataset.pane !== name;
    root.dataset.pane = name;
    for (const button of buttons) attribute(button, "aria-pressed", String(button.dataset.showPane === name));
    if (isOther && narrow.matches) root.scrollIntoView({ block: "start" });
  };
  for (const button of buttons) button.addEventListener("click", () => show(button.dataset.showPane));
  show("list");
  return { show, get isNarrow() { return narrow.matches; } };
}
