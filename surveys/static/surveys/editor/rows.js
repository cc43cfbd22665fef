/* Conditions as rows: a tree of groups (all of these, any of these) and rows (block or variable, comparison, value).

     const rows = mountRows(element, store, { key, isOpen, change(condition, merge), announce });
     rows.show(condition, field)         draw a condition of the interface; `field` is show_when or hide_when
     rows.showIssues()                   mark the rows at fault

   A row may be unfinished: its value is null then, which the check reports. */

import { describe, plainMessage } from "./field.js";
import { attribute, h, icon, newId } from "./dom.js";
import { mendsOf } from "./mends.js";
import {
  blocksBefore, fields, findSubject, operatorsOf, referenceTo, shortened, subjects, variables,
} from "./reach.js";
import { isWithin } from "./store.js";

const MAX_DEPTH = 5; // groups within groups that can be added here
const MAX_CHECKS = 24; // values as check boxes; more are a list to choose from
const NUMBER = /^-?[0-9]+(\.[0-9]+)?$/;

/**
 * @typedef {object} RowsOptions
 * @property {string} key
 * @property {boolean} isOpen
 * @property {boolean} [asksInWords]  call questions by their words, where no numbers of blocks are near
 * @property {(condition: Condition | null, merge: string | null) => void} change
 * @property {() => void} [emptied]
 * @property {Announce} [announce]
 */

/** @param {HTMLElement} element @param {Store} store @param {RowsOptions} options */
export function mountRows(element, store, options) {
  return new Rows(element, store, options);
}

/** The condition of a new row: the nearest earlier question, or a field, its first comparison and value.
 *  @param {Store} store @param {string} key */
export function firstRow(store, key) {
  const subject = blocksBefore(store, key).at(-1) ?? fields(store)[0] ?? variables(store)[0];
  return subject ? rowOf(store, subject) : null;
}

/** @param {Store} store @param {Subject} subject */
function rowOf(store, subject) {
  const operator = operatorsOf(store, subject.kind)[0];
  return { ...referenceTo(subject), op: operator.op, value: valueFor(operator, subject, null) };
}

/** A value that fits an operator, made from the earlier value.
 *  @param {Subject} subject */
function valueFor(operator, subject, before) {
  const single = Array.isArray(before) ? before[0] ?? null : before;
  if (operator?.takes === "list" && Array.isArray(before)) return before;
  if (operator?.takes === "list") return single === null || single === "" ? [] : [single];
  if (single !== null) return single;
  return subject.choices.length ? subject.choices[0][0] : null;
}

/** @param {Condition | null | undefined} condition */
export function isGroup(condition) {
  return Boolean(condition && (condition.all || condition.any));
}

function partsOf(group) {
  return group.all ?? group.any;
}

class Rows {
  /** @type {{ leaf: Condition, path: string, element: HTMLElement, problems: HTMLElement, subject: HTMLElement }[]} */
  #marks = [];
  /** @type {string | null} */ #focus = null;

  /** @param {HTMLElement} element @param {Store} store @param {RowsOptions} options */
  constructor(element, store, options) {
    this.element = element;
    this.store = store;
    this.options = options;
  }

  /** Draw the condition. The root is drawn as a group, also if it is a single row. */
  show(condition, field) {
    this.field = field;
    this.root = structuredClone(isGroup(condition) ? condition : { all: condition ? [condition] : [] });
    this.#draw();
  }

  clear() {
    this.#marks = [];
    this.element.replaceChildren();
  }

  #draw() {
    this.#marks = [];
    this.element.replaceChildren(this.#group(this.root, this.field, null, 1));
    this.showIssues();
    if (this.#focus) /** @type {HTMLElement | null} */ (this.element.querySelector(this.#focus))?.focus();
    this.#focus = null;
  }

  /** The condition to store: a root with a single part becomes that part. */
  get condition() {
    const parts = partsOf(this.root);
    return parts.length === 0 ? null : parts.length === 1 ? parts[0] : this.root;
  }

  #write(merge = null) {
    this.options.change(this.condition, merge);
  }

