// A button at each password field that shows the typed password. Without scripts there is no button.

/** @type {NodeListOf<HTMLInputElement>} */
const fields = document.querySelectorAll(".field input[type=password]");

for (const field of fields) {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "button quiet compact show-password";
  const draw = () => {
    button.textContent = field.type === "password" ? "Show password" : "Hide password";
  };
  button.addEventListener("click", () => {
    field.type = field.type === "password" ? "text" : "password";
    draw();
    field.focus();
  });
  // Browsers keep the text of a text field, and other people may return to this page.
  field.form?.addEventListener("submit", () => { field.type = "password"; draw(); });
  draw();
  field.after(button);
}
