/* The form of the selected block, with the fields of its type. Rare fields fold under "More". The form is built when
   another block is selected; later changes only update it. */

import { addPicker, addPicture } from "../../staff/fields.js";
import { h, icon, text } from "./dom.js";
import { changeType, isChosen, typesLike } from "./document.js";
import { ENABLED, checkField, context, folded, numberField, problemList, selectField, textField } from "./field.js";
import { nameByWords } from "./mends.js";
import { mountOptions } from "./options.js";
import { mountScale } from "./scale.js";
import { actionFields, continueFields } from "./statement.js";
import { CHOICES, FORMATS, QUESTIONS, SCALES, STATEMENTS, TYPES, WITH_ITEMS, typeName } from "./types.js";

const PROMPTS = {
  content_block: ["What it says", "Hello [UserName|there], welcome! …"],
  action_block: ["What people read", "You have earned [xp_points] [xp_name]."],
};
const STYLES = {
  choice: [[null, "As the project says"], ["full_text", "Text"], ["emoji_only", "Emoji only"],
    ["select_menu", "A menu to choose from"], ["buttons", "Buttons"]],
  ranking: [[null, "As the project says"], ["full_text", "Text"], ["emoji_only", "Emoji only"]],
  scale: [[null, "Buttons"], ["select_menu", "A menu to choose from"]],
};
const CLOSED = "Respondents are answering this project now. You can change words and pictures, and add blocks and "
  + "options. To change more, close it, or ";
const READ_ONLY = "You can read this script, but not change it: only its author and admins can.";
const AUTOMATIC = "This block is automatic: the project's settings and rewards make it. "
  + "Its words, pictures and pause can be changed.";

/** `options`: announce(text), actions (move, duplicate, archive), and the parts of others: logic, completion.
 *  @param {HTMLElement} element @param {Store} store @param {Record<string, any>} options */
export function mountForm(element, store, options) {
  const form = new Form(element, store, options);
  store.subscribe((what) => form.notice(what));
  form.show();
  return form;
}

class Form {
  /** @type {HTMLHeadingElement} */ title;
  /** @type {FormContext | null} */ #cx = null;
  #shape = "";
  #frame = 0;
  #cleanUps = [];

  /** @param {HTMLElement} element @param {Store} store @param {Record<string, any>} options */
  constructor(element, store, options) {
    this.element = element;
    this.store = store;
    this.options = options;
  }

  notice(what) {
    if (what === "selection") this.#soon();
    else if (what === "blocks") this.#update();
    else if (what === "check") this.#cx?.showIssues();
    else if (what === "focus") this.#focusWanted();
  }

  /** While an arrow key is held down, only the block on which it stops is drawn. */
  #soon() {
    cancelAnimationFrame(this.#frame);
    this.#frame = requestAnimationFrame(() => this.show());
  }

