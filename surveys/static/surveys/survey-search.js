/* A long menu with a field for searching: what is typed narrows the list below it (ARIA's combobox). The menu stays in
   the form and keeps its value. Without this script, or if it cannot be loaded, the menu is used as it is. */

const plain = (text) => text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase().trim();

/** Those that begin with the words come first. @param {HTMLOptionElement[]} options @param {string} words */
function found(options, words) {
  const wanted = plain(words);
  const begins = options.filter((each) => plain(each.text).startsWith(wanted));
  return [...begins, ...options.filter((each) => !begins.includes(each) && plain(each.text).includes(wanted))];
}

/** @param {HTMLSelectElement} menu */
export function makeSearchable(menu) {
  if (menu.hidden || menu.disabled) return;
  const options = [...menu.options].filter((each) => each.value);
  const text = (each) => each.text.trim();
  const field = document.createElement("input");
  const list = document.createElement("ul");
  const box = document.createElement("div");
  let shown = options;
  let at = -1; // the option that Enter takes

  box.className = "searchable";
  Object.assign(field, { type: "text", className: "search-entry", id: menu.id, placeholder: menu.options[0].text.trim(),
    autocomplete: "off", spellcheck: false });
  menu.id = `${field.id}-menu`;
  Object.assign(list, { id: `${field.id}-list`, hidden: true });
  list.setAttribute("role", "listbox");
  list.setAttribute("aria-label", field.placeholder);
  field.setAttribute("role", "combobox");
  field.setAttribute("aria-autocomplete", "list");
  field.setAttribute("aria-controls", list.id);
  field.setAttribute("aria-expanded", "false");
  for (const name of ["aria-labelledby", "aria-describedby", "aria-invalid"]) {
    const value = menu.getAttribute(name);
    if (value) field.setAttribute(name, value);
  }

  const chosen = () => options.find((each) => each.selected);
  const showChosen = () => { const own = chosen(); field.value = own ? text(own) : ""; };

  function close() {
    list.hidden = true;
    at = -1;
    field.setAttribute("aria-expanded", "false");
    field.removeAttribute("aria-activedescendant");
  }

  function mark(index) {
    list.querySelector("[aria-selected=true]")?.setAttribute("aria-selected", "false");
    at = index;
    const item = list.children[index];
    if (!item) return void field.removeAttribute("aria-activedescendant");
    item.setAttribute("aria-selected", "true");
    field.setAttribute("aria-activedescendant", item.id);
    item.scrollIntoView({ block: "nearest" });
  }

  function open(words) {
    shown = words ? found(options, words) : options;
    list.replaceChildren(...shown.map((each, n) => {
      const item = document.createElement("li");
      Object.assign(item, { id: `${list.id}-${n}`, textContent: text(each), lang: each.lang, dir: each.dir });
      item.setAttribute("role", "option");
      item.setAttribute("aria-selected", "false");
      item.addEventListener("pointerdown", (event) => event.preventDefault()); // the field keeps the focus
      item.addEventListener("click", () => choose(each));
      return item;
    }));
    list.hidden = shown.length === 0;
    field.setAttribute("aria-expanded", String(shown.length > 0));
    const own = chosen();
    mark(words ? Math.min(0, shown.length - 1) : (own ? shown.indexOf(own) : -1));
  }

  function take(value) {
    if (menu.value === value) return;
    menu.value = value;
    menu.dispatchEvent(new Event("change", { bubbles: true }));
  }

  function choose(option) {
    take(option.value);
    close();
    showChosen();
  }

  /** A typed text chooses the option that it is, or the only one that begins with it. Another text stays. */
  function settle() {
    const typed = field.value;
    const words = plain(typed);
    if (words !== (chosen() ? plain(text(chosen())) : "")) {
      const begun = options.filter((each) => plain(each.text).startsWith(words));
      const meant = options.find((each) => plain(each.text) === words) ?? (begun.length === 1 ? begun[0] : undefined);
      take(words && meant ? meant.value : "");
    }
    close();
    showChosen();
    if (!chosen()) field.value = typed.trim();
  }

  field.addEventListener("input", () => open(field.value));
  field.addEventListener("click", () => { if (list.hidden) { field.select(); open(""); } });
  field.addEventListener("blur", settle);
  field.addEventListener("keydown", (event) => {
    const { key } = event;
    if (key === "ArrowDown" || key === "ArrowUp") {
      if (list.hidden) open("");
      const last = shown.length - 1;
      if (last >= 0) mark(key === "ArrowDown" ? (at >= last ? 0 : at + 1) : (at <= 0 ? last : at - 1));
    } else if (key === "Enter" && !list.hidden && shown[at]) choose(shown[at]);
    else if (key === "Escape" && !list.hidden) { close(); showChosen(); }
    else return;
    event.preventDefault();
    event.stopPropagation();
  });
  // A text that is no option is sent, and refused with a sentence: without an answer, an optional question is skipped.
  menu.form?.addEventListener("submit", () => {
    if (field.value.trim() && !chosen()) menu.append(new Option("", `?${field.value.trim()}`, true, true)); // no id
  }, true);
  menu.addEventListener("change", () => { if (document.activeElement !== field) showChosen(); });

  const hadFocus = document.activeElement === menu;
  box.append(field, list);
  menu.before(box);
  menu.hidden = true;
  showChosen();
  if (!chosen()) field.value = menu.dataset.typed ?? ""; // which was refused
  if (hadFocus || menu.autofocus) field.focus({ preventScroll: true });
}
