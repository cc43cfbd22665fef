/* The options of a choice or ranking, edited in place. Enter adds the next, a pasted list becomes options, Backspace in
   an empty one removes it, Alt with the arrow keys moves it. The label is also the stored value, until "stored values"
   are shown: then both have a field. */

import { addPicture } from "../../staff/fields.js";
import { arrange, attribute, h, icon, plural, text } from "./dom.js";
import { changeOptions, correctKeys, markCorrect, newKey } from "./document.js";
import { pickEmoji } from "./emoji.js";
import { contractName, describe, problemList, unfold } from "./field.js";
import { askForList, divide, linesOf, told } from "./pasting.js";
import { makeSortable, slotsBetween } from "./sorting.js";
import { MAX_ITEMS, MAX_MENU_OPTIONS, MAX_OPTIONS } from "./types.js";

const COLUMNS_OF_SCORES = 2; // more buckets than this are in a line of their own

/** @param {FormContext} cx */
export function mountOptions(cx) {
  return new Options(cx).element;
}

class Options {
  /** @type {HTMLSpanElement} */ count;
  /** @type {HTMLButtonElement} */ add;
  /** @type {HTMLButtonElement} */ addAlone;
  /** @type {HTMLButtonElement} */ addOther;
  /** @type {HTMLInputElement} */ values;
  /** @type {HTMLInputElement} */ pictures;
  /** @type {HTMLDivElement} */ head;
  /** @type {Map<string, Row>} */ #rows = new Map();

