// A button at each password field that shows what was typed. Without scripts there is none.

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
  // Browsers keep what a text field had, and others may come back to this page.
  field.form?.addEventListener("submit", () => { field.type = "password"; draw(); });
  draw();
  field.after(button);
}
