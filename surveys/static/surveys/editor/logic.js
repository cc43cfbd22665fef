/* When a block is shown: always, only when conditions hold, or unless they hold; as rows or as text, both ways.

     const logic = mountLogic(element, store, { key, isOpen, request, announce });
     logic.destroy()

   Rows are kept as `show_when` or `hide_when`. Text is kept as `precondition`, which hides the block where it is true;
   for "shown when" it is written inside `NOT((…))`, so that the author sees the condition alone. */

import { mountCompletion } from "./completion.js";
import { describe, marked, plainMessage } from "./field.js";
import { afterPause, attribute, h, icon, newId } from "./dom.js";
import { mendsOf } from "./mends.js";
import { blocksBefore } from "./reach.js";
import { firstRow, mountRows } from "./rows.js";

const SHOW_PREFIX = "NOT((";
const SHOW_SUFFIX = "))";
const KINDS = [["always", "Always"], ["show_when", "Only when …"], ["hide_when", "Unless …"]];
const PAUSE = 300;

/** @typedef {{ key: string, isOpen: boolean, request: Send, announce?: Announce }} LogicOptions */

/** @param {HTMLElement} element @param {Store} store @param {LogicOptions} options */
export function mountLogic(element, store, options) {
  const logic = new Logic(element, store, options);
  logic.start();
  return logic;
}

/** The text of a precondition as an author writes it: the kind, the condition alone, and how far it is moved.
 *  @param {string} text */
export function splitPrecondition(text) {
  if (text.startsWith(SHOW_PREFIX) && text.endsWith(SHOW_SUFFIX) && closesAtEnd(text)) {
    return { kind: "show_when", condition: text.slice(SHOW_PREFIX.length, -SHOW_SUFFIX.length),
      offset: SHOW_PREFIX.length };
  }
  return { kind: "hide_when", condition: text, offset: 0 };
}

/** Whether the last two characters, and none before, close the two parentheses after NOT. */
function closesAtEnd(text) {
  let depth = 0;
  let isQuoted = false;
  for (let at = 3; at < text.length; at += 1) {
    if (text[at] === '"') isQuoted = !isQuoted;
    else if (isQuoted) continue;
    else if (text[at] === "(") depth += 1;
    else if (text[at] === ")") depth -= 1;
    if (depth < 2 && at > 4 && at < text.length - 2) return false;
  }
  return depth === 0 && !isQuoted;
}

/** @param {string} kind @param {string} condition */
export function joinPrecondition(kind, condition) {
  if (!condition.trim()) return null;
  return kind === "show_when" ? `${SHOW_PREFIX}${condition}${SHOW_SUFFIX}` : condition;
}

class Logic {
  /** @type {{ kind: string, input: HTMLInputElement, label: HTMLElement }[]} */ radios;
  /** @type {ReturnType<typeof mountRows>} */ rows;
  /** @type {HTMLDivElement} */ body;
  /** @type {HTMLButtonElement} */ toggle;
  /** @type {HTMLParagraphElement} */ says;
  /** @type {HTMLUListElement} */ problems;
  /** @type {HTMLParagraphElement} */ nothing;
  /** @type {HTMLTextAreaElement} */ text;
  /** @type {HTMLLabelElement} */ label;
  /** @type {HTMLDivElement} */ textField;
  #drawn = [];
  #isWriting = false;
  /** @type {(() => void) | null} */ #stop = null;
  #asked = 0;

  /** @param {HTMLElement} element @param {Store} store @param {LogicOptions} options */
  constructor(element, store, options) {
    this.element = element;
    this.store = store;
    this.options = options;
    this.isText = false;
    this.kind = "always";
    this.verify = afterPause(() => this.#verify(), PAUSE);
  }

  get block() {
    return /** @type {Block} */ (this.store.block(this.options.key));
  }

  start() {
    this.#stop = this.store.subscribe((what) => this.#notice(what));
    this.#build();
    this.#read();
  }

  destroy() {
    this.#stop?.();
    this.verify.cancel();
    this.completion?.destroy?.();
  }

  #notice(what) {
    if (!this.block) return;
    if (what === "blocks" && !this.#isWriting && !this.#isDrawn) this.#read();
    if (what === "check") this.#showIssues();
  }

  /** What the drawing depends on: this block's logic, and the blocks before it, which stay the same objects. */
  #state() {
    const { precondition, show_when, hide_when } = this.block;
    const at = this.store.indexOf(this.options.key);
    return [JSON.stringify([precondition, show_when, hide_when]), ...this.store.blocks.slice(0, at)];
  }