  /** @param {FormContext} cx */
  constructor(cx) {
    this.cx = cx;
    this.isRanking = cx.block.type === "ranking";
    this.noun = this.isRanking ? "item" : "option";
    this.canChangeList = cx.isOpen("options");
    this.showsValues = false;
    this.showsPictures = false;
    this.list = h("ol", { class: "options-list" });
    this.problems = problemList(cx, "options", null, { isExact: true });
    this.element = this.#build();
    cx.fields.set("options", {
      path: "options", element: this.element, update: (block) => this.update(block),
      focus: () => this.#focusAt(0),
      showIssues: () => { this.problems.show(); for (const row of this.#rows.values()) row.problems.show(); },
    });
    this.update(cx.block);
    this.problems.show();
    this.#followFocus();
    if (this.canChangeList) this.#makeSortable();
  }

  /** Mark the row that was used last, whose tools a phone shows. Not while a finger or a button is down: what is
      pressed would move away from it, and the press would be lost. */
  #followFocus() {
    let isPressed = false;
    let current = null;
    const mark = () => {
      for (const row of this.list.children) row.classList.toggle("is-used", row === current);
    };
    this.list.addEventListener("focusin", (event) => {
      current = /** @type {Element} */ (event.target).closest(".option-row");
      if (!isPressed) setTimeout(mark);
    });
    this.list.addEventListener("mousedown", () => {
      isPressed = true;
      addEventListener("mouseup", () => { isPressed = false; setTimeout(mark); }, { once: true });
    });
  }

  get scores() {
    return this.cx.store.scoring && !this.isRanking ? this.cx.store.buckets : [];
  }

  get isMenu() {
    return this.cx.block.type === "single_punch" && this.cx.block.answer_style === "select_menu";
  }

  get limit() {
    if (this.isRanking) return MAX_ITEMS;
    const { limits } = this.cx.store.vocabulary;
    return this.isMenu ? limits?.menu_options ?? MAX_MENU_OPTIONS : limits?.options ?? MAX_OPTIONS;
  }

  /** The most options that a question of this kind can have, wherever it is delivered. */
  get most() {
    if (this.isRanking) return MAX_ITEMS;
    return this.isMenu ? MAX_MENU_OPTIONS : MAX_OPTIONS;
  }

  get isWide() {
    return this.scores.length <= COLUMNS_OF_SCORES;
  }

  #build() {
    const { cx } = this;
    this.count = h("span", { class: "quiet-count" });
    this.add = h("button", { type: "button", class: "quiet add", disabled: !this.canChangeList,
      onclick: () => this.insert(null) }, icon("plus"), `Add ${this.noun}`);
    this.addOther = h("button", { type: "button", class: "quiet", disabled: !this.canChangeList, hidden: this.isRanking,
      title: "An option for which respondents write a text of their own",
      onclick: () => this.insert(null, ["Other"], { is_other: true }) }, "Add “Other”");
    this.addAlone = h("button", { type: "button", class: "quiet", disabled: !this.canChangeList,
      hidden: cx.block.type !== "multi_punch", title: "An option that cannot be chosen with others",
      onclick: () => this.insert(null, ["None of these"], { is_exclusive: true }) }, "Add “None of these”");
    const paste = h("button", { type: "button", class: "quiet", disabled: !this.canChangeList,
      onclick: () => askForList(this.noun, (...list) => this.#append(...list)) }, icon("paste"), "Paste a list");
    this.values = h("input",
      { type: "checkbox", onchange: () => { this.showsValues = this.values.checked; this.update(cx.block); } });
    this.pictures = h("input",
      { type: "checkbox", onchange: () => { this.showsPictures = this.pictures.checked; this.update(cx.block); } });
    this.head = h("div", { class: "options-head", "aria-hidden": "true" });
    return h("fieldset", { class: "ed-field options" },
      h("legend", {}, this.isRanking ? "Items to rank " : "Options ", contractName("options"), this.count),
      this.head, this.list, this.problems.list,
      h("div", { class: "options-foot" }, this.add, this.addOther, this.addAlone, paste,
        h("label", { class: "small-check" }, this.values, h("span", {}, "Show stored values")),
        h("label", { class: "small-check" }, this.pictures, h("span", {}, "Pictures"))));
  }

  /** @param {Block} block */
  update(block) {
    const options = block.options ?? [];
    const hasLabels = options.some((option) => option.label !== null && option.label !== undefined);
    const showsValues = this.showsValues || hasLabels;
    this.values.checked = showsValues;
    this.values.disabled = hasLabels && !this.showsValues;
    const hasPictures = options.some((option) => option.image_url);
    const showsPictures = this.showsPictures || hasPictures;
    this.pictures.checked = showsPictures;
    this.pictures.disabled = hasPictures;
    const isFull = options.length >= this.limit;
    text(this.count, isFull ? ` ${options.length} of at most ${this.limit}` : options.length > 5
      ? ` ${plural(options.length, this.noun)}` : "");
    this.add.disabled = !this.canChangeList || isFull;
    const hasAlone = options.some((option) => option.is_exclusive);
    this.addOther.disabled = this.add.disabled || options.some((option) => option.is_other);
    this.addAlone.disabled = this.add.disabled || hasAlone;
    this.element.classList.toggle("has-alone", hasAlone);
    this.#head(showsValues);
    this.element.classList.toggle("has-right", this.scores.length > 0);
    this.element.classList.toggle("has-pin",
      Boolean(block.randomize_options) || options.some((option) => option.anchor_position === "last"));
    const right = correctKeys(block);
    const keys = new Set(options.map((option) => option.key));
    for (const key of this.#rows.keys()) if (!keys.has(key)) this.#drop(key);
    const rows = options.map((option, n) => {
      const row = this.#rows.get(option.key) ?? this.#makeRow(option);
      row.update(option, { n, count: options.length, showsValues, isRight: right.includes(option.key),
        isShuffled: block.randomize_options, hasAlone, showsPictures });
      return row.element;
    });
    arrange(this.list, rows);
  }

  #head(showsValues) {
    const names = [showsValues && ["Label", "wide"], showsValues && ["Stored value", "wide"],
      ...(this.isWide ? this.scores.map((bucket) => [bucket.name, "score"]) : [])].filter(Boolean);
    const signature = JSON.stringify(names);
    if (this.head.dataset.names === signature) return;
    this.head.dataset.names = signature;
    this.head.hidden = !names.length;
    this.head.replaceChildren(...(showsValues ? [] : [h("span", { class: "wide" }, "")]),
      ...names.map(([name, kind]) => h("span", { class: kind, title: name }, name)));
  }

  /** @param {BlockOption} option */
  #makeRow(option) {
    const row = new Row(this, option);
    this.#rows.set(option.key, row);
    this.cx.fields.set(`options.${option.key}`, { path: `options.${option.key}`, update() {}, focus: () => row.focus(),
      showIssues: () => row.problems.show() });
    return row;
  }

  #drop(key) {
    this.#rows.delete(key);
    this.cx.fields.delete(`options.${key}`);
  }

  /** @param {(options: BlockOption[]) => BlockOption[] | void} fn @param {string} label
   *  @param {string | null} [merge] */
  change(fn, label, merge = null) {
    return this.cx.change((block) => changeOptions(block, fn), label, merge);
  }

  /** Add an empty option after another one (null: at the end) and write into it. */
  insert(after, values = [""], more = {}) {
    if (!this.canChangeList) return;
    const added = values.map((value) => ({ ...made(value), ...more }));
    this.change((options) => {
      const at = after === null ? options.length : options.findIndex((option) => option.key === after) + 1;
      options.splice(at, 0, ...added);
      return options;
    }, `Add ${this.noun}`);
    this.#rows.get(added.at(-1)?.key ?? "")?.focus();
  }

  /** Enter in an option: move to the next option if it is empty, else insert a new option. */
  goOn(key) {
    const options = this.cx.block.options ?? [];
    const at = this.#indexOf(key);
    const isEmpty = (option) => option && !option.value && !option.label;
    if (isEmpty(options[at + 1])) this.#focusAt(at + 1);
    else if (!isEmpty(options[at])) this.insert(key);
  }

  /** Options beyond the project's limit stay, with a fault; only options beyond any question's limit are left out.
      Returns the options that were left out. */
  #append(lines, values = new Map()) {
    let parts = null;
    const option = (line) => (values.has(line) ? { ...made(values.get(line)), label: line } : made(line));
    this.change((options) => {
      const filled = options.filter((option) => option.id || option.value.trim());
      parts = divide(lines, this.most - filled.length, textsOf(filled));
      return [...filled, ...parts.taken.map(option)];
    }, "Paste a list");
    this.add.focus();
    return this.#told(parts);
  }

