/* Completion while one types: names and values in conditions, [names] and words in formulas, [tokens] in texts.

     const completion = mountCompletion(control, store, { key, field });      completion.destroy()
     openTokens(control, store, { key, field });                              a list of all tokens to choose from

   Arrow keys choose, Enter or Tab takes the chosen one, Escape closes; Control and the space bar open the list. Enter
   alone takes the first suggestion for a [bracket] with a letter in it; elsewhere it is a new line. A line of
   text is a combobox. An area of text may have no other role than its own, so it points at the list and at the chosen
   entry itself, and how many there are is said. */

import { attribute, h, icon, newId, plural } from "./dom.js";
import { findSubject, shortened, subjects, tokenForm, tokens } from "./reach.js";

const MOST = 50;
const AFTER = new Set(["when_correct", "when_incorrect"]);
const WORD = /(?<![\p{L}\p{Nd}_])field\.[a-z0-9_]*$|[\p{L}][\p{L}\p{M}\p{Nd}_]*$/u;
const OPEN_BRACKET = /\[([^\][\n"]{0,80})$/;
const REST_OF_BRACKET = /^[\p{L}\p{M}\p{Nd}_.]*([|\]])/u;
const OPEN_QUOTE = /"((?:[^"\n]|"")*)$/;
const NAME = /(?<![\p{L}\p{Nd}_])field\.[a-z0-9_]+|[\p{L}][\p{L}\p{M}\p{Nd}_]*|\]|\([\p{L}]+\)/u;
const COMPARED = new RegExp(`(${NAME.source})\\s*(=|==|!=|<|>|<=|>=|\\bin\\b)\\s*(\\[[^\\]]*)?$`, "iu");
const COMPARED_IN_FORMULA = /\[\s*([^\][]+?)\s*\]\s*(==|!=|<|>|<=|>=)\s*$/u;
const WORDS = new Set(["text", "date", "choice", "choices"]); // kinds of answers that are no numbers
const LOGIC_WORDS = [["AND", "Both hold"], ["OR", "At least one holds"], ["NOT", "The opposite"],
  ["in", "Is one of a list"]];
const FORMULA_WORDS = [
  ["if", "if … then … else …"], ["then", "The value if the condition holds"], ["else", "The value otherwise"],
  ["argmax(", "The bucket with the most points"], ["AND", "Both hold"], ["OR", "At least one holds"],
  ["NOT", "The opposite"],
];

/** @param {HTMLInputElement | HTMLTextAreaElement} control @param {Store} store
 *  @param {{ key: string, field: string }} options */
export function mountCompletion(control, store, options) {
  return new Completion(control, store, options);
}

/* Suggestions */

/** @typedef {{ insert: string, name: string, says: string, also?: string, isNoNumber?: boolean }} Offer */
/** Suggestions that replace a part of the text.
 *  @typedef {{ from: number, to: number, items: Offer[], isTakenByEnter?: boolean }} Offers */

/** Offers for a condition at the caret.
 *  @param {Store} store */
function inCondition(store, key, text, caret, isAsked) {
  const before = text.slice(0, caret);
  const quotes = before.split('"').length - 1;
  if (quotes % 2) {
    const [, typed] = OPEN_QUOTE.exec(before) ?? [];
    return typed === undefined ? null : valueOffers(store, key, before.slice(0, -typed.length - 1), typed, caret, text);
  }
  const word = WORD.exec(before)?.[0] ?? "";
  if (!word) {
    const values = valueOffers(store, key, before, "", caret, text, { isQuoted: false });
    if (values?.items.length || !isAsked) return values;
  } else if (COMPARED.test(before.slice(0, -word.length))) {
    const values = valueOffers(store, key, before.slice(0, -word.length), word, caret, text, { isQuoted: false });
    if (values?.items.length) return values;
  }
  const names = subjects(store, key).map((each) => nameOffer(each, each.form, each.form));
  const words = LOGIC_WORDS.map(([insert, says]) => ({ insert, name: insert, says }));
  return { from: caret - word.length, to: caret, items: matching([...names, ...words], word) };
}

/** The values of the name that is compared just before.
 *  @param {Store} store */
function valueOffers(store, key, before, typed, caret, text, { isQuoted = true } = {}) {
  const found = COMPARED.exec(before);
  if (!found) return null;
  const name = found[1].replace(/[()]/g, "");
  const subject = findSubject(store, key, { variable: name });
  const values = subject.choices.length ? subject.choices : subject.suggestions;
  const items = values.map(([value, words]) =>
    ({ insert: quoted(value), name: String(value), says: String(words) === String(value) ? "" : words }));
  const closes = isQuoted && text[caret] === '"' ? 1 : 0;
  return { from: caret - typed.length - (isQuoted ? 1 : 0), to: caret + closes,
    items: matching(items, typed.replaceAll('""', '"')) };
}

