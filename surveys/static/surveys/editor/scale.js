/* A scale: its signs, its range, the words at its ends or on every point, drawn as respondents will see it. */

import { arrange, attribute, h, icon } from "./dom.js";
import { changePoint, correctKey, fitPoints, markCorrect, markPoint, pointsOf } from "./document.js";
import { pickEmoji } from "./emoji.js";
import { problemList, segmentField, selectField, textField } from "./field.js";
import { RANGES } from "./types.js";

const FACES = {
  2: ["👎", "👍"], 3: ["🙁", "😐", "🙂"], 4: ["😢", "🙁", "🙂", "😍"], 5: ["😡", "🙁", "😐", "🙂", "😍"],
};
const SIGNS = [["numbers", "Numbers", "numbers"], ["stars", "Stars", "star"], ["emoji", "Emoji", "smile"]];

/** @param {FormContext} cx */
export function mountScale(cx) {
  return new ScaleForm(cx).element;
}

/** The signs that a scale is drawn with.
 *  @param {Block} block @returns {string} */
export function iconOf(block) {
  return block.scale?.icon ?? RANGES[block.type].icon;
}

/** A scale whose points have no words, emoji or scores.
 *  @param {Block} block */
function makePlain(block) {
  block.options = null;
  markCorrect(block, null);
  if (iconOf(block) === "emoji") block.scale = { ...block.scale, icon: "numbers" };
}

class ScaleForm {
  /** @type {HTMLInputElement} */ toggle;
  #rows = new Map();

  /** @param {FormContext} cx */
  constructor(cx) {
    this.cx = cx;
    this.type = cx.block.type;
    this.drawing = h("div", { class: "scale-drawing", "aria-hidden": "true" });
    this.points = h("ol", { class: "points-list" });
    this.problems = problemList(cx, "options", null, { isExact: true });
    this.wantsPoints = false;
    this.element = this.#build();
    cx.fields.set("options", {
      path: "options", element: this.points, update: (block) => this.update(block),
      focus: () => this.#focusPoint(),
      showIssues: () => { this.problems.show(); for (const row of this.#rows.values()) row.problems.show(); },
    });
    this.update(cx.block);
    this.problems.show();
  }

  #build() {
    const { cx } = this;
    const isNps = this.type === "nps";
    const signs = isNps ? null : segmentField(cx, "scale.icon", {
      label: "Drawn as", choices: SIGNS, get: iconOf, onChange: (value) => this.#setIcon(value),
    });
    return h("div", { class: "scale-form" },
      h("div", { class: "field-row" }, signs, isNps ? null : this.#range()),
      h("div", { class: "scale-frame" }, this.drawing, isNps ? h("p", { class: "help" },
        "The ends have the standard words: not at all likely, extremely likely.") : this.#ends()),
      this.#pointsPart());
  }

  #range() {
    const { cx, type } = this;
    const { starts, fewest, most } = RANGES[type];
    const low = starts[0];
    const last = Math.max(...starts) + most - 1;
    const numbers = Array.from({ length: last - low - fewest + 2 }, (_, n) => low + fewest - 1 + n);
    const set = (field) => (value) => cx.change((block) => { block[field] = value; fitPoints(block); },
      "Change the range");
    const from = starts.length > 1 ? selectField(cx, "min",
      { label: "From", contract: "min", choices: starts.map((n) => [n, String(n)]), onChange: set("min") }) : null;
    const to = selectField(cx, "max", { label: starts.length > 1 ? "To" : "Points", contract: "max",
      choices: numbers.map((n) => [n, String(n)]), onChange: set("max") });
    const [least, greatest] = RANGES[type].points;
    this.#standard("min", least);
    this.#standard("max", greatest);
    return h("div", { class: "field-row" }, from, to);
  }

  /** Where the block leaves a bound open, its field shows the type's own.
   *  @param {string} path */
  #standard(path, standard) {
    const field = this.cx.fields.get(path);
    if (!field) return;
    const control = /** @type {HTMLSelectElement} */ (field.element?.querySelector("select"));
    field.update = (block) => { control.value = String(block[path] ?? standard); };
    field.update(this.cx.block);
    for (const empty of control.querySelectorAll("option[value='']")) empty.remove();
  }

  #ends() {
    const words = (path, label, placeholder) => textField(this.cx, path,
      { label, contract: path.split(".")[1], placeholder, maximum: 200 });
    return h("div", { class: "scale-ends" },
      words("scale.label_left", "Left end", "Not at all"), words("scale.label_center", "Middle", "Neutral"),
      words("scale.label_right", "Right end", "Very much"));
  }

  #pointsPart() {
    this.toggle = h("input", { type: "checkbox", id: `points-${this.cx.key}`, disabled: !this.cx.isOpen("options"),
      onchange: () => this.#togglePoints() });
    return h("div", { class: "ed-field points" },
      h("div", { class: "check-line" }, this.toggle, h("label", { for: this.toggle.id },
        this.cx.store.scoring ? "A word, an emoji or a score for each point" : "A word or an emoji for each point")),
      this.points, this.problems.list);
  }

  #togglePoints() {
    this.wantsPoints = this.toggle.checked;
    if (!this.toggle.checked) this.cx.change(makePlain, "Have plain points");
    this.update(this.cx.block);
    if (this.toggle.checked) this.#focusPoint();
  }

  #setIcon(value) {
    this.cx.change((block) => {
      block.scale = { label_left: null, label_center: null, label_right: null, ...block.scale, icon: value };
      if (value !== "emoji") return;
      const points = pointsOf(block);
      const faces = FACES[points.length];
      points.forEach((point, n) => changePoint(block, point, (option) => { option.emoji ??= faces?.[n] ?? null; }));
    }, "Change the signs");
    if (value === "emoji") this.wantsPoints = true;
    this.update(this.cx.block);
  }