  #focusWanted() {
    cancelAnimationFrame(this.#frame);
    if (this.#cx?.key !== this.store.selected) this.show();
    const path = this.store.wanted;
    this.store.wanted = null;
    if (path === null) return;
    if (!path || !this.#cx?.focus(path)) this.focusFirst();
  }

  focusFirst() {
    const cx = this.#cx;
    const first = cx?.fields.get(cx.block.type === "calculated_block" ? "calculated_formula" : "prompt");
    if (!first?.focus()) this.element.querySelector("h2")?.focus();
  }

  #update() {
    const block = this.store.block(this.store.selected);
    if (!block || !this.#cx || this.#cx.key !== block.key || this.#shape !== shapeOf(block, this.store)) {
      const focused = document.activeElement;
      const path = this.element.contains(focused) ? focused?.getAttribute("data-path") : null;
      this.show();
      if (path) /** @type {FormContext | null} */ (this.#cx)?.focus(path);
    } else {
      this.#cx.update(block);
      this.#head(block);
    }
  }

  show() {
    const block = this.store.block(this.store.selected);
    for (const cleanUp of this.#cleanUps.splice(0)) cleanUp();
    if (!block) {
      this.#cx = null;
      this.element.replaceChildren(emptyForm(this.store, this.options));
      return;
    }
    this.#shape = shapeOf(block, this.store);
    this.#cx = context(this.store, block.key, this.options);
    this.element.replaceChildren(...this.#build(this.#cx, block));
    this.element.scrollTop = 0;
    this.#head(block);
  }

  /** @param {FormContext} cx @param {Block} block @returns {Node[]} */
  #build(cx, block) {
    this.title = h("h2", { tabindex: "-1", id: "form-title" });
    const whole = problemList(cx, "", null, { isExact: true });
    cx.fields.set("", { path: "", update() {}, focus: () => false, showIssues: whole.show });
    whole.show();
    const tools = this.options.tools(block);
    return [
      h("div", { class: "form-head" }, icon(`type-${block.type}`, "type-sign"), this.title,
        h("div", { class: "form-tools", role: "toolbar", "aria-label": "This block" }, tools)),
      ...this.#notes(block), whole.list,
      ...mainFields(cx, block), ...this.#logic(cx, block),
      ...(block.section === "outro" ? [] : [more(cx, block)]),
    ];
  }

  /** @param {Block} block */
  #head(block) {
    const at = this.store.indexOf(block.key);
    text(this.title, block.section === "outro" ? `Outro · ${typeName(block)}` : `Block ${at + 1} · ${typeName(block)}`);
  }

  /** @param {Block} block */
  #notes(block) {
    const note = (...words) => [h("p", { class: "ed-note", id: "why-closed" }, icon("lock"), h("span", {}, ...words))];
    if (block.section === "outro") {
      const ends = h("a", { class: "ed-link", href: "../delivery/#section-at-the-end" }, "Delivery");
      return note(AUTOMATIC, " Other ends, by answers or scores, are in ", ends, ".");
    }
    if (!this.store.mayEdit) return note(READ_ONLY);
    if (!this.store.isLive || !block.id) return [];
    const duplicate = h("button", { type: "button", class: "ed-link", onclick: this.options.duplicateProject },
      "duplicate it as a new version");
    return note(CLOSED, duplicate, ".");
  }

  /** @param {FormContext} cx @param {Block} block */
  #logic(cx, block) {
    const { mountLogic } = this.options;
    if (block.section === "outro" || !mountLogic) return [];
    const element = h("section", { class: "form-section logic", "aria-label": "Logic" });
    const part = mountLogic(element, this.store,
      { ...this.options, key: block.key, isOpen: cx.isOpen("show_when") });
    const cleanUp = typeof part === "function" ? part : part?.destroy?.bind(part);
    if (cleanUp) this.#cleanUps.push(cleanUp);
    for (const path of ["show_when", "hide_when", "precondition"]) {
      cx.fields.set(path, { path, update() {}, focus: () => focusWithin(element) });
    }
    return [element];
  }
}

function focusWithin(element) {
  const control = element.querySelector("[aria-invalid=true]") ?? element.querySelector(ENABLED);
  control?.focus();
  return Boolean(control);
}

/** @param {Block} block */
function isFact(block) {
  return Boolean(block.format) && block.format !== "line";
}

/** A form is built anew when this changes.
 *  @param {Block} block @param {Store} store */
function shapeOf(block, store) {
  const saved = store.isLive ? [block, ...(block.options ?? [])].filter((each) => each.id).length : 0;
  return `${block.type} ${block.section === "outro"} ${isFact(block)} ${saved}`;
}

/** @param {Store} store */
function emptyForm(store, options) {
  const canAdd = store.mayEdit;
  return h("div", { class: "empty-form" },
    icon("type-content_block", "type-sign large"),
    h("h2", {}, "An empty script"),
    h("p", {}, "A script is a list of blocks: questions, statements, and what is worked out from the answers."),
    canAdd && h("button", { type: "button", class: "button first-block", onclick: options.openPalette }, icon("plus"),
      "Add the first block"),
    canAdd && h("div", { class: "first-ways", role: "group", "aria-label": "Or start from" },
      [["sentence", "From a sentence"], ["template", "From a template"], ["file", "From a file"]].map(([way, words]) =>
        h("button", { type: "button", class: "button second", onclick: () => options.openStart(way) }, words))),
    canAdd && h("p", { class: "help" }, "Or press A in the list of blocks."));
}

/* The fields of a block, by its type */

/** @param {FormContext} cx @param {Block} block @returns {Node[]} */
function mainFields(cx, block) {
  const { type } = block;
  if (type === "calculated_block") return calculation(cx);
  /** @type {(Node | null)[]} */
  const parts = [promptField(cx, block), descriptionField(cx)];
  if (block.section === "outro") parts.push(...pictures(cx));
  if (WITH_ITEMS.has(type)) parts.push(mountOptions(cx));
  if (SCALES.has(type)) parts.push(mountScale(cx));
  if (type === "action_block" && block.section !== "outro") parts.push(actionFields(cx));
  if (STATEMENTS.has(type)) parts.push(continueFields(cx));
  if (QUESTIONS.has(type)) parts.push(answering(cx, type));
  if (CHOICES.has(type) || SCALES.has(type)) parts.push(scoringPart(cx, block));
  return parts.filter((part) => part !== null);
}

const MARKS = "Both texts may have **bold**, *italics*, [links](https://example.org), and lists of lines with “- ”.";

