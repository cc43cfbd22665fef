/* Fields of the form: a label in plain words with the contract's name beside it, the control, and what the last check
   says about it. A field reads from the block and writes to it, and may be redrawn at any time:

     const cx = context(store, key, options)            one for each form
     textField(cx, "prompt", { label: "Question", … })  an element; cx.fields knows it by its path
     cx.update(block), cx.showIssues(), cx.focus(path) */

import { attribute, h, icon, newId, text } from "./dom.js";
import { mendsOf } from "./mends.js";
import { TYPES, isOpenForChange } from "./types.js";

/** This page's words for the interface's names, for messages of the server that mention them. */
const PLAIN = {
  prompt: "the text", description: "the description", group: "“Group”", options: "the list of options",
  value: "the option", label: "the label", emoji: "the emoji", min: "the least", max: "the greatest",
  whole: "“Whole numbers only”", format: "“Answers are”",
  name: "the name", rank_top_n: "the number to rank", image_url: "the picture",
  image_alt: "what the picture shows", thumbnail_alt: "what the small picture shows",
  thumbnail_url: "the small picture", video_url: "the video", color: "the colour", calculated_formula: "the formula",
  answer_style: "the look of the answers", correct_answer_ids: "the right answer",
  correct_answer_indexes: "the right answer",
  when_correct: "the words for a right answer", when_incorrect: "the words for a wrong answer",
  "scale.icon": "the signs of the scale", label_left: "the label on the left", label_center: "the label in the middle",
  label_right: "the label on the right", pause: "the seconds", after: "the way to continue",
  show_when: "“show this when”", hide_when: "“hide this when”", precondition: "the condition",
  action_kind: "what is given", action_config: "what is given", xp_amount: "the XP", source_key: "the score",
  xp_role_id: "the achievement", role_id: "the role",
  section: "the section", follow_ups: "“Further questions”",
  is_exclusive: "“cannot be chosen with others”", is_other: "the text of one's own",
  score_values: "the points", type: "the type", "rewards.use_xp": "the project's XP reward", blocks: "the script",
};

const FOLDED = "details:not([open])";
/** The controls that can take the focus. */
export const ENABLED = ["input", "select", "textarea", "button"].map((tag) => `${tag}:not(:disabled)`).join(", ");

/** Parts of messages about features that only the interface has. */
const STAFF_WORDS = [
  [", except on a `calculated_block`", ""],
  ["is not in `settings.hidden_fields`", "is not among the names in Delivery › Values from the address"],
  ["is a field of `settings.hidden_fields` too", "is also one of the names in Delivery › Values from the address"],
  ["or the conversation is begun over the interface", "or a program sends it along"],
];

/** A message of the server in this page's words.
 *  @param {string} message */