  /** @param {string | null} [focus] */
  #rewrite(focus = null) {
    this.#focus = focus;
    this.#write();
    this.#draw();
  }

  /** The path of a part, in the notation of the interface: `show_when.all[1].any[0]`. */
  #path(parent, group, n) {
    if (group === this.root && partsOf(group).length === 1) return this.field;
    return `${parent}.${group.all ? "all" : "any"}[${n}]`;
  }

  /** @param {string} path */
  #group(group, path, remove, depth) {
    const parts = partsOf(group);
    const list = h("ul", { class: "logic-parts" });
    for (const [n, part] of parts.entries()) {
      const at = this.#path(path, group, n);
      const drop = () => this.#remove(group, n);
      const body = isGroup(part) ? this.#group(part, at, drop, depth + 1) : this.#row(part, at, drop);
      list.append(h("li", {}, n > 0 && h("span", { class: "logic-joint" }, group.all ? "and" : "or"), body));
    }
    return h("div", { class: depth > 1 ? "logic-group inner" : "logic-group", role: "group",
      "aria-label": depth > 1 ? "Group of conditions" : "Conditions" },
      this.#head(group, path, remove, depth), list, this.#buttons(group, depth));
  }

  /** @param {string} path */
  #head(group, path, remove, depth) {
    const isJoined = partsOf(group).length > 1;
    if (!isJoined && depth === 1) return null;
    const id = newId("join");
    const select = h("select", { id, class: "entry small", disabled: !this.options.isOpen },
      h("option", { value: "all" }, "all"), h("option", { value: "any" }, "any"));
    select.value = group.all ? "all" : "any";
    select.addEventListener("change", () => {
      const parts = partsOf(group);
      delete group.all;
      delete group.any;
      group[select.value] = parts;
      this.#rewrite(`[data-join="${CSS.escape(path)}"]`);
    });
    select.dataset.join = path;
    return h("div", { class: "logic-head" }, h("label", { for: id }, "If"), select, h("span", {}, "of these hold"),
      remove && this.options.isOpen && removeButton("Remove this group", remove));
  }

  #buttons(group, depth) {
    if (!this.options.isOpen) return null;
    const add = h("button", { type: "button", class: "quiet small", onclick: () => this.#add(group) }, icon("plus"),
      "Add a condition");
    const addGroup = depth < MAX_DEPTH && partsOf(group).length > 0
      ? h("button", { type: "button", class: "quiet small", onclick: () => this.#addGroup(group) }, icon("plus"),
        "Add a group")
      : null;
    return h("div", { class: "logic-buttons" }, add, addGroup);
  }

  #add(group) {
    const row = firstRow(this.store, this.options.key);
    if (!row) return;
    partsOf(group).push(row);
    this.#drawAndFocusNew(row);
  }

  #addGroup(group) {
    const row = firstRow(this.store, this.options.key);
    if (!row) return;
    partsOf(group).push({ [group.all ? "any" : "all"]: [row, structuredClone(row)] });
    this.#drawAndFocusNew(row);
  }

  #drawAndFocusNew(row) {
    this.#write();
    this.#draw();
    this.#marks.find((mark) => mark.leaf === row)?.subject.focus();
  }

  #remove(group, n) {
    partsOf(group).splice(n, 1);
    this.#prune();
    this.#write();
    this.#draw();
    const next = this.#marks[Math.min(n, this.#marks.length - 1)]?.subject ?? this.element.querySelector("button");
    next?.focus();
    this.options.announce?.("Removed.");
    if (!partsOf(this.root).length) this.options.emptied?.();
  }

  /** Remove groups without parts. */
  #prune(group = this.root) {
    const parts = partsOf(group).filter((part) => !isGroup(part) || (this.#prune(part), partsOf(part).length > 0));
    group[group.all ? "all" : "any"] = parts;
  }

  /* One row */

  /** @param {Condition} leaf @param {string} path */
  #row(leaf, path, remove) {
    const element = h("div", { class: "logic-row" });
    const problems = h("ul", { class: "problems", id: newId("row-problems"), hidden: true });
    const remover = this.options.isOpen ? removeButton("Remove this condition", remove) : "";
    // The focused element stays the same, so typing continues.
    const redraw = { value: () => {}, rest: () => {} };
    redraw.value = () => element.querySelector(":scope > :is(.logic-value, .logic-entry)")
      ?.replaceWith(this.#valueControl(leaf, this.#subjectOf(leaf)));
    redraw.rest = () => {
      element.querySelector(".logic-operator")?.replaceWith(this.#operatorPicker(leaf, redraw));
      redraw.value();
    };
    const subject = this.#subjectPicker(leaf, redraw);
    this.#marks.push({ leaf, path, element, problems, subject });
    element.append(subject, this.#operatorPicker(leaf, redraw), this.#valueControl(leaf, this.#subjectOf(leaf)),
      remover, problems);
    return element;
  }

  /** @param {Condition} leaf */
  #subjectOf(leaf) {
    return findSubject(this.store, this.options.key, leaf);
  }

  #changed(redraw) {
    this.#write();
    redraw();
    this.showIssues();
  }

  /** @param {Condition} leaf */
  #subjectPicker(leaf, redraw) {
    const current = this.#subjectOf(leaf);
    const known = subjects(this.store, this.options.key);
    const select = h("select", { class: "entry logic-subject", "aria-label": "Block or variable",
      disabled: !this.options.isOpen });
    const blocks = known.filter((each) => !each.isVariable);
    const sent = known.filter((each) => each.isField);
    const others = known.filter((each) => each.isVariable && !each.isField);
    if (!known.some((each) => each.id === current.id)) select.append(choice(current.id, current.name));
    if (blocks.length) select.append(h("optgroup", { label: "Blocks" },
      blocks.map((each) => choice(each.id, this.options.asksInWords && shortened(each.block?.prompt)
        || `${each.called} · Block ${Number(each.at) + 1}`, each.says))));
    if (sent.length) select.append(h("optgroup", { label: "Fields that are sent along" },
      sent.map((each) => choice(each.id, each.called, each.says))));
    if (others.length) select.append(h("optgroup", { label: "Variables" },
      others.map((each) => choice(each.id, each.called, each.says))));
    select.value = current.id;
    select.title = current.says;
    select.addEventListener("change", () => {
      const next = known.find((each) => each.id === select.value);
      if (!next) return;
      const offered = operatorsOf(this.store, next.kind);
      const operator = offered.find((each) => each.op === leaf.op && this.#subjectOf(leaf).kind === next.kind)
        ?? offered[0];
      replaceLeaf(leaf, { ...referenceTo(next), op: operator.op, value: null });
      leaf.value = valueFor(operator, next, null);
      select.title = next.says;
      this.#changed(redraw.rest);
    });
    return select;
  }

  /** @param {Condition} leaf */
  #operatorPicker(leaf, redraw) {
    const subject = this.#subjectOf(leaf);
    const offered = operatorsOf(this.store, subject.kind);
    const all = operatorsOf(this.store, "any");
    const select = h("select", { class: "entry logic-operator", "aria-label": "Comparison",
      disabled: !this.options.isOpen }, offered.map((each) => choice(each.op, each.words)));
    const isOwn = (each) => each.op === leaf.op;
    if (!offered.some(isOwn)) select.append(choice(leaf.op ?? "", all.find(isOwn)?.words ?? leaf.op));
    select.value = leaf.op ?? "";
    select.addEventListener("change", () => {
      leaf.op = select.value;
      leaf.value = valueFor(offered.find((each) => each.op === leaf.op), subject, leaf.value);
      this.#changed(redraw.value);
    });
    return select;
  }

  /** @param {Condition} leaf @param {Subject} subject */
  #valueControl(leaf, subject) {
    const operator = operatorsOf(this.store, subject.kind).find((each) => each.op === leaf.op);
    const isList = operator ? operator.takes === "list" : Array.isArray(leaf.value);
    const put = (value, merge = null) => {
      leaf.value = value;
      this.#write(merge);
    };
    const settings = { leaf, subject, put, isOpen: this.options.isOpen };
    if (isList || Array.isArray(leaf.value)) return subject.choices.length ? checks(settings) : listEntry(settings);
    if (subject.choices.length) return picker(settings);
    return entry(settings);
  }

  showIssues() {
    const issues = this.field ? this.store.violationsOf(this.options.key, this.field) : [];
    for (const { path, element, problems } of this.#marks) {
      const found = issues.filter((issue) => isWithin(issue.path, path));
      problems.hidden = !found.length;
      const mends = (issue) => mendsOf(issue,
        { store: this.store, key: this.options.key, announce: this.options.announce });
      problems.replaceChildren(...found.map((issue) => h("li", { class: issue.kind }, icon(issue.kind),
        h("span", {}, plainMessage(issue.message)), ...mends(issue))));
      const parts = { subject: /\.(block|variable)$/, operator: /\.op$/, value: /\.value(\[\d+\])?$/ };
      for (const [part, pattern] of Object.entries(parts)) {
        const control = element.querySelector(`.logic-${part}`);
        if (!control) continue;
        const isAtFault = found.some((issue) => pattern.test(issue.path));
        if (control.tagName !== "FIELDSET") attribute(control, "aria-invalid", isAtFault ? "true" : null);
        describe(control, problems.id, isAtFault);
      }
    }
  }

  /** The issues that no row shows: of the condition as a whole. */
  remaining() {
    const issues = this.field ? this.store.violationsOf(this.options.key, this.field) : [];
    return issues.filter((issue) => !this.#marks.some(({ path }) => isWithin(issue.path, path)));
  }
}