  get #isDrawn() {
    const state = this.#state();
    return state.length === this.#drawn.length && state.every((part, n) => part === this.#drawn[n]);
  }

  /** Show the block's present logic. */
  #read() {
    const { precondition, show_when, hide_when } = this.block;
    this.#drawn = this.#state();
    if (show_when || hide_when) {
      this.kind = show_when ? "show_when" : "hide_when";
      this.isText = false;
    } else if (precondition) {
      this.kind = splitPrecondition(precondition).kind;
      this.isText = true;
    } else if (!this.isText) {
      this.kind = "always";
    }
    this.#show();
  }

  /** @param {Partial<Block>} fields @param {string} [label] @param {string | null} [merge] */
  #write(fields, label = "Change the condition", merge = null) {
    const empty = { precondition: null, show_when: null, hide_when: null };
    this.#isWriting = true;
    this.store.changeBlock(this.options.key, (block) => Object.assign(block, empty, fields), label,
      { merge: merge && `${this.options.key}:logic:${merge}` });
    this.#isWriting = false;
    this.#drawn = this.#state();
  }

  /* Drawing */

  #build() {
    const name = newId("logic");
    this.radios = KINDS.map(([kind, words]) => {
      const input = h("input", { type: "radio", name, value: kind, disabled: !this.options.isOpen,
        "data-path": kind === "always" ? "precondition" : kind });
      input.addEventListener("change", () => this.#choose(kind));
      return { kind, input, label: h("label", { class: "segment" }, input, h("span", {}, words)) };
    });
    this.body = h("div", { class: "logic-rows" });
    this.rows = mountRows(this.body, this.store, {
      ...this.options, change: (condition, merge) => this.#writeRows(condition, merge), emptied: () => this.#empty(),
    });
    this.toggle = h("button", { type: "button", class: "quiet small", onclick: () => this.#switch() });
    this.says = h("p", { class: "logic-says", role: "status" });
    this.problems = h("ul", { class: "problems", id: newId("logic-problems"), hidden: true });
    this.nothing = h("p", { class: "help" }, "Nothing comes before this block that it could depend on.");
    this.#buildText();
    this.element.replaceChildren(
      h("fieldset", { class: "ed-field segments", "aria-describedby": this.options.isOpen ? null : "why-closed" },
        h("legend", {}, "Show this block"), h("div", { class: "segment-row" }, this.radios.map((each) => each.label))),
      this.nothing, this.body, this.textField, this.problems, this.says,
      h("div", { class: "logic-foot" }, this.toggle));
  }

  #buildText() {
    const id = newId("logic-text");
    this.text = h("textarea", {
      id, class: "entry code", rows: 2, maxlength: 2000 - SHOW_PREFIX.length - SHOW_SUFFIX.length,
        spellcheck: "false", autocomplete: "off", "data-path": "precondition", disabled: !this.options.isOpen,
    });
    this.text.addEventListener("input", () => this.#typed());
    this.label = h("label", { for: id }, "Condition");
    this.textField = h("div", { class: "ed-field logic-text" }, this.label, this.text,
      h("p", { class: "help", id: `${id}-help` },
        "Names, “quoted texts” and numbers, compared by = != < > <= >= and in, joined by AND, OR, NOT and ",
        "parentheses. Within a quoted text, \"\" is one quotation mark."));
    describe(this.text, `${id}-help`, true);
    this.completion = mountCompletion(this.text, this.store, { ...this.options, field: "precondition" });
  }

  #show() {
    const canRefer = Boolean(firstRow(this.store, this.options.key));
    const isConditional = this.kind !== "always";
    for (const { kind, input } of this.radios) {
      input.checked = kind === this.kind;
      input.disabled = !this.options.isOpen || (kind !== "always" && !canRefer && !isConditional);
    }
    this.nothing.hidden = canRefer || isConditional;
    this.body.hidden = !isConditional || this.isText;
    this.textField.hidden = !isConditional || !this.isText;
    this.toggle.hidden = !isConditional || !this.options.isOpen;
    this.toggle.textContent = this.isText ? "Edit as rows" : "Edit as text";
    if (isConditional && !this.isText) this.rows.show(this.block[this.kind], this.kind);
    else this.rows.clear();
    if (isConditional && this.isText) this.#showText();
    this.#showIssues();
  }

  #showText() {
    const { condition } = splitPrecondition(this.block.precondition ?? "");
    if (this.text.value !== condition) this.text.value = condition;
    this.label.textContent = this.kind === "show_when" ? "Shown only when" : "Hidden when";
  }

  /* Choices */

  #choose(kind) {
    const before = this.kind;
    this.kind = kind;
    if (kind === "always") {
      this.isText = false;
      this.#write({}, "Show the block always");
    } else if (this.isText) {
      this.#write({ precondition: joinPrecondition(kind, this.text.value) });
    } else {
      const condition = before === "always" ? firstRow(this.store, this.options.key) : this.rows.condition;
      this.#write({ [kind]: condition }, "Add a condition");
    }
    this.#say("");
    this.#show();
  }

  #empty() {
    this.#choose("always");
    this.radios[0].input.focus();
  }

  #writeRows(condition, merge) {
    this.#write(condition ? { [this.kind]: condition } : {}, "Change the condition", merge);
    this.#say("");
  }

  #typed() {
    this.#write({ precondition: joinPrecondition(this.kind, this.text.value) }, "Change the condition", "text");
    this.#say("");
    this.syntax = null;
    this.#showIssues();
    this.verify();
  }

  /* Rows and text */

  async #switch() {
    this.toggle.disabled = true;
    try {
      await (this.isText ? this.#toRows() : this.#toText());
    } catch {
      this.#say("The server cannot be reached. Try again in a moment.");
    } finally {
      this.toggle.disabled = false;
    }
  }

  async #toText() {
    const kind = this.kind;
    const condition = this.rows.condition;
    const data = await this.#ask({ condition, kind });
    if (!data || this.kind !== kind) return;
    if (!data.text) {
      const why = data.violations?.[0]?.message;
      this.#say(`Complete the rows first${why ? `: ${plainMessage(why)}` : "."}`);
      return;
    }
    this.isText = true;
    this.#write({ precondition: data.text }, "Edit the condition as text");
    this.#show();
    this.text.focus();
  }

  async #toRows() {
    const text = this.text.value;
    if (!text.trim()) {
      this.isText = false;
      this.#choose(this.kind);
      return;
    }
    const data = await this.#ask({ text: this.block.precondition, lists: this.#lists() });
    if (!data || this.text.value !== text) return;
    if (!data.condition) {
      this.#refuse(data);
      return;
    }
    this.isText = false;
    this.kind = data.kind;
    this.#write({ [data.kind]: data.condition }, "Edit the condition as rows");
    this.#say("");
    this.#show();
    this.body.querySelector("select")?.focus();
  }

  /** Show the reason why the text cannot become rows, with the place marked. */
  #refuse(data) {
    const fault = data.violations?.[0];
    const { condition, offset } = splitPrecondition(this.block.precondition ?? "");
    const column = (fault ?? data).column;
    const why = fault ? "This text has a fault, so it cannot be shown as rows." : "Rows cannot say this text.";
    const message = fault ? plainMessage(fault.message) : data.reason ?? "";
    this.says.replaceChildren(h("span", {}, `${why} ${message} `),
      column ? marked(condition, Math.max(1, column - offset)) : "");
  }

  /** The names whose answers are lists, for which `"x" in name` asks for one of them. */
  #lists() {
    return blocksBefore(this.store, this.options.key).filter((each) => each.kind === "choices")
      .flatMap((each) => [each.name, `q${Number(each.at) + 1}`]);
  }

  async #ask(body) {
    const { status, data } = await this.options.request("POST", this.store.urls.logic, body);
    if (status >= 500 || !data) throw new Error(`status ${status}`);
    return data;
  }

  /** Find faults of syntax before the check of the whole draft finds them. */
  async #verify() {
    const text = this.block?.precondition;
    if (!this.isText || !text) return;
    this.#asked += 1;
    const asked = this.#asked;
    try {
      const data = await this.#ask({ text, lists: this.#lists() });
      if (asked !== this.#asked || this.block?.precondition !== text) return;
      this.syntax = data.violations ?? [];
      this.#showIssues();
    } catch { /* the check of the draft reports the faults when the server is back */ }
  }

  /* Findings */

  /** @param {string} words */
  #say(words) {
    this.says.replaceChildren(words);
    if (words) this.options.announce?.(words);
  }

  #showIssues() {
    if (!this.block) return;
    this.rows.showIssues();
    const issues = this.kind === "always" ? [] : this.isText ? this.#textIssues() : this.rows.remaining();
    const { condition, offset } = splitPrecondition(this.block.precondition ?? "");
    this.problems.hidden = !issues.length;
    this.problems.replaceChildren(...issues.map((issue) => {
      const line = h("li", { class: issue.kind }, icon(issue.kind),
        h("span", {}, h("span", { class: "visually-hidden" }, issue.kind === "fault" ? "Fault: " : "Warning: "),
          plainMessage(issue.message), " "));
      if (this.isText && issue.column) line.append(marked(condition, Math.max(1, issue.column - offset)));
      line.append(...mendsOf(issue, { store: this.store, key: this.options.key, announce: this.options.announce }));
      return line;
    }));
    attribute(this.text, "aria-invalid", this.isText && issues.some((issue) => issue.kind === "fault") ? "true" : null);
    describe(this.text, this.problems.id, this.isText && issues.length > 0);
  }

  /** The faults of the text: its syntax as just asked, else what the check of the draft found. */
  #textIssues() {
    const found = this.store.violationsOf(this.options.key, "precondition");
    if (!this.syntax) return found;
    const fresh = this.syntax.map((violation) => ({ kind: "fault", ...violation, message: violation.message }));
    return fresh.length ? fresh : found.filter((issue) => issue.code !== "syntax_error");
  }
}