  #told(parts) {
    const isCut = parts.tooMany.length && this.cx.block.type === "single_punch" && !this.isMenu;
    const says = told(parts, this.noun, this.most)
      + (isCut ? ` A question that is drawn as a menu can have ${MAX_MENU_OPTIONS.toLocaleString("en")}.` : "");
    this.cx.options.announce(says);
    const isFull = (this.cx.block.options ?? []).length >= this.most;
    const rest = [...parts.tooMany, ...parts.tooLong];
    return { says, rest: rest.length ? rest : parts.repeated, isFull: isFull || !rest.length };
  }

  /** Several lines pasted into an option: they follow it, and if it is blank the first goes into it. Options still
      blank make way. For what is left out, the box of "Paste a list" opens. */
  pasteInto(key, lines, { isBlank }) {
    const isFilled = (option) => option.id || option.value.trim() || option.label || option.emoji
      || option.score_values;
    const stays = (option) => (option.key === key ? !isBlank : isFilled(option));
    const others = (this.cx.block.options ?? []).filter(stays);
    const parts = divide(lines, this.most - others.length, textsOf(others));
    if (parts.taken.length) {
      const more = isBlank ? parts.taken.slice(1) : parts.taken;
      this.change((options) => {
        const at = options.findIndex((option) => option.key === key);
        if (isBlank) Object.assign(options[at], { value: parts.taken[0], label: null });
        options.splice(at + 1, 0, ...more.map(made));
        return options.filter((option) => option.key === key || isFilled(option));
      }, "Paste a list");
      this.#focusAt(this.#indexOf(key) + more.length);
    }
    const left = this.#told(parts);
    if (left.rest.length) askForList(this.noun, (...rest) => this.#append(...rest), left);
  }

  remove(key, { focusBefore = false } = {}) {
    if (!this.canChangeList) return;
    const { block, store } = this.cx;
    const option = block.options?.find((each) => each.key === key);
    if (!this.mayRemove(option)) return;
    const mayBeChosen = option && block.id && store.answered.has(block.id) && store.known.options.has(option.id);
    if (!mayBeChosen) return void this.#takeOut(key, focusBefore);
    this.cx.options.confirmOption(block, option, this.noun)
      .then((agreed) => { if (agreed) this.#takeOut(key, focusBefore); });
  }

  /** A saved option stays while respondents are answering.
   *  @param {BlockOption | undefined} option */
  mayRemove(option) {
    const { block, store } = this.cx;
    return this.canChangeList && !(store.isLive && block.id && option?.id);
  }

  #takeOut(key, focusBefore) {
    const at = this.#indexOf(key);
    this.change((options) => options.filter((option) => option.key !== key), `Remove ${this.noun}`);
    this.cx.options.announce(`${this.noun[0].toUpperCase()}${this.noun.slice(1)} removed.`);
    if (!this.#focusAt(Math.max(0, focusBefore ? at - 1 : Math.min(at, this.#rows.size - 1)))) this.add.focus();
  }

  move(key, step) {
    const at = this.#indexOf(key);
    const to = at + step;
    if (!this.canChangeList || to < 0 || to >= this.#rows.size) return;
    this.place(key, (options) => (step > 0 ? options[to + 1]?.key ?? null : options[to].key));
    this.#rows.get(key)?.focus();
    this.cx.options.announce(`Moved to place ${to + 1} of ${this.#rows.size}.`);
  }

  /** Put an option before another one, whose key `beforeIn` finds in the list as it was. */
  place(key, beforeIn) {
    this.change((options) => {
      const before = beforeIn(options);
      const moved = options.filter((each) => each.key === key);
      const others = options.filter((each) => each.key !== key);
      const at = others.findIndex((each) => each.key === before);
      others.splice(at < 0 ? others.length : at, 0, ...moved);
      return others;
    }, `Move ${this.noun}`);
  }

  mark(key) {
    const right = correctKeys(this.cx.block);
    const others = this.cx.block.type === "multi_punch" ? right.filter((each) => each !== key) : [];
    const now = right.includes(key) ? others : [...others, key];
    this.cx.change((block) => markCorrect(block, now),
      now.length ? "Mark the right answer" : "Have no right answer");
  }

  focusNext(key, step) {
    return this.#focusAt(this.#indexOf(key) + step);
  }

  #indexOf(key) {
    return (this.cx.block.options ?? []).findIndex((option) => option.key === key);
  }

  #focusAt(n) {
    const key = this.cx.block.options?.[n]?.key;
    return this.#rows.get(key ?? "")?.focus() ?? false;
  }

  #makeSortable() {
    makeSortable(this.list, {
      item: ".option-row", grip: ".grip", gripOnly: true, canDrag: () => true,
      scroller: this.list.closest(".pane") ?? document.documentElement,
      name: (row) => row.querySelector("input")?.value || this.noun,
      slots: () => slotsBetween([...this.list.children], this.list.getBoundingClientRect().top),
      drop: (row, slot) => {
        if (slot.before !== row) this.place(row.dataset.key, () => slot.before?.dataset.key ?? null);
      },
    });
  }
}

