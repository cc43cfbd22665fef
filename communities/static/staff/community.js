// The preview of the thanks on the community's page: it shows the chosen style and the typed words at once.

/** @type {HTMLElement | null} */
const preview = document.querySelector("[data-thanks]");
const form = preview?.closest("form");

/** @param {HTMLElement} preview @param {HTMLFormElement} form */
function showThanks(preview, form) {
  const values = new FormData(form);
  const isCustom = values.get("thank_you_type") === "custom";
  const ready = values.get("thank_you_type") === "form_standard" ? preview.dataset.sober : preview.dataset.friendly;
  const typed = (name) => String(values.get(name) ?? "").trim();
  const label = typed("thank_you_custom_label");
  const words = /** @type {HTMLElement} */ (preview.querySelector("[data-words]"));
  words.textContent = (isCustom && typed("thank_you_custom_message"))
    || (isCustom ? preview.dataset.friendly : ready) || "";
  const button = /** @type {HTMLElement} */ (preview.querySelector("[data-label]"));
  button.textContent = label;
  button.hidden = !(isCustom && label);
}

if (preview && form) {
  form.addEventListener("input", () => showThanks(preview, form));
  showThanks(preview, form);
}
