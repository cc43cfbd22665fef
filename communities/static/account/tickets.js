// A form that makes something carries a ticket, with which it makes that once. Browsers ask for the page again
// after Back, as it is not stored, and get a form with a new ticket. So a page that was left by sending a form
// keeps its tickets in the browser's history, and has them again after Back.

/** @type {NodeListOf<HTMLInputElement>} */
const inputs = document.querySelectorAll('form input[name="ticket"]');

inputs.forEach((input, n) => {
  input.value = history.state?.tickets?.[n] ?? input.value;
});

document.addEventListener("submit", (event) => {
  if (event.defaultPrevented || !inputs.length) return;
  history.replaceState({ ...history.state, tickets: Array.from(inputs, (input) => input.value) }, "");
});
