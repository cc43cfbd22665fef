/* The palette of the eleven types: what each is for, with a small picture. Typing searches, arrow keys choose. */

import { attribute, h, icon } from "./dom.js";
import { GROUPS, IN_POLLS, INSTEAD, TYPES } from "./types.js";

/** `options`: add(type). Answers `{open()}`.
 *  @param {HTMLElement} element @param {Store} store @param {{ add(type: string): void }} options */
export function mountPalette(element, store, options) {
  return new Palette(element, store, options);
}

/** A type to choose. @typedef {{ type: string, about: typeof TYPES[string], element: HTMLElement }} Choice */

class Palette {
  /** @type {Choice[]} */ choices = [];
  /** @type {{ choices: Choice[], element: HTMLElement }[]} */ groups = [];

  /** @param {HTMLElement} element @param {Store} store @param {{ add(type: string): void }} options */
  constructor(element, store, options) {
    this.store = store;
    this.options = options;
    this.search = h("input",
      { type: "search", class: "entry", role: "combobox", "aria-label": "Search the types of blocks",
        "aria-expanded": "true", "aria-controls": "palette-list", "aria-autocomplete": "list",
        placeholder: "Search: stars, number, menu…", autocomplete: "off", oninput: () => this.#filter(),
        onkeydown: (event) => this.#key(event) });
    this.list = h("div", { role: "listbox", id: "palette-list", "aria-label": "Types of blocks",
      class: "palette-list" });
    this.none = h("p", { class: "help", hidden: true, role: "status" });
    this.dialog = h("dialog", { class: "sheet palette", "aria-labelledby": "palette-title",
      onclick: (event) => { if (event.target === this.dialog) this.dialog.close(); } },
      h("div", { class: "sheet-body" },
        h("div", { class: "sheet-head" }, h("h2", { id: "palette-title" }, "Add a block"),
          h("button", { type: "button", class: "icon-button", "aria-label": "Close",
            onclick: () => this.dialog.close() }, icon("close"))),
        this.search, this.list, this.none));
    this.#build();
    element.append(this.dialog);
  }

  #build() {
    const isPoll = (this.store.project.info?.type ?? this.store.project.type) === "poll";
    this.choices = Object.entries(TYPES).filter(([type]) => !isPoll || IN_POLLS.has(type))
      .map(([type, about]) => this.#choice(type, about));
    this.groups = GROUPS.map((name) => {
      const choices = this.choices.filter((choice) => choice.about.group === name);
      const id = `palette-${name.replace(/\W+/g, "-").toLowerCase()}`;
      return { choices,
        element: h("div", { role: "group", "aria-labelledby": id, class: "palette-group", hidden: !choices.length },
          h("div", { class: "section-head", id, role: "presentation" }, name),
          h("div", { class: "palette-choices", role: "presentation" }, choices.map((choice) => choice.element))) };
    });
    this.list.append(...this.groups.map((group) => group.element));
  }

  #choice(type, about) {
    const element = h("div", { role: "option", id: `palette-${type}`, class: "palette-choice", "aria-selected": "false",
      onclick: () => this.#take(type), onpointermove: () => this.#mark(type) },
      icon(`picture-${type}`, "palette-picture"), h("span", {}, h("b", {}, about.name), h("small", {}, about.says)));
    return { type, about, element };
  }

  open() {
    this.search.value = "";
    this.#filter();
    this.dialog.showModal();
    this.search.focus();
  }

  #filter() {
    const words = wordsOf(this.search.value).filter(Boolean);
    const fits = this.choices.map(({ about }) => {
      const known = wordsOf(`${about.name} ${about.words} ${about.says} ${about.group}`);
      return (word) => known.some((each) => each.startsWith(word));
    });
    const isFound = fits.some((each) => words.every(each)) ? "every" : "some"; // else those that fit one of the words
    for (const [n, { element }] of this.choices.entries()) {
      element.hidden = words.length > 0 && !words[isFound](fits[n]);
    }
    for (const group of this.groups) group.element.hidden = group.choices.every((choice) => choice.element.hidden);
    const shown = this.#shown();
    const says = INSTEAD.find((each) => each.words.includes(words[0])
      && shown.some(({ type }) => type === each.type))?.says;
    this.none.textContent = says ?? (shown.length ? "" : "No type is called that.");
    this.none.hidden = !this.none.textContent;
    this.#mark((bestFor(shown, words[0]) ?? shown[0])?.type ?? null);
  }

  #shown() {
    return this.choices.filter((choice) => !choice.element.hidden);
  }

  #mark(type) {
    this.marked = type;
    for (const choice of this.choices) attribute(choice.element, "aria-selected", String(choice.type === type));
    attribute(this.search, "aria-activedescendant", type && `palette-${type}`);
    this.choices.find((choice) => choice.type === type)?.element.scrollIntoView({ block: "nearest" });
  }

  #key(event) {
    const shown = this.#shown();
    const at = shown.findIndex((choice) => choice.type === this.marked);
    const step = this.search.value ? 0 : { ArrowRight: 1, ArrowLeft: -1 }[event.key]; // in a word they move the caret
    const isVertical = ["ArrowDown", "ArrowUp"].includes(event.key);
    if (event.key === "Enter" && this.marked) this.#take(this.marked);
    else if (isVertical) this.#mark((beside(shown, shown[at], event.key === "ArrowDown") ?? shown[at])?.type ?? null);
    else if (step) this.#mark(shown[Math.min(Math.max(at + step, 0), shown.length - 1)].type);
    else return;
    event.preventDefault();
  }

  #take(type) {
    this.dialog.close();
    this.options.add(type);
  }
}

/** The type whose name begins with the typed text, or else a type with such a keyword. */
function bestFor(choices, word) {
  if (!word) return null;
  return choices.find(({ about }) => about.name.toLowerCase().startsWith(word))
    ?? choices.find(({ about }) => wordsOf(about.words).includes(word));
}

function wordsOf(text) {
  return text.toLowerCase().split(/[^\p{L}\p{N}]+/u);
}

/** The choice above or below another one. */
function beside(choices, from, isBelow) {
  const here = from?.element.getBoundingClientRect();
  const distance = ({ element }) => {
    const box = element.getBoundingClientRect();
    const across = isBelow ? box.top - here.bottom : here.top - box.bottom;
    return across < -1 ? Infinity : across * 100 + Math.abs(box.left - here.left);
  };
  return here && choices.filter((choice) => distance(choice) < Infinity)
    .sort((one, other) => distance(one) - distance(other))[0];
}