/** @param {FormContext} cx @param {Block} block */
function promptField(cx, block) {
  const [label, placeholder] = PROMPTS[block.type] ?? ["Question", "What would you like to know?"];
  const element = textField(cx, "prompt", { label, placeholder, rows: 2, keepsEmpty: true, maximum: 4000,
    extra: insertButton(cx, "prompt"), onCommit: () => nameByWords(cx.store, cx.key) });
  element.classList.add("prompt-field");
  complete(cx, element.querySelector("textarea"), "prompt");
  return element;
}

/** @param {FormContext} cx */
function descriptionField(cx) {
  const element = textField(cx, "description", { label: "Description", rows: 1, maximum: 1000, help: MARKS,
    placeholder: "Smaller text below, if it helps to answer", extra: insertButton(cx, "description") });
  complete(cx, element.querySelector("textarea"), "description");
  return element;
}

/** A button inserts names into a text, if completion is available.
 *  @param {FormContext} cx @param {string} path */
function insertButton(cx, path) {
  const { openTokens } = cx.options;
  if (!openTokens || !cx.isOpen(path)) return null;
  const open = () => {
    openTokens(button.closest(".ed-field")?.querySelector("textarea"), cx.store, { key: cx.key, field: path });
  };
  const button = h("button", { type: "button", class: "quiet small", onclick: open }, "Insert [ ]");
  return button;
}

/** @param {FormContext} cx @param {string} path */
function complete(cx, control, path) {
  cx.options.mountCompletion?.(control, cx.store, { ...cx.options, key: cx.key, field: path });
}

/** @param {FormContext} cx */
function calculation(cx) {
  const formula = textField(cx, "calculated_formula", {
    label: "Formula", rows: 3, maximum: 2000, placeholder: "if [score] >= 8 then Expert else Newcomer",
    help: "Numbers, [names] of earlier blocks, + − * / ( ), “if … then … else …”, and argmax([score_a], [score_b]) "
      + "for the bucket with the most points.",
  });
  const area = /** @type {HTMLTextAreaElement} */ (formula.querySelector("textarea"));
  area.classList.add("code");
  area.spellcheck = false;
  complete(cx, area, "calculated_formula");
  return [nameField(cx, "Name of the result", "Other blocks use the result under this name: [name] in texts."),
    formula];
}

/** @param {FormContext} cx */
function nameField(cx, label, help) {
  return textField(cx, "name", { label, help, maximum: 64, placeholder: cx.store.marks.get(cx.key)?.name ?? "",
    onCommit: (before, after) => cx.options.renamed?.(cx.key, before, after) });
}

/** @param {FormContext} cx */
function answering(cx, type) {
  const required = checkField(cx, "required", { label: "An answer is required" });
  const number = (path, label, options = {}) => numberField(cx, path, { label, ...options });
  const limits = {
    multi_punch: () => [number("min", "Choose at least", { min: 0, placeholder: "0" }),
      number("max", "Choose at most", { min: 1, placeholder: "all" })],
    open_numeric: () => [number("min", "Least", { placeholder: "any" }),
      number("max", "Greatest", { placeholder: "any" })],
    ranking: () => [number("rank_top_n", "Rank only the top", { min: 1, max: 20, placeholder: "all" })],
    open_text: () => [
      selectField(cx, "format", { label: "Answers are", choices: [[null, "Any text"], ...FORMATS] }),
      ...((cx.store.vocabulary.asks_further && !isFact(cx.block)) || cx.block.follow_ups
        ? [number("follow_ups", "Further questions", { min: 0, max: 2, placeholder: "none",
          help: cx.store.vocabulary.further_help })]
        : []),
    ],
  }[type]?.() ?? [];
  return h("div", { class: "form-part" }, limits.length ? h("div", { class: "field-row" }, limits) : null,
    type === "open_numeric" ? checkField(cx, "whole", { label: "Whole numbers only" }) : null, required);
}

/** Points, the right answer and the feedback; a button that turns scoring on if it is off.
 *  @param {FormContext} cx @param {Block} block */
function scoringPart(cx, block) {
  const isUsed = (now) => Boolean(now.when_correct || now.when_incorrect
    || now.correct_answer_ids?.length || Number.isInteger(now.correct_answer_index));
  if (!cx.store.scoring && !isUsed(block)) return scoringOff(cx);
  const words = (path, label, placeholder) => {
    const element = textField(cx, path, { label, placeholder, rows: 1, maximum: 4000, extra: insertButton(cx, path) });
    complete(cx, element.querySelector("textarea"), path);
    return element;
  };
  const part = folded(cx, "Words after the answer", (now) => (isUsed(now) ? "" : "Mark the right answer with ✓ first"),
    words("when_correct", "After the right answer", "That's right!"),
    words("when_incorrect", "After a wrong answer", "Not quite: it was …"));
  // few scales have a right answer, and the sign for it only stands beside points with words
  if (SCALES.has(block.type)) {
    const update = (now) => { part.hidden = !isUsed(now); };
    cx.fields.set("#words-of-scale", { path: "#words-of-scale", update, focus: () => false });
    update(block);
  }
  return part;
}

