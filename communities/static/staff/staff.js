// Scripts of every page of the admin: check boxes of lists, "/" for the search, copying.

/** The element of an event; null if the event is about the document. @param {Event} event */
const targetOf = (event) => (event.target instanceof Element ? event.target : null);

/** On a narrow screen tabs and filters scroll sideways: begin with the chosen one in view. */
function showChosen() {
  for (const bar of document.querySelectorAll(".tabs, .chips")) {
    const chosen = bar.querySelector("[aria-current]");
    if (!chosen) continue;
    const [outer, inner] = [bar.getBoundingClientRect(), chosen.getBoundingClientRect()];
    bar.scrollLeft += inner.left + inner.width / 2 - outer.left - outer.width / 2;
  }
}

function showTicked(form) {
  const bulk = form.querySelector("[data-bulk]");
  if (!bulk) return;
  const ticked = form.querySelectorAll("tbody .tick input:checked").length;
  bulk.hidden = ticked === 0;
  bulk.querySelector("[data-ticked]").textContent = `${ticked} selected`;
}

/** @param {string} selector @returns {NodeListOf<HTMLDetailsElement>} */
const opened = (selector) => document.querySelectorAll(selector);

document.addEventListener("change", (event) => {
  const box = targetOf(event);
  const form = box?.closest(".list-form");
  if (!form) return;
  if (box instanceof HTMLInputElement && box.matches("[data-tick-all]")) {
    /** @type {NodeListOf<HTMLInputElement>} */
    const ticks = form.querySelectorAll("tbody .tick input");
    for (const tick of ticks) tick.checked = box.checked;
  }
  showTicked(form);
});

document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") {
    for (const open of opened("details.dropdown[open], details.menu-toggle[open]")) {
      open.open = false;
      if (open.contains(document.activeElement)) open.querySelector("summary")?.focus();
    }
  }
  const isTyping = targetOf(event)?.closest("input, textarea, select, [contenteditable]");
  if (event.key !== "/" || isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
  /** @type {HTMLElement | null} */
  const search = document.querySelector('[data-shortcut="/"]');
  if (search) {
    event.preventDefault();
    search.focus();
  }
});

/** A tap outside the open menu closes it and does nothing else: on a phone the menu covers the page. */
document.addEventListener("click", (event) => {
  const [menu] = opened("details.menu-toggle[open]");
  if (!menu || menu.contains(targetOf(event))) return;
  menu.open = false;
  event.preventDefault();
  event.stopPropagation();
}, true);

document.addEventListener("click", async (event) => {
  for (const open of opened("details.dropdown[open]")) {
    if (!open.contains(targetOf(event))) open.open = false;
  }
  const button = targetOf(event)?.closest("[data-copy]");
  if (!button) return;
  const source = /** @type {HTMLInputElement} */ (document.getElementById(button.getAttribute("data-copy") ?? ""));
  try {
    await navigator.clipboard.writeText(source.value ?? source.textContent);
    button.textContent = "Copied";
  } catch {
    source.select?.(); // without permission for the clipboard, leave the text selected for the user to copy
  }
});

const DOUBLE_CLICK = 2000; // milliseconds

/** Ignores the second click of a double click: the response to the first click may show a secret only once. */
document.addEventListener("submit", (event) => {
  const form = /** @type {HTMLFormElement} */ (event.target);
  if (form.method !== "post" || event.defaultPrevented) return;
  if (form.dataset.sent) event.preventDefault();
  form.dataset.sent = "yes";
  setTimeout(() => delete form.dataset.sent, DOUBLE_CLICK); // a file that is sent leaves the page as it is
});

showChosen();
for (const form of document.querySelectorAll(".list-form")) showTicked(form);
/** @type {HTMLElement | null} */ (document.querySelector("[data-focus]"))?.focus();