/** @param {Condition} leaf */
function replaceLeaf(leaf, next) {
  for (const name of Object.keys(leaf)) delete leaf[name];
  Object.assign(leaf, next);
}

/** @param {string} value @param {string | undefined} words @param {string | null} [title] */
function choice(value, words, title = null) {
  return h("option", { value, title }, words);
}

function removeButton(label, onclick) {
  return h("button", { type: "button", class: "icon-button", "aria-label": label, title: label, onclick },
    icon("close"));
}

/* Controls for values */

/** One of the block's own options. A value whose option was removed stays visible. */
function picker({ leaf, subject, put, isOpen }) {
  const select = h("select", { class: "entry logic-value", "aria-label": "Value", disabled: !isOpen },
    subject.choices.map(([value, words]) => choice(String(value), words)));
  const text = leaf.value === null || leaf.value === undefined ? "" : String(leaf.value);
  const isKnown = subject.choices.some(([value]) => String(value) === text);
  if (!isKnown) select.prepend(choice(text, text === "" ? "Choose a value" : `“${text}” (not an option)`));
  select.value = text;
  select.addEventListener("change",
    () => put(subject.choices.find(([value]) => String(value) === select.value)?.[0] ?? null));
  return select;
}

/** Several of the block's own options. */
function checks({ leaf, subject, put, isOpen }) {
  const chosen = new Set((Array.isArray(leaf.value) ? leaf.value : [leaf.value])
    .filter((value) => value !== null && value !== undefined).map(String));
  const gone = [...chosen].filter((value) => !subject.choices.some(([known]) => String(known) === value))
    .map((value) => [value, `“${value}” (not an option)`]);
  const all = [...subject.choices, ...gone];
  const collect = () => put(all.filter(([value]) => chosen.has(String(value))).map(([value]) => value));
  const box = ([value, words]) => {
    const input = h("input", { type: "checkbox", checked: chosen.has(String(value)), disabled: !isOpen });
    input.addEventListener("change", () => {
      if (input.checked) chosen.add(String(value));
      else chosen.delete(String(value));
      collect();
    });
    return h("label", { class: "logic-check" }, input, h("span", {}, words));
  };
  return h("fieldset", { class: all.length > MAX_CHECKS ? "logic-value logic-checks many" : "logic-value logic-checks",
    tabindex: all.length > MAX_CHECKS ? "0" : null },
    h("legend", { class: "visually-hidden" }, "Values"), all.map(box));
}

