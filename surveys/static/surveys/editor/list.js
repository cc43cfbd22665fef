/* The list of blocks: intro, main and outro, each block a card. Arrow keys move through it, Alt with arrows moves the
   block, Enter opens it; a pointer drags. Only cards that changed are drawn again. */

import { isChosen } from "./document.js";
import { arrange, attribute, h, icon, plural, text } from "./dom.js";
import { plainText } from "./reach.js";
import { makeSortable, slotsBetween } from "./sorting.js";
import { MAX_BLOCKS, QUESTIONS, typeName } from "./types.js";

const SECTIONS = [["intro", "Intro"], ["main", "Main"], ["outro", "Outro"]];
const MARKS = { logic: "Shown only under a condition", score: "Has points", right: "Has a right answer",
  action: "Gives something", unreachable: "Never reached" };

/**
 * @typedef {object} ListOptions
 * @property {Announce} announce
 * @property {(key: string | null) => void} open
 * @property {() => void} openPalette
 * @property {(key: string | null) => void} archive
 * @property {(key: string | null) => void} duplicate
 * @property {(key: string | null, step: number) => void} move
 * @property {(key: string) => void} announceMove
 * @property {() => void} openHelp
 * @property {(key: string) => void} [chosen]
 */

/** `options`: announce(text), open(key), openPalette(), archive(key), openHelp().
 *  @param {HTMLElement} element @param {Store} store @param {ListOptions} options */
export function mountList(element, store, options) {
  return new List(element, store, options);
}

/** The cards of a section. @typedef {{ element: HTMLElement, cards: HTMLElement, empty: HTMLElement }} Group */

class List {
  #cards = new Map();