/** The texts by which a pasted line repeats an option. @param {BlockOption[]} options */
const textsOf = (options) => options.flatMap(({ value, label }) => [value, label ?? value]);

function made(value) {
  return { key: newKey(), id: null, value, label: null, emoji: null };
}

class Row {
  /** @param {Options} list @param {BlockOption} option */
  constructor(list, option) {
    this.list = list;
    this.key = option.key;
    const { cx, noun } = list;
    this.entry = this.#textEntry("Label", (value) => this.#setText(value));
    this.stored = this.#textEntry("Stored value", (value) => this.#setStored(value));
    this.emoji = h("button", { type: "button", class: "emoji-button", onclick: () => this.#chooseEmoji(),
      disabled: !cx.isOpen("options.x.emoji") });
    this.scores = list.scores.map((bucket) => this.#scoreEntry(bucket));
    this.right = list.scores.length
      ? h("button", { type: "button", class: "icon-button right", disabled: !cx.isOpen("correct_answer_ids"),
        onclick: () => list.mark(this.key) }, icon("check")) : null;
    const isOpen = (field) => cx.isOpen(`options.${option.key}.${field}`);
    this.pin = h("button", { type: "button", class: "icon-button pin", disabled: !isOpen("anchor_position"),
      onclick: () => this.#pin() }, icon("pin"));
    this.alone = h("button", { type: "button", class: "icon-button alone", disabled: !list.canChangeList,
      onclick: () => this.#set("is_exclusive", !this.#current()?.is_exclusive, "Cannot be chosen with others") },
    icon("alone"));
    this.writes = h("button", { type: "button", class: "icon-button writes", "aria-pressed": "true",
      disabled: !list.canChangeList, title: "Respondents write a text of their own",
      onclick: () => { this.#set("is_other", null, "Ask for no text"); this.focus(); } }, icon("edit"));
    this.address = this.#pictureEntry("image_url", "https://… (picture)");
    this.alt = this.#pictureEntry("image_alt", "What the picture shows");
    this.picture = h("span", { class: "option-picture" }, h("span", { class: "option-file" }, this.address), this.alt);
    this.showPicture = addPicture(this.address);
    this.up = this.#tool("up", () => list.move(this.key, -1), "-1");
    this.down = this.#tool("down", () => list.move(this.key, 1), "-1");
    this.delete = this.#tool("close", () => list.remove(this.key));
    this.problems = problemList(cx, `options.${option.key}`, this.entry);
    this.entry.disabled = !cx.isOpen("options.x.label");
    this.stored.disabled = !isOpen("value");
    this.delete.disabled = !list.mayRemove(option);
    const scores = this.scores.length ? h("span", { class: list.isWide ? "scores in-line" : "scores below" },
      this.scores.map((score) => score.element)) : null;
    this.element = h("li", { class: "option-row", "data-key": option.key },
      h("span", { class: "grip", "aria-hidden": "true", hidden: !list.canChangeList }, icon("grip")),
      this.emoji, this.entry, this.stored, list.isWide && scores,
      h("span", { class: "option-tools" }, this.right, this.writes, this.alone, this.pin,
        h("span", { class: "option-moves" }, this.up, this.down), this.delete),
      !list.isWide && scores, this.picture, this.problems.list);
    this.noun = noun;
  }

  #showField(input, value, label) {
    if (input.value !== (value ?? "")) input.value = value ?? "";
    attribute(input, "aria-label", label);
  }

  /** @param {"image_url" | "image_alt"} field @param {string} placeholder */
  #pictureEntry(field, placeholder) {
    const input = h("input", { type: field === "image_url" ? "url" : "text", class: "entry", dir: "auto",
      autocomplete: "off", placeholder, maxlength: field === "image_url" ? 2048 : 500,
      disabled: !this.list.cx.isOpen(`options.x.${field}`),
      oninput: () => this.#set(field, input.value || null, "Change a picture") });
    return input;
  }

  /** @param {string} name @param {() => void} onclick @param {string | null} [tabindex] */
  #tool(name, onclick, tabindex = null) {
    return h("button", { type: "button", class: "icon-button", tabindex, onclick, disabled: !this.list.canChangeList },
      icon(name));
  }

  #textEntry(kind, set) {
    return h("input", { type: "text", class: "entry", dir: "auto", autocomplete: "off", maxlength: 500,
      "data-path": `options.${this.key}`, "data-kind": kind,
      "aria-keyshortcuts": "Enter Alt+ArrowUp Alt+ArrowDown", oninput: (event) => set(event.target.value),
      onkeydown: (event) => this.#key(event),
      onpaste: (event) => this.#paste(event), onfocus: () => { this.before = this.#current()?.value; },
      onchange: () => this.#carry() });
  }

  #current() {
    return this.list.cx.block?.options?.find((option) => option.key === this.key);
  }

  /** Conditions that compare with the old value get the new one. */
  #carry() {
    const after = this.#current()?.value;
    const { cx } = this.list;
    if (this.before && after && after !== this.before) cx.options.revalued?.(cx.key, this.before, after);
    this.before = after;
  }

  #scoreEntry(bucket) {
    const input = h("input", { type: "number", step: "any", class: "entry score", placeholder: "0",
      disabled: !this.list.cx.isOpen(`options.${this.key}.score_values`), inputmode: "decimal",
      oninput: () => this.#setScore(bucket.key, input) });
    const element = this.list.isWide ? input : h("label", { class: "score-label" }, h("span", {}, bucket.name), input);
    return { bucket, input, element };
  }

  /** @param {BlockOption} option */
  update(option, { n, count, showsValues, isRight, isShuffled, hasAlone, showsPictures }) {
    const name = `${this.noun.charAt(0).toUpperCase()}${this.noun.slice(1)} ${n + 1}`;
    const shown = option.label ?? option.value;
    if (this.entry.value !== shown) this.entry.value = shown;
    if (this.stored.value !== option.value) this.stored.value = option.value;
    attribute(this.entry, "aria-label", showsValues ? `${name}, label` : name);
    attribute(this.entry, "placeholder", name);
    attribute(this.stored, "aria-label", `${name}, stored value`);
    this.stored.hidden = !showsValues;
    this.#showEmoji(option, name);
    for (const { bucket, input } of this.scores) {
      this.#showScore(input, option.score_values?.[bucket.key], `${name}, points for ${bucket.name}`);
    }
    if (this.right) {
      const severalRight = this.list.cx.block.type === "multi_punch";
      const rightWords = severalRight ? "one of the right answers" : "the right answer";
      attribute(this.right, "aria-pressed", String(isRight));
      attribute(this.right, "aria-label", `${name} is ${rightWords}`);
      attribute(this.right, "title", severalRight ? "One of the right answers: exactly these must be chosen"
        : "Right answer");
    }
    this.picture.hidden = !showsPictures;
    this.#showField(this.address, option.image_url, `${name}, address of its picture`);
    this.showPicture();
    this.#showField(this.alt, option.image_alt, `${name}, what its picture shows`);
    this.writes.hidden = !option.is_other;
    attribute(this.writes, "aria-label", `${name} asks for a text of one's own`);
    this.alone.hidden = !hasAlone;
    attribute(this.alone, "aria-pressed", String(Boolean(option.is_exclusive)));
    attribute(this.alone, "aria-label", `${name} cannot be chosen with others`);
    attribute(this.alone, "title", "Cannot be chosen with others");
    const staysLast = option.is_exclusive || option.is_other; // without a pin too
    this.pin.hidden = staysLast || (!isShuffled && option.anchor_position !== "last");
    attribute(this.pin, "aria-pressed", String(option.anchor_position === "last"));
    attribute(this.pin, "aria-label", `Keep ${name.toLowerCase()} last when shuffled`);
    attribute(this.pin, "title", "Keep last when shuffled");
    attribute(this.up, "aria-label", `Move ${name.toLowerCase()} up`);
    attribute(this.down, "aria-label", `Move ${name.toLowerCase()} down`);
    attribute(this.delete, "aria-label", `Remove ${name.toLowerCase()}`);
    this.up.disabled = !this.list.canChangeList || n === 0;
    this.down.disabled = !this.list.canChangeList || n === count - 1;
    if (this.entry.disabled) describe(this.entry, "why-closed", true);
  }

  /** @param {BlockOption} option */
  #showEmoji(option, name) {
    attribute(this.emoji, "aria-label", option.emoji ? `${name}, emoji ${option.emoji}: change`
      : `${name}: add an emoji`);
    attribute(this.emoji, "title", option.emoji ? "Change the emoji" : "Add an emoji");
    const sign = option.emoji ?? "";
    if (this.emoji.dataset.sign === sign) return;
    this.emoji.dataset.sign = sign;
    this.emoji.replaceChildren(sign ? h("span", { "aria-hidden": "true" }, sign) : icon("smile"));
  }

  #showScore(input, points, label) {
    attribute(input, "aria-label", label);
    if (document.activeElement === input && Number(input.value) === (points ?? 0)) return;
    const shown = points === undefined || points === null ? "" : String(points);
    if (input.value !== shown && !input.validity.badInput) input.value = shown;
  }

  #set(field, value, label) {
    this.list.change((options) => { this.#own(options)[field] = value; }, label, `${this.key}.${field}`);
  }

  /** The label stays when the stored value changes. */
  #setStored(value) {
    this.list.change((options) => {
      const option = this.#own(options);
      option.label ??= option.value || null;
      option.value = value;
      if (option.label === value) option.label = null;
    }, "Change stored value", `${this.key}.value`);
  }

  #own(options) {
    return options.find((option) => option.key === this.key);
  }

  /** The stored value of an option follows its text until the option is saved or a value is written for it. */
  #setText(value) {
    const hasValueField = !this.stored.hidden || this.stored.disabled;
    this.list.change((options) => {
      const option = this.#own(options);
      if (hasValueField && (option.id || option.label)) option.label = value === option.value || !value ? null : value;
      else option.value = value;
    }, `Change ${this.noun}`, `${this.key}.text`);
  }

  #setScore(bucket, input) {
    if (input.validity.badInput) return;
    this.list.change((options) => {
      const option = this.#own(options);
      const points = { ...option.score_values };
      if (input.value === "") delete points[bucket];
      else points[bucket] = Number(input.value);
      option.score_values = points;
    }, "Change points", `${this.key}.${bucket}`);
  }

  #chooseEmoji() {
    pickEmoji((sign) => this.#set("emoji", sign, "Choose an emoji"), { current: this.#current()?.emoji });
  }

  #pin() {
    this.list.change((options) => {
      const option = this.#own(options);
      option.anchor_position = option.anchor_position === "last" ? null : "last";
    }, "Keep last");
  }

  #key(event) {
    const step = { ArrowUp: -1, ArrowDown: 1 }[event.key];
    const isEmpty = !this.entry.value && !this.stored.value;
    if (event.isComposing) return;
    if (event.key === "Enter" && !event.ctrlKey && !event.metaKey) this.list.goOn(this.key);
    else if (event.key === "Backspace" && isEmpty) this.list.remove(this.key, { focusBefore: true });
    else if (step && event.altKey) this.list.move(this.key, step);
    else if (step) this.list.focusNext(this.key, step);
    else return;
    event.preventDefault();
  }

  #paste(event) {
    const lines = linesOf(event.clipboardData.getData("text/plain"));
    if (lines.length < 2 || !this.list.canChangeList) return;
    event.preventDefault();
    const { value, selectionStart, selectionEnd } = event.target;
    const isReplaced = selectionStart === 0 && selectionEnd === value.length; // empty, or all of it is selected
    this.list.pasteInto(this.key, lines, { isBlank: isReplaced });
  }

  focus() {
    if (this.entry.disabled) return false;
    unfold(this.entry);
    this.entry.focus();
    this.entry.scrollIntoView({ block: "nearest" });
    return true;
  }
}