  /** @param {Block} block */
  update(block) {
    const options = new Map((block.options ?? []).map((option) => [option.value, option]));
    this.#draw(block, options);
    const isShown = this.wantsPoints || options.size > 0 || iconOf(block) === "emoji";
    this.toggle.checked = isShown;
    this.points.hidden = !isShown;
    if (!isShown) return;
    const right = correctKey(block);
    const wanted = pointsOf(block);
    for (const point of [...this.#rows.keys()]) if (!wanted.includes(point)) this.#drop(point);
    arrange(this.points, wanted.map((point) => {
      const row = this.#rows.get(point) ?? this.#makeRow(point);
      row.update(options.get(String(point)), right);
      return row.element;
    }));
  }

  #makeRow(point) {
    const row = new PointRow(this.cx, point);
    this.#rows.set(point, row);
    return row;
  }

  #drop(point) {
    this.#rows.delete(point);
  }

  #focusPoint() {
    const [first] = this.#rows.values();
    first?.label.focus();
    return Boolean(first);
  }

  /** The scale in small, as it will look.
   *  @param {Block} block */
  #draw(block, options) {
    const signs = iconOf(block);
    const points = pointsOf(block);
    const cell = (point) => {
      const option = options.get(String(point));
      if (signs === "stars") return h("span", { class: "star" }, icon("star"));
      const sign = signs === "emoji" ? option?.emoji ?? "?" : String(point);
      return h("span", { class: signs === "emoji" ? "face" : "cell" }, h("b", {}, sign),
        option?.label ? h("small", {}, option.label) : null);
    };
    const { label_left: left, label_center: center, label_right: right } = block.scale ?? {};
    const words = this.type === "nps" ? ["Not at all likely", null, "Extremely likely"]
      : [left, points.length % 2 ? center : null, right];
    this.drawing.replaceChildren(
      h("div", { class: `scale-cells ${signs}` }, points.map(cell)),
      words.some(Boolean) ? h("div", { class: "scale-words" }, words.map((word) => h("span", {}, word ?? ""))) : "");
  }
}

