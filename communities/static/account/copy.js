// Buttons with data-copy="<id>" copy the text of that field to the clipboard. Without scripts they are hidden.

for (const button of /** @type {NodeListOf<HTMLButtonElement>} */ (document.querySelectorAll("[data-copy]"))) {
  const field = /** @type {HTMLInputElement} */ (document.getElementById(button.dataset.copy ?? ""));
  const status = /** @type {HTMLElement} */ (document.getElementById(`${button.dataset.copy}-copied`));
  button.hidden = false;
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(field.value);
      button.textContent = status.textContent = "Copied";
    } catch {
      field.select(); // without permission for the clipboard, the text is selected for the person to copy
    }
  });
}