function quoted(value) {
  return typeof value === "number" ? String(value) : `"${value.replaceAll('"', '""')}"`;
}

/** Offers for a formula at the caret.
 *  @param {Store} store */
function inFormula(store, key, text, caret, isAsked) {
  const before = text.slice(0, caret);
  const names = subjects(store, key).map((each) => {
    const written = each.isVariable ? each.form : tokenForm(each.name); // [q3] would mean the third block
    return { ...nameOffer(each, `[${written}]`, written), isNoNumber: WORDS.has(each.kind ?? "") };
  });
  const bracket = OPEN_BRACKET.exec(before);
  if (bracket) {
    return bracketOffers(names, bracket[1], caret, text);
  }
  const values = formulaValues(store, key, before, text, caret);
  if (values?.items.length) return values;
  if ((before.split('"').length - 1) % 2) return null;
  const word = WORD.exec(before)?.[0] ?? "";
  if (!word && !isAsked) return null;
  const words = FORMULA_WORDS.map(([insert, says]) => ({ insert, name: insert, says }));
  return { from: caret - word.length, to: caret, items: matching([...words, ...names], word) };
}

/** @param {Store} store */
function formulaValues(store, key, before, text, caret) {
  const typed = OPEN_QUOTE.exec(before)?.[0] ?? "";
  const found = COMPARED_IN_FORMULA.exec(before.slice(0, before.length - typed.length));
  if (!found) return null;
  const subject = findSubject(store, key, { variable: found[1].replace(/[ -]/g, "_") });
  const values = subject.choices.length ? subject.choices : subject.suggestions;
  const items = values.map(([value, words]) =>
    ({ insert: quoted(value), name: String(value), says: String(words) === String(value) ? "" : words }));
  const closes = typed && text[caret] === '"' ? 1 : 0;
  return { from: caret - typed.length, to: caret + closes,
    items: matching(items, typed.slice(1).replaceAll('""', '"')) };
}

/** Offers for a [token] of a text at the caret.
 *  @param {Store} store */
function inText(store, key, text, caret, field) {
  const bracket = OPEN_BRACKET.exec(text.slice(0, caret));
  if (!bracket || bracket[1].includes("|")) return null; // the part after the bar is a text
  const items = tokens(store, key, { answered: AFTER.has(field) })
    .map((each) => nameOffer(each, `[${each.name}]`, each.name));
  return bracketOffers(items, bracket[1], caret, text);
}

/** A name to insert, shown as people call it, with the inserted text beside it if that differs.
 *  @param {Subject | (Token & { isNamed?: boolean, isVariable?: boolean })} subject
 *  @param {string} insert @param {string} written @returns {Offer} */
function nameOffer({ called, isNamed, isVariable, says }, insert, written) {
  const isOther = called && !isNamed && !isVariable;
  return { insert, name: isOther ? called : written, also: written,
    says: isOther ? `written ${insert} · ${says}` : says };
}

/** Offers for a bracket that is open at the caret. After its first letter, Enter takes the first offer. */
function bracketOffers(items, typed, caret, text) {
  const [name, end] = REST_OF_BRACKET.exec(text.slice(caret)) ?? [""];
  const isOpen = end === "|"; // the bracket continues with a text for empty answers, which stays
  const offered = matching(items, typed).map((item) => (isOpen ? { ...item, insert: item.insert.slice(0, -1) } : item));
  return {
    from: caret - typed.length - 1, to: caret + name.length - (isOpen ? 1 : 0), items: offered,
    isTakenByEnter: /\p{L}/u.test(typed),
  };
}

/** The items that begin with the typed text, then the items that contain it. In formulas, answers that are not numbers
 *  count as 0; they are last, unless the typed text is their whole name. */
function matching(items, typed) {
  const wanted = fold(typed);
  const isSame = (item) => item.insert === typed;
  const starts = (item) => [item.name, item.also ?? ""].some((name) => fold(name).startsWith(wanted));
  const has = (item) => fold(`${item.name} ${item.also ?? ""} ${item.says}`).includes(wanted);
  const first = items.filter((item) => !isSame(item) && starts(item));
  const rest = wanted.length > 1 ? items.filter((item) => !isSame(item) && !starts(item) && has(item)) : [];
  const isLast = (item) => Boolean(item.isNoNumber) && ![item.name, item.also].some((name) => fold(name) === wanted);
  const found = [...first, ...rest];
  return [...found.filter((item) => !isLast(item)), ...found.filter(isLast)].slice(0, MOST);
}

