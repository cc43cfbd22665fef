// A form that creates something has a ticket, which works once. Browsers do not store the page: after Back they
// request it again, and get a form with a new ticket. So a page whose form was sent keeps its tickets in the
// browser's history, and restores them after Back.

/** @type {NodeListOf<HTMLInputElement>} */
const inputs = document.querySelectorAll('form input[name="ticket"]');

inputs.forEach((input, n) => {
  input.value = history.state?.tickets?.[n] ?? input.value;
});

document.addEventListener("submit", (event) => {
  if (event.defaultPrevented || !inputs.length) return;
  history.replaceState({ ...history.state, tickets: Array.from(inputs, (input) => input.value) }, "");
});