class PointRow {
  /** @param {FormContext} cx @param {number} point */
  constructor(cx, point) {
    this.cx = cx;
    this.point = point;
    this.emoji = h("button", { type: "button", class: "emoji-button", disabled: !cx.isOpen("options.x.emoji"),
      onclick: () => this.#chooseEmoji() });
    this.label = h("input", { type: "text", class: "entry", maxlength: 500, dir: "auto",
      disabled: !cx.isOpen("options.x.label"), "aria-label": `Words on point ${point}`, placeholder: "Words, if any",
      oninput: () => this.#set("label", this.label.value || null, true), onkeydown: (event) => this.#key(event) });
    this.scores = cx.store.scoring ? cx.store.buckets.map((bucket) => this.#scoreEntry(bucket)) : [];
    this.right = this.scores.length
      ? h("button", { type: "button", class: "icon-button right", "aria-label": `Point ${point} is the right answer`,
        title: "Right answer", disabled: !cx.isOpen("correct_answer_ids"), onclick: () => this.#mark() }, icon("check"))
        : null;
    this.problems = problemList(cx, `options.#${point}`, this.label);
    this.element = h("li", { class: "point-row" }, h("b", { class: "point" }, String(point)), this.emoji, this.label,
      this.scores.map((score) => score.element), this.right, this.problems.list);
  }

  #scoreEntry(bucket) {
    const input = h("input",
      { type: "number", step: "any", class: "entry score",
        "aria-label": `Point ${this.point}, score for ${bucket.name}`, title: bucket.name, placeholder: "0",
        disabled: !this.cx.isOpen("options"), oninput: () => this.#setScore(bucket.key, input) });
    return { bucket, input, element: input };
  }

  /** @param {BlockOption} option */
  update(option, right) {
    this.key = option?.key ?? null;
    this.problems = this.key && this.problems.key !== this.key ? this.#problemsOf(this.key) : this.problems;
    const label = option?.label ?? "";
    if (this.label.value !== label) this.label.value = label;
    const sign = option?.emoji ?? "";
    attribute(this.emoji, "aria-label", `Point ${this.point}: ${sign ? `emoji ${sign}, change` : "add an emoji"}`);
    this.emoji.replaceChildren(sign ? h("span", { "aria-hidden": "true" }, sign) : icon("smile"));
    for (const { bucket, input } of this.scores) {
      const points = option?.score_values?.[bucket.key];
      const shown = points === undefined || points === null ? "" : String(points);
      if (input.value !== shown && document.activeElement !== input) input.value = shown;
    }
    if (this.right) attribute(this.right, "aria-pressed", String(this.key !== null && this.key === right));
  }

  #problemsOf(key) {
    const problems = problemList(this.cx, `options.${key}`, this.label);
    problems.key = key;
    this.problems.list.replaceWith(problems.list);
    this.cx.fields.set(`options.${key}`,
      { path: `options.${key}`, update() {}, focus: () => { this.label.focus(); return true; } });
    problems.show();
    return problems;
  }

  #set(field, value, isTyped = false) {
    this.cx.change((block) => changePoint(block, this.point, (option) => { option[field] = value; }),
      `Change point ${this.point}`, isTyped ? `point.${this.point}.${field}` : null);
  }

  #setScore(bucket, input) {
    if (input.validity.badInput) return;
    this.cx.change((block) => changePoint(block, this.point, (option) => {
      const points = { ...option.score_values };
      if (input.value === "") delete points[bucket];
      else points[bucket] = Number(input.value);
      option.score_values = points;
    }), "Change points", `point.${this.point}.${bucket}`);
  }

  #chooseEmoji() {
    const current = (this.cx.block.options ?? []).find((option) => option.key === this.key)?.emoji;
    pickEmoji((sign) => this.#set("emoji", sign), { current });
  }

  #mark() {
    const isMarked = this.key !== null && correctKey(this.cx.block) === this.key;
    this.cx.change((block) => markPoint(block, isMarked ? null : this.point),
      isMarked ? "Have no right answer" : "Mark the right answer");
  }

  #key(event) {
    const step = { ArrowUp: -1, ArrowDown: 1, Enter: 1 }[event.key];
    if (!step || event.isComposing || event.ctrlKey || event.metaKey) return;
    const row = step < 0 ? this.element.previousElementSibling : this.element.nextElementSibling;
    /** @type {HTMLElement | null | undefined} */ (row?.querySelector("input[type=text]"))?.focus();
    event.preventDefault();
  }
}