function fold(text) {
  return text.normalize("NFD").replace(/\p{M}/gu, "").toLowerCase().replace(/[-\s]/g, "_");
}

class Completion {
  /** @type {Offers | null} */ #offers = null;
  #active = -1;
  #isInserting = false;

  /** @param {HTMLInputElement | HTMLTextAreaElement} control @param {Store} store
   *  @param {{ key: string, field: string }} options */
  constructor(control, store, options) {
    this.control = control;
    this.store = store;
    this.options = options;
    this.isLine = control.tagName === "INPUT";
    this.list = h("ul", { class: "completions", role: "listbox", id: newId("completions"), "aria-label": "Suggestions",
      hidden: true });
    this.count = h("span", { class: "visually-hidden", role: "status" });
    this.anchor = h("div", { class: "completion-anchor" }, this.list, this.count);
    this.#attach();
    if (this.isLine) attribute(control, "role", "combobox");
    attribute(control, "aria-autocomplete", "list");
    this.listeners = {
      input: () => { if (!this.#isInserting) this.#offer(false); },
      keydown: (event) => this.#key(event),
      blur: () => this.close(),
      click: () => this.close(),
    };
    for (const [name, listener] of Object.entries(this.listeners)) control.addEventListener(name, listener);
    this.close();
  }

  /** The list is inserted after the control, which the form may add to the page only later. */
  #attach() {
    if (this.control.parentElement) this.control.after(this.anchor);
  }

  destroy() {
    for (const [name, listener] of Object.entries(this.listeners)) this.control.removeEventListener(name, listener);
    this.anchor.remove();
  }

  #offer(isAsked) {
    const { control, store, options } = this;
    const caret = control.selectionStart;
    const isPlain = caret === control.selectionEnd;
    const text = control.value;
    const { key, field } = options;
    let offers = null;
    if (isPlain && field === "precondition") offers = inCondition(store, key, text, caret, isAsked);
    else if (isPlain && field === "calculated_formula") offers = inFormula(store, key, text, caret, isAsked);
    else if (isPlain) offers = inText(store, key, text, caret, field);
    if (!offers?.items.length) this.close();
    else this.#open(offers);
  }

  #open(offers) {
    if (!this.anchor.isConnected) this.#attach();
    this.#offers = offers;
    this.items = offers.items.map((item, n) => {
      const element = h("li", { role: "option", id: `${this.list.id}-${n}`, class: "completion" },
        h("span", { class: "completion-name" }, item.name), " ",
        h("span", { class: "completion-says" }, shortened(item.says ?? "", 120)));
      element.addEventListener("pointerdown", (event) => {
        event.preventDefault(); // the focus stays in the control
        this.#take(n);
      });
      return element;
    });
    this.items[0].classList.toggle("is-next", Boolean(offers.isTakenByEnter));
    this.list.replaceChildren(...this.items);
    this.list.hidden = false;
    this.#activate(-1);
    attribute(this.control, "aria-controls", this.list.id);
    if (this.isLine) attribute(this.control, "aria-expanded", "true");
    const keys = offers.isTakenByEnter ? "Enter takes the first, arrow keys choose." : "Use the arrow keys.";
    this.count.textContent = `${plural(this.items.length, "suggestion")}. ${keys}`;
  }

  get isOpen() {
    return this.#offers !== null;
  }

  close() {
    this.#offers = null;
    this.#active = -1;
    this.list.hidden = true;
    this.list.replaceChildren();
    attribute(this.control, "aria-activedescendant", null);
    attribute(this.control, "aria-controls", null);
    if (this.isLine) attribute(this.control, "aria-expanded", "false");
    if (this.count.textContent) this.count.textContent = "";
  }

  #activate(n) {
    this.#active = n;
    for (const [at, element] of this.items.entries()) attribute(element, "aria-selected", at === n ? "true" : "false");
    attribute(this.control, "aria-activedescendant", n < 0 ? null : this.items[n].id);
    this.items[n]?.scrollIntoView({ block: "nearest" });
  }

  #key(event) {
    if (event.key === " " && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      this.#offer(true);
      return;
    }
    if (!this.isOpen || event.isComposing) return;
    const last = this.items.length - 1;
    const steps = {
      ArrowDown: () => this.#activate(this.#active >= last ? 0 : this.#active + 1),
      ArrowUp: () => this.#activate(this.#active <= 0 ? last : this.#active - 1),
      Escape: () => this.close(),
    };
    const isEnter = event.key === "Enter" && !event.shiftKey && !event.ctrlKey && !event.metaKey && !event.altKey;
    const isFirst = isEnter && this.#active < 0 && this.#offers?.isTakenByEnter;
    const isTaken = isFirst || ((event.key === "Enter" || event.key === "Tab") && this.#active >= 0 && !event.shiftKey);
    const isPlain = !event.altKey && !event.ctrlKey && !event.metaKey;
    const step = isTaken ? () => this.#take(Math.max(this.#active, 0)) : isPlain ? steps[event.key] : null;
    if (!step) return;
    event.preventDefault();
    event.stopPropagation();
    step();
  }

  #take(n) {
    const { from, to, items } = /** @type {Offers} */ (this.#offers);
    const { insert } = items[n];
    this.close();
    this.#isInserting = true;
    insertText(this.control, insert, from, to);
    this.#isInserting = false;
  }
}