/** @param {FormContext} cx */
function scoringOff(cx) {
  if (cx.store.isLive || !cx.store.mayEdit) return null;
  const refusal = h("span", { role: "alert" });
  const turnOn = h("button", { type: "button", class: "ed-link",
    onclick: async () => { text(refusal, await cx.options.turnScoringOn() ?? ""); } }, "Turn scoring on");
  return h("p", { class: "help scoring-off" }, "No points and right answers: scoring is off in this project. ", turnOn,
    " ", refusal);
}

const VIDEO = "On YouTube or Vimeo. It is loaded once a respondent plays it; the picture above is shown until then.";

/** @param {FormContext} cx @param {Block} block */
function more(cx, block) {
  const { type } = block;
  const style = CHOICES.has(type) ? "choice" : type === "ranking" ? "ranking" : SCALES.has(type) ? "scale" : null;
  const parts = [
    type === "calculated_block" ? description(cx) : nameField(cx, "Name in logic and texts",
      "Starts with a letter. Logic and [tokens] use it; respondents never see it."),
    typesLike(type).length > 1 && cx.isOpen("type") ? typeField(cx, type) : null,
    (CHOICES.has(type) || SCALES.has(type)) && textField(cx, "group", { label: "Group", maximum: 200,
      placeholder: "How satisfied are you with …",
      help: "A title above this question and its neighbours that have the same title and equal answers." }),
    style && selectField(cx, "answer_style", { label: "Look of the answers", choices: STYLES[style] }),
    WITH_ITEMS.has(type) && checkField(cx, "randomize_options",
      { label: "Shuffle for each respondent", help: "An option can be kept last: use its pin." }),
    type === "content_block" && block.section !== "outro" && textField(cx, "video_url", { label: "Video", type: "url",
      maximum: 2048, placeholder: "https://www.youtube.com/watch?v=…", help: VIDEO }),
    ...(type === "calculated_block" ? [] : pictures(cx)),
    STATEMENTS.has(type) && colorField(cx),
  ].filter(Boolean);
  return folded(cx, "More", (now) => summaryOf(now), ...parts);
}

/** @param {FormContext} cx */
function description(cx) {
  const label = "Description, for you alone";
  return textField(cx, "prompt", { label, contract: "prompt", keepsEmpty: true, rows: 1, maximum: 4000 });
}

/** @param {Block} block */
function summaryOf(block) {
  const set = [block.type === "calculated_block" || !isChosen(block) ? null : block.name,
    block.randomize_options && "shuffled", block.group && "group", block.image_url && "picture",
    block.video_url && "video",
    block.thumbnail_url && "small picture", block.answer_style && "look", block.color && "colour"];
  return set.filter(Boolean).join(" · ");
}

/** @param {FormContext} cx */
function typeField(cx, type) {
  const field = selectField(cx, "type", {
    label: "Type", choices: typesLike(type).map((each) => [each, TYPES[each].name]),
    help: "Not possible once the block has answers.",
    onChange: (value) => cx.change((block) => changeType(block, value), "Change type"),
  });
  return field;
}

/** @param {FormContext} cx */
function pictures(cx) {
  const isBasic = cx.store.vocabulary.tier === "basic";
  const premium = isBasic ? "Pictures need the premium tier. Yours is basic." : null;
  const kinds = [["image", "Picture above the text", "What the picture shows"],
    ["thumbnail", "Small picture at the corner", "What the small picture shows"]];
  return kinds.flatMap(([kind, label, words]) => {
    const path = `${kind}_url`;
    const field = textField(cx, path, { label, type: "url", maximum: 2048, placeholder: "https://…", help: premium,
      show: addPicture });
    if (isBasic && !cx.block[path]) {
      for (const each of field.querySelectorAll("input, .upload")) each.setAttribute("disabled", "");
    }
    field.classList.toggle("is-premium", isBasic);
    if (!cx.block[path]) return [field];
    return [field, textField(cx, `${kind}_alt`,
      { label: words, maximum: 500, help: "Read to people who do not see it. Leave it empty if it only decorates." })];
  });
}

/** @param {FormContext} cx */
function colorField(cx) {
  const help = cx.store.vocabulary.tier === "basic" ? "Kept, but shown only from the premium tier on. Yours is basic."
    : "Six digits, such as 5865F2.";
  return textField(cx, "color", { label: "Colour", maximum: 6, placeholder: "5865F2", help,
    show: (control) => addPicker(control, "Colour") });
}