  /** @param {HTMLElement} element @param {Store} store @param {ListOptions} options */
  constructor(element, store, options) {
    this.element = element;
    this.store = store;
    this.options = options;
    this.box = h("div", { role: "listbox", "aria-label": "Blocks", class: "blocks", "aria-describedby": "list-help",
      onkeydown: (event) => this.#key(event), onclick: (event) => this.#click(event),
      ondblclick: () => this.options.open(store.selected) });
    this.groups = new Map(SECTIONS.map(([section, name]) => [section, this.#group(section, name)]));
    this.box.append(...[...this.groups.values()].map((group) => group.element));
    this.add = h("button", { type: "button", class: "quiet add-block", onclick: () => options.openPalette(),
      onkeydown: (event) => this.#addKey(event), disabled: !store.mayEdit }, icon("plus"),
      "Add a block", h("kbd", { "aria-hidden": "true" }, "A"));
    this.count = h("span", { class: "quiet-count" });
    this.why = h("p", { class: "ed-note why-no-more", role: "status" });
    element.append(
      h("div", { class: "list-head" }, h("h2", {}, "Blocks"), this.count,
        h("button", { type: "button", class: "icon-button", "aria-label": "Keys and help", title: "Keys and help (?)",
          onclick: () => options.openHelp() }, icon("help"))),
      h("p", { class: "visually-hidden", id: "list-help" },
        "Arrow keys move through the blocks, Alt with arrow keys moves a block, Enter opens it. ",
        "Question mark tells all keys."),
      this.box, this.add, this.why,
      h("div", { class: "list-foot" },
        ["flow", "start", "files", "archived"].map((part) => h("div", { "data-part": part }))));
    store.subscribe((what) => this.#notice(what));
    this.draw();
    if (store.mayEdit) this.#makeSortable();
  }

  #group(section, name) {
    const id = `section-${section}`;
    const note = section === "outro" ? h("span", { class: "section-note" }, "automatic") : null;
    const cards = h("div", { class: "block-cards", role: "presentation" });
    const empty = h("p", { class: "section-empty", role: "presentation" },
      section === "intro" ? "Nothing comes first" : "No blocks yet");
    const element = h("div", { role: "group", "aria-labelledby": id, class: `block-section ${section}` },
      h("div", { class: "section-head", role: "presentation" }, h("span", { id }, name, note && " ", note)),
      cards, empty);
    return { element, cards, empty };
  }

  #notice(what) {
    if (what === "blocks" || what === "check") this.draw();
    else if (what === "selection") this.#showSelection();
  }

  draw() {
    const { store } = this;
    const bySection = { intro: [], main: [], outro: [] };
    store.blocks.forEach((block, n) => {
      const card = this.#cards.get(block.key) ?? this.#makeCard(block);
      this.#update(card, block, n);
      bySection[block.section ?? "main"].push(card.element);
    });
    for (const key of this.#cards.keys()) if (!store.block(key)) this.#cards.delete(key);
    const focused = /** @type {HTMLElement | null} */ (document.activeElement);
    for (const [section, group] of this.groups) {
      arrange(group.cards, bySection[section]);
      group.empty.hidden = bySection[section].length > 0;
      group.element.hidden = section === "outro" && !bySection[section].length;
    }
    if (focused !== document.activeElement && focused?.classList.contains("block-card")
      && this.box.contains(focused)) focused.focus();
    const count = store.blocks.length - bySection.outro.length;
    text(this.count, count > 4 ? plural(count, "block") : "");
    this.add.disabled = this.whyNoMore() !== null;
    if (!this.add.disabled) text(this.why, "");
    this.#showSelection();
  }

  /** The reason why no block can be added now, in words; null if a block can be added. */
  whyNoMore() {
    const { store } = this;
    if (!store.mayEdit) return "You can read this script, but not change it: only its author and admins can.";
    const count = store.blocks.filter((block) => block.section !== "outro").length;
    return count < MAX_BLOCKS ? null : `A script has at most ${MAX_BLOCKS} blocks.`;
  }

  /** Say why, below the button that is disabled. */
  tellWhy() {
    text(this.why, this.whyNoMore() ?? "");
    this.why.scrollIntoView({ block: "nearest" });
  }

  /** @param {Block} block */
  #makeCard(block) {
    const parts = {
      number: h("span", { class: "number" }), name: h("span", { class: "card-name" }),
      marks: h("span", { class: "marks" }),
      sign: h("span", { class: "card-sign" }), issues: h("span", { class: "card-issues" }),
    };
    const element = h("div", { role: "option", class: "block-card", tabindex: "-1", id: `block-${block.key}`,
      "data-key": block.key, "aria-selected": "false" },
      h("span", { class: "grip", "aria-hidden": "true" }, icon("grip")), parts.number, parts.sign,
      h("span", { class: "card-words" }, parts.name, parts.marks), parts.issues);
    const card = { element, ...parts };
    this.#cards.set(block.key, card);
    return card;
  }

  /** @param {Block} block */
  #update(card, block, n) {
    const { store } = this;
    const found = store.violationsOf(block.key);
    const faults = found.filter((issue) => issue.kind === "fault").length;
    const marks = marksOf(store, block);
    const signature = `${n} ${faults} ${found.length} ${marks.join()}`;
    if (card.block === block && card.signature === signature) return;
    if (card.block?.type !== block.type) card.sign.replaceChildren(icon(`type-${block.type}`));
    Object.assign(card, { block, signature });
    text(card.number, block.section === "outro" ? "" : String(n + 1));
    const words = titleOf(block);
    text(card.name, words);
    card.name.classList.toggle("is-empty", !block.prompt.trim() && block.type !== "calculated_block");
    card.marks.replaceChildren(...[h("span", { class: "card-type" }, smallName(block)),
      ...marks.map((mark) => h("span", { class: `mark ${mark}`, title: MARKS[mark] }, icon(`mark-${mark}`)))]);
    card.issues.replaceChildren(...(faults ? [icon("fault")] : found.length ? [icon("warning")] : []));
    card.element.classList.toggle("has-fault", faults > 0);
    attribute(card.element, "aria-label", spoken(block, n, words, marks, faults, found.length - faults));
  }

  #showSelection() {
    const { selected } = this.store;
    for (const [key, card] of this.#cards) {
      const isSelected = key === selected;
      attribute(card.element, "aria-selected", String(isSelected));
      attribute(card.element, "tabindex", isSelected || (!selected && key === this.store.blocks[0].key) ? "0" : "-1");
    }
    this.#cards.get(selected)?.element.scrollIntoView?.({ block: "nearest" });
  }

  focus({ preventScroll = false } = {}) {
    const card = this.#cards.get(this.store.selected);
    (card?.element ?? this.add).focus({ preventScroll });
  }

  #click(event) {
    const card = event.target.closest(".block-card");
    if (!card) return;
    this.store.select(card.dataset.key);
    card.focus({ preventScroll: true });
    this.options.chosen?.(card.dataset.key);
  }

