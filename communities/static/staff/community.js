// The preview of the thanks on the community's page: it follows the style and the words as one types.

const preview = document.querySelector("[data-thanks]");
const form = preview?.closest("form");

function showThanks() {
  const values = new FormData(form);
  const isCustom = values.get("thank_you_type") === "custom";
  const ready = values.get("thank_you_type") === "form_standard" ? preview.dataset.sober : preview.dataset.friendly;
  const label = values.get("thank_you_custom_label").trim();
  preview.querySelector("[data-words]").textContent =
    (isCustom && values.get("thank_you_custom_message").trim()) || (isCustom ? preview.dataset.friendly : ready);
  const button = preview.querySelector("[data-label]");
  button.textContent = label;
  button.hidden = !(isCustom && label);
}

if (form) {
  form.addEventListener("input", showThanks);
  showThanks();
}