/** A number or a text. A text in the form of a number becomes a number if answers may be numbers. */
function entry({ leaf, subject, put, isOpen }) {
  const isNumber = subject.kind === "number";
  const list = subject.suggestions?.length
    ? h("datalist", { id: newId("values") }, subject.suggestions.map(([value]) => h("option", { value }))) : null;
  const input = h("input", {
    class: "entry logic-value", "aria-label": "Value", type: { number: "number", date: "date" }[subject.kind] ?? "text",
    step: isNumber ? "any" : null, list: list?.id, maxlength: 500, autocomplete: "off",
    value: leaf.value === null || leaf.value === undefined ? "" : String(leaf.value), disabled: !isOpen,
  });
  input.addEventListener("input", () => {
    if (input.validity.badInput) return;
    put(input.value === "" && isNumber ? null : typed(input.value, subject.kind), "value");
  });
  return list ? h("span", { class: "logic-entry" }, input, list) : input;
}

/** Several free values, separated by commas. */
function listEntry({ leaf, subject, put, isOpen }) {
  const values = Array.isArray(leaf.value) ? leaf.value : [];
  const input = h("input", { class: "entry logic-value", type: "text", "aria-label": "Values, separated by commas",
    placeholder: "one, two, three", autocomplete: "off", value: values.join(", "), disabled: !isOpen });
  input.addEventListener("input", () => {
    const parts = input.value.split(",").map((part) => part.trim()).filter(Boolean);
    put(parts.map((part) => typed(part, subject.kind)), "value");
  });
  return input;
}

function typed(text, kind) {
  return kind !== "text" && kind !== "date" && NUMBER.test(text) && Number.isFinite(Number(text)) ? Number(text) : text;
}