  /** The button below the list has the focus of an empty script. */
  #addKey(event) {
    if (event.key.toLowerCase() !== "a" || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    this.options.openPalette();
  }

  #key(event) {
    const { store, options } = this;
    const isPlain = !event.ctrlKey && !event.metaKey && !event.altKey;
    const at = store.indexOf(store.selected);
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step && event.altKey) this.#move(step);
    else if (!isPlain) return;
    else if (step) this.#go(at + step);
    else if (event.key === "Home") this.#go(0);
    else if (event.key === "End") this.#go(store.blocks.length - 1);
    else if (event.key === "PageDown") this.#go(at + 10);
    else if (event.key === "PageUp") this.#go(at - 10);
    else if (event.key === "Enter" || event.key === " ") options.open(store.selected);
    else if (event.key === "a" || event.key === "A") options.openPalette();
    else if (event.key === "d" || event.key === "D") options.duplicate(store.selected);
    else if (event.key === "Delete" || event.key === "Backspace") options.archive(store.selected);
    else return;
    event.preventDefault();
  }

  #go(to) {
    const block = this.store.blocks[Math.min(Math.max(to, 0), this.store.blocks.length - 1)];
    if (!block) return;
    this.store.select(block.key);
    this.focus();
  }

  #move(step) {
    this.options.move(this.store.selected, step);
    this.focus();
  }

  #makeSortable() {
    makeSortable(this.box, {
      item: ".block-card", grip: ".grip", scroller: this.box,
      canDrag: (card) => this.store.block(card.dataset.key ?? null)?.section !== "outro",
      name: (card) => card.querySelector(".card-name")?.textContent ?? "",
      slots: () => ["intro", "main"].flatMap((section) => {
        const { cards, empty, element } = /** @type {Group} */ (this.groups.get(section));
        const end = (empty.hidden ? element : empty).getBoundingClientRect();
        return slotsBetween([...cards.children], end.top + end.height / 2).map((slot) => ({ ...slot, section }));
      }),
      drop: (card, slot) => {
        const before = slot.before?.dataset.key ?? null;
        const key = card.dataset.key ?? "";
        if (this.store.moveTo(key, slot.section, before)) this.options.announceMove(key);
      },
    });
  }
}

/** @param {Store} store @param {Block} block */
function marksOf(store, block) {
  const known = store.marks.get(block.key);
  return [
    (block.show_when || block.hide_when || block.precondition) && "logic",
    store.scoring && block.options?.some((option) => Object.values(option.score_values ?? {}).some(Boolean)) && "score",
    (block.correct_answer_ids?.length || Number.isInteger(block.correct_answer_index)) && "right",
    block.type === "action_block" && "action",
    known?.is_reachable === false && "unreachable",
  ].filter(Boolean);
}

/** The title of a card: the beginning of the prompt, or the name if the prompt is empty.
 *  @param {Block} block */
export function titleOf(block) {
  const prompt = plainText(block.prompt).trim().replace(/\s+/g, " ");
  if (block.type === "calculated_block") return isChosen(block) ? block.name ?? "" : "Calculation";
  return prompt.slice(0, 90) || "No words yet";
}

/** The text below the title: the type, and the name that somebody has chosen.
 *  @param {Block} block */
export function smallName(block) {
  const isAutomatic = !isChosen(block) || block.type === "calculated_block" || block.section === "outro";
  return isAutomatic ? typeName(block) : `${typeName(block)} · ${block.name}`;
}

/** @param {Block} block @param {string} words */
function spoken(block, n, words, marks, faults, warnings) {
  const parts = [block.section === "outro" ? words : `${n + 1}. ${words}`, typeName(block),
    ...marks.map((mark) => MARKS[mark])];
  if (QUESTIONS.has(block.type) && block.required) parts.push("Required");
  if (faults) parts.push(plural(faults, "fault"));
  if (warnings) parts.push(plural(warnings, "warning"));
  return parts.join(", ");
}
