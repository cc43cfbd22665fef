// A button at each password field that shows what was typed. Without scripts there is none.

for (const field of document.querySelectorAll(".field input[type=password]")) {
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