export function plainMessage(message) {
  const words = STAFF_WORDS.reduce((text, [before, after]) => text.replace(before, after), message)
    .replace(/`([^`]+)`/g, (whole, name) => PLAIN[name] ?? (TYPES[name] ? `“${TYPES[name].name}”` : `“${name}”`));
  return words.startsWith("field.") ? words : words.charAt(0).toUpperCase() + words.slice(1);
}

/** Read or write a field by its path: `scale.label_left`, `options.<key>.value`.
 *  @param {Block | {}} block @param {string} path @returns {any} */
export function read(block, path) {
  return path.split(".").reduce((value, name) => step(value, name), block);
}

/** @param {Block} block @param {string} path @param {any} value */
export function write(block, path, value) {
  const names = path.split(".");
  const last = names.length - 1;
  /** @type {any} */ let target = block;
  for (const name of names.slice(0, last)) {
    if (Array.isArray(target)) target = step(target, name);
    else target = target[name] ??= {};
  }
  target[names[last]] = value;
}

function step(value, name) {
  return Array.isArray(value) ? value.find((each) => each.key === name) : value?.[name];
}

/** @param {Store} store @param {string} key @param {Record<string, any>} options */
export function context(store, key, options) {
  /** @type {Map<string, Field>} */ const fields = new Map();
  return {
    store, key, options, fields,
    get block() { return /** @type {Block} */ (store.block(key)); },
    /** @param {(block: Block) => void} fn @param {string} label @param {string | null} [merge] */
    change(fn, label, merge = null) {
      return store.changeBlock(key, fn, label, { merge: merge && `${key}:${merge}` });
    },
    /** @param {string} path */
    isOpen(path) { return isOpenForChange(store, this.block, path); },
    /** @param {Block} block */
    update(block) { for (const field of fields.values()) field.update(block); },
    showIssues() { for (const field of fields.values()) field.showIssues?.(); },
    /** @param {string} path */
    focus(path) { return focusField(fields, path); },
  };
}

/** Focus the field of a path, or else the nearest one around it.
 *  @param {string} path */
function focusField(fields, path) {
  for (let at = path; at; at = at.replace(/[.[][^.[]*$/, "")) {
    const field = fields.get(at) ?? [...fields.values()].find((each) => each.path.startsWith(`${at}.`));
    if (field?.focus()) return true;
    if (!/[.[]/.test(at)) break;
  }
  return false;
}

/** @param {HTMLElement} element */
export function focusable(element) {
  return () => {
    const isControl = element.matches("input, select, textarea, button");
    const control = isControl ? element : /** @type {HTMLElement | null} */ (element.querySelector(ENABLED));
    if (!control) return false;
    unfold(control);
    control.focus();
    control.scrollIntoView({ block: "nearest" });
    return true;
  };
}

/** Open the folded parts around an element.
 *  @param {Element} element */
export function unfold(element) {
  for (let at = element.closest(FOLDED); at; at = element.closest(FOLDED)) at.setAttribute("open", "");
}

/** The place of the findings about a field, which describes the field's control.
 *  @param {FormContext} cx @param {string} path @param {HTMLElement | null} control
 *  @param {{ isExact?: boolean }} [options] */
export function problemList(cx, path, control, { isExact = false } = {}) {
  const id = newId("problems");
  const list = h("ul", { class: "problems", id, hidden: true });
  const show = () => {
    const found = cx.store.violationsOf(cx.key, path).filter((issue) => !isExact || issue.path === path);
    const signature = found.map((issue) => issue.kind + issue.message + (issue.column ?? "")).join("\n");
    if (list.dataset.signature === signature) return;
    list.dataset.signature = signature;
    list.hidden = !found.length;
    list.replaceChildren(...found.map((issue) => problem(issue, read(cx.block ?? {}, path), cx)));
    if (!control) return;
    attribute(control, "aria-invalid", found.some((issue) => issue.kind === "fault") ? "true" : null);
    describe(control, id, found.length > 0);
  };
  return { list, show };
}

/** @param {Issue} issue */
function problem(issue, value, { store, key, options }) {
  const line = h("li", { class: issue.kind }, icon(issue.kind),
    h("span", {}, h("span", { class: "visually-hidden" }, issue.kind === "fault" ? "Fault: " : "Warning: "),
      plainMessage(issue.message)));
  if (issue.column && typeof value === "string") line.append(marked(value, issue.column));
  line.append(...mendsOf(issue, { store, key, announce: options.announce }));
  return line;
}

/** The text around a column, with the column marked.
 *  @param {string} value @param {number} column */
export function marked(value, column) {
  const at = Math.min(column - 1, value.length);
  const start = Math.max(0, at - 24);
  return h("code", { class: "excerpt" }, start ? "…" : "", value.slice(start, at),
    h("mark", {}, value.slice(at, at + 1) || "␣"), value.slice(at + 1, at + 25));
}

/** @param {Element} control @param {string} id @param {boolean} isOn */
export function describe(control, id, isOn) {
  const ids = new Set((control.getAttribute("aria-describedby") ?? "").split(" ").filter(Boolean));
  if (isOn) ids.add(id);
  else ids.delete(id);
  attribute(control, "aria-describedby", [...ids].join(" ") || null);
}

/** Label, control, help and findings of one field.
 *  @param {FormContext} cx @param {string} path @param {Control} control @param {FieldOptions} options
 *  @param {(block: Block) => void} update */
function frame(cx, path, control, { label, contract = path, help = null, hidden = false, extra = null }, update) {
  control.id ||= newId("field");
  control.dataset.path = path;
  const helpId = help ? `${control.id}-help` : null;
  if (helpId) describe(control, helpId, true);
  const problems = problemList(cx, path, control);
  const isOpen = cx.isOpen(path);
  control.disabled = !isOpen;
  if (!isOpen) describe(control, "why-closed", true);
  const element = h("div", { class: "ed-field" },
    h("div", { class: "ed-label" }, h("label", { for: control.id, class: hidden ? "visually-hidden" : null }, label),
      !hidden && contractName(contract), extra),
    control,
    help && h("p", { class: "help", id: helpId }, help),
    problems.list);
  cx.fields.set(path, { path, element, update, focus: focusable(control), showIssues: problems.show });
  update(cx.block);
  problems.show();
  return element;
}

/** The contract's name of a field, small, for those who also use the interface.
 *  @param {string} name */
export function contractName(name) {
  return h("code", { class: "contract", "aria-hidden": "true", title: `Called ${name} in the API` }, name);
}

/** @param {FormContext} cx @param {string} path */
function put(cx, path, value, label) {
  cx.change((block) => write(block, path, value), `Change ${label.toLowerCase()}`, path);
}

/**
 * @typedef {object} TextOptions
 * @property {number} [rows]  an area of text with so many rows
 * @property {boolean} [keepsEmpty]
 * @property {number | null} [maximum]
 * @property {string | null} [placeholder]
 * @property {string} [type]
 * @property {(before: any, after: any) => void} [onCommit]
 * @property {(control: any) => () => void} [show]
 */

/** A line or, with `rows`, an area of text. Empty text is null unless `keepsEmpty`. `show(control)` may put something
 *  beside it, and answers a function that draws that anew.
 *  @param {FormContext} cx @param {string} path @param {FieldOptions & TextOptions} options */
export function textField(cx, path, options) {
  const { label, rows = 0, keepsEmpty = false, maximum = null, placeholder = null, type = "text", onCommit = null,
    show = null } = options;
  const control = rows
    ? h("textarea", { rows, maxlength: maximum, placeholder, class: "entry", dir: "auto" })
    : h("input", { type, maxlength: maximum, placeholder, class: "entry", dir: type === "text" ? "auto" : null,
      autocomplete: "off", spellcheck: type === "text" ? null : "false" });
  let before = null;
  let shown = null;
  control.addEventListener("focus", () => { before = read(cx.block ?? {}, path); });
  control.addEventListener("input", () => put(cx, path, control.value || (keepsEmpty ? "" : null), label));
  control.addEventListener("change", () => {
    const after = read(cx.block ?? {}, path);
    onCommit?.(before, after);
    before = after;
  });
  const element = frame(cx, path, control, options, (block) => {
    const value = read(block, path) ?? "";
    if (control.value !== value) control.value = value;
    shown?.();
  });
  shown = show?.(control);
  return element;
}

/** @typedef {{ min?: number, max?: number, placeholder?: string, onChange?: () => void }} NumberOptions */

/** @param {FormContext} cx @param {string} path @param {FieldOptions & NumberOptions} options */
export function numberField(cx, path, options) {
  const { label, min = null, max = null, placeholder = null } = options;
  const control = h("input", { type: "number", step: "1", min, max, placeholder, class: "entry number",
    inputmode: "numeric" });
  control.addEventListener("input", () => {
    if (control.validity.badInput) return;
    put(cx, path, control.value === "" ? null : Number(control.value), label);
    options.onChange?.();
  });
  return frame(cx, path, control, options, (block) => {
    const value = read(block, path);
    if (document.activeElement === control && Number(control.value) === value && control.value !== "") return;
    const shown = value === null || value === undefined ? "" : String(value);
    if (control.value !== shown && !control.validity.badInput) control.value = shown;
  });
}

/** `choices`: pairs of a value and its name; the value null is a choice too.
 *  @param {FormContext} cx @param {string} path
 *  @param {FieldOptions & { choices: any[][], onChange?: (value: any) => void }} options */
export function selectField(cx, path, options) {
  const { label, choices, onChange = null } = options;
  const control = h("select", { class: "entry" },
    choices.map(([value, name]) => h("option", { value: value ?? "" }, name)));
  control.addEventListener("change", () => {
    const chosen = choices.find(([value]) => String(value ?? "") === control.value)?.[0] ?? null;
    if (onChange) onChange(chosen);
    else put(cx, path, chosen, label);
  });
  return frame(cx, path, control, options, (block) => {
    const value = String(read(block, path) ?? "");
    if (![...control.options].some((option) => option.value === value)) control.append(h("option", { value }, value));
    if (control.value !== value) control.value = value;
  });
}

/** @param {FormContext} cx @param {string} path
 *  @param {FieldOptions & { onChange?: (value: boolean) => void }} options */
export function checkField(cx, path, { label, contract = path, help = null, onChange }) {
  const id = newId("field");
  const control = h("input",
    { type: "checkbox", id, "data-path": path, "aria-describedby": help ? `${id}-help` : null });
  const problems = problemList(cx, path, control);
  const isOpen = cx.isOpen(path);
  control.disabled = !isOpen;
  if (!isOpen) describe(control, "why-closed", true);
  control.addEventListener("change", () => {
    if (onChange) onChange(control.checked);
    else put(cx, path, control.checked, label);
  });
  const element = h("div", { class: "ed-field check" },
    h("div", { class: "check-line" }, control, h("label", { for: id }, label), contractName(contract)),
    help && h("p", { class: "help", id: `${id}-help` }, help), problems.list);
  const update = (block) => { control.checked = Boolean(read(block, path)); };
  cx.fields.set(path, { path, element, update, focus: focusable(control), showIssues: problems.show });
  update(cx.block);
  problems.show();
  return element;
}

/** @typedef {{ choices: any[][], get?: (block: Block) => any, onChange: (value: any) => void }} SegmentOptions */

/** A few choices side by side, each with a sign or a word. `get` reads the chosen value from the block.
 *  @param {FormContext} cx @param {string} path @param {FieldOptions & SegmentOptions} options */
export function segmentField(cx, path, options) {
  const { label, contract = path, choices, get = (block) => read(block, path), onChange, help = null } = options;
  const name = newId("segment");
  const inputs = choices.map(([value, words, sign]) => {
    const input = h("input", { type: "radio", name, value: String(value), "data-path": path });
    input.addEventListener("change", () => onChange(value));
    return { value, input, element: h("label", { class: "segment" }, input, sign && icon(sign), h("span", {}, words)) };
  });
  const problems = problemList(cx, path, null);
  const isOpen = cx.isOpen(path);
  const element = h("fieldset",
    { class: "ed-field segments", disabled: !isOpen, "aria-describedby": isOpen ? null : "why-closed" },
    h("legend", {}, label, " ", contractName(contract)),
    h("div", { class: "segment-row" }, inputs.map((each) => each.element)),
    help && h("p", { class: "help" }, help), problems.list);
  const update = (block) => { for (const each of inputs) each.input.checked = each.value === get(block); };
  cx.fields.set(path, { path, element, update, focus: focusable(element), showIssues: problems.show });
  update(cx.block);
  return element;
}

/** Rare fields, folded. The summary names the fields that have a value.
 *  @param {FormContext} cx @param {string} words @param {(block: Block) => string} summaryOf
 *  @param {any[]} children */
export function folded(cx, words, summaryOf, ...children) {
  const said = h("span", { class: "folded-summary" });
  const element = h("details", { class: "folded" }, h("summary", {}, h("span", {}, words), said),
    h("div", { class: "folded-body" }, children));
  const update = (block) => text(said, summaryOf(block));
  cx.fields.set(`#${words}`, { path: `#${words}`, element, update, focus: () => false });
  update(cx.block);
  return element;
}