/** Replace a part of the text as if by typing, so the form gets an input event. */
function insertText(control, text, from, to) {
  control.focus();
  control.setRangeText(text, from, to, "end");
  control.dispatchEvent(new InputEvent("input", { bubbles: true, inputType: "insertReplacementText", data: text }));
}

/* The list of all tokens */

/** Open a list of everything that this text may name. The choice is inserted at the caret.
 *  @param {HTMLInputElement | HTMLTextAreaElement} control @param {Store} store
 *  @param {{ key: string, field?: string }} options */
export function openTokens(control, store, { key, field = "prompt" }) {
  const end = control.value.length;
  const caret = { from: control.selectionStart ?? end, to: control.selectionEnd ?? end };
  const all = tokens(store, key, { answered: AFTER.has(field) });
  const title = newId("tokens");
  const search = h("input", { class: "entry", type: "search", placeholder: "Search", "aria-label": "Search",
    autocomplete: "off" });
  const list = h("div", { class: "token-list" });
  const none = h("p", { class: "help", role: "status" });
  const close = h("button", { type: "button", class: "icon-button", "aria-label": "Close",
    onclick: () => dialog.close() }, icon("close"));
  const dialog = h("dialog", { class: "sheet", "aria-labelledby": title }, h("div", { class: "sheet-body" },
    h("div", { class: "sheet-head" }, h("h2", { id: title }, "Insert into the text"), close),
    h("p", { class: "help" }, "It stands in brackets. Each respondent sees their own."), search, none, list));
  const choose = (token) => {
    dialog.close();
    insertText(control, `[${token.name}]`, caret.from, caret.to);
  };
  const draw = () => {
    const wanted = fold(search.value);
    const wordsOf = (token) => `${token.name} ${token.called ?? ""} ${token.says} ${token.group}`;
    const found = all.filter((token) => fold(wordsOf(token)).includes(wanted));
    none.textContent = found.length ? "" : "Nothing by that name can be used here.";
    list.replaceChildren(...grouped(found).map(([group, members]) => tokenGroup(group, members, choose)));
  };
  search.addEventListener("input", draw);
  search.addEventListener("keydown", (event) => {
    if (event.key !== "ArrowDown" && event.key !== "Enter") return;
    event.preventDefault();
    const first = list.querySelector("button");
    if (event.key === "Enter") first?.click();
    else first?.focus();
  });
  list.addEventListener("keydown", (event) => stepAmong(event, list, search));
  dialog.addEventListener("close", () => {
    dialog.remove();
    control.focus();
  });
  draw();
  document.body.append(dialog);
  dialog.showModal();
  search.focus();
  return dialog;
}

function grouped(found) {
  const groups = new Map();
  for (const token of found) groups.set(token.group, [...(groups.get(token.group) ?? []), token]);
  return [...groups];
}

function tokenGroup(group, members, choose) {
  const id = newId("token-group");
  return h("section", { "aria-labelledby": id }, h("h3", { id }, group), h("ul", {}, members.map((token) =>
    h("li", {}, h("button", { type: "button", class: "token", onclick: () => choose(token) },
      token.called ? h("b", {}, token.called) : h("code", {}, `[${token.name}]`), " ",
      h("span", {}, token.called ? `${token.says} · written [${token.name}]` : token.says))))));
}

/** Arrow keys move from entry to entry, and from the first entry back to the search. */
function stepAmong(event, list, search) {
  if (event.key !== "ArrowDown" && event.key !== "ArrowUp") return;
  const buttons = [...list.querySelectorAll("button")];
  const at = buttons.indexOf(document.activeElement) + (event.key === "ArrowDown" ? 1 : -1);
  event.preventDefault();
  (at < 0 ? search : buttons[Math.min(at, buttons.length - 1)])?.focus();
}
