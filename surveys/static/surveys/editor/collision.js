/* Two versions of the script beside the result, by block. The other version is a script that somebody else has saved
   meanwhile, or a change by AI.

     mountCollision(document.body, store, { collision, keeping, announce, save })
     mountReview(document.body, store, { base, theirs, announce, used })

   Closing it without saving changes nothing: the draft stays, and the next save asks again. */

import { h, inWords, newId, plural, text } from "./dom.js";
import { smallName, titleOf } from "./list.js";
import { compare, differing, merge, orderOf, PARTS, resultOf } from "./merging.js";
import { calledOf, choicesOf, kindOf, operatorsOf, shortened, variables } from "./reach.js";
import { title, toWire, withKeys } from "./document.js";
import { FORMATS, PICTURES, typeName } from "./types.js";

const OF_COLLISION = {
  title: "The script was changed while you edited",
  theirs: "Theirs", yours: "Yours", allTheirs: "Take all of theirs", allYours: "Take all of yours",
  theirOrder: "Their order", order: "Both of you moved blocks: please choose",
  close: "Back to the editor", apply: "Save the result",
  kinds: { theirs: "Changed by them", yours: "Changed by you" },
};
const OF_REVIEW = {
  title: "What AI proposes",
  theirs: "By AI", yours: "As it is", allTheirs: "Take all changes", allYours: "Take none",
  theirOrder: "AI's order", order: "Blocks were moved",
  close: "Not now", apply: "Use the result",
  kinds: { added: "Added", removed: "Removed", theirs: "Changed", yours: "Changed by you meanwhile" },
};
const OF_BOTH = "Changed by both";

/** @typedef {{ keeping: Keeping, announce: Announce, save: () => Promise<void> }} CollisionServices */
/** @typedef {{ base: StoredBlock[], theirs: StoredBlock[], announce: Announce, used: () => void }} ReviewServices */
/** @typedef {{ base: StoredBlock[] | null, theirs: StoredBlock[], yours: StoredBlock[], words: typeof OF_COLLISION,
 *    intro: (Node | string)[], announce: Announce, apply: (blocks: Block[]) => Promise<void> | void }} Versions */
/** @typedef {import("./merging.js").MergeRow} MergeRow */
/** @typedef {{ input: HTMLInputElement, label: HTMLElement }} Radio */
/** @typedef {{ row: MergeRow, inputs: HTMLInputElement[], result: HTMLElement, [part: string]: any }} RowView */

/** @param {HTMLElement} element @param {Store} store
 *  @param {CollisionServices & { collision: CollisionState }} services */
export function mountCollision(element, store, { collision, keeping, announce, save }) {
  const isSameBase = !collision.base && store.revision === keeping.base;
  return show(element, new Comparison(store, {
    base: collision.base?.blocks ?? (isSameBase ? store.baseline : null),
    theirs: collision.theirs.blocks, yours: store.blocks, words: OF_COLLISION, announce,
    intro: [...who(collision), " Choose for each block what the script shall have. Nothing is lost: until you save, ",
      "your draft stays as it is."],
    async apply(blocks) {
      keeping.rebase(collision.revision);
      store.rebase(collision.theirs.blocks, collision.revision, blocks);
      await save();
    },
  }));
}

/** The change that AI made to `base`, the draft at the time of the request.
 *  @param {HTMLElement} element @param {Store} store @param {ReviewServices} services */
export function mountReview(element, store, { base, theirs, announce, used }) {
  const yours = toWire(structuredClone(store.blocks), store.known);
  const outro = yours.filter((block) => block.section === "outro");
  const view = new Comparison(store, {
    base, theirs: withKeys([...theirs, ...outro]), yours, words: OF_REVIEW, announce,
    intro: ["Choose for each block whether AI's version is taken over. That is one step, which can be undone; ",
      "nothing is saved until you save the script."],
    apply(blocks) {
      const own = new Set(view.all.filter((row) => row.choice === "yours").map((row) => row.yours?.key));
      const kept = (block) => (own.has(block.key) ? store.block(block.key) : null); // as it is now
      const isChanged = store.change(() => blocks.map((block) => kept(block) ?? block), "Change by AI");
      used();
      announce(isChanged ? "The changes are in the draft. Control Z takes them back." : "The draft stays as it is.");
    },
  });
  for (const row of view.all) if (row.kind === "same" && row.yours) row.choice = "yours";
  return show(element, view);
}

/** @param {HTMLElement} element @param {Comparison} view */
function show(element, view) {
  element.append(view.dialog);
  view.dialog.showModal();
  view.start();
  return view;
}

/** @param {CollisionState} collision */
function who({ changed_by: name, changed_at: at }) {
  const words = `${name ?? "Somebody else"} saved this script`;
  if (!at) return [`${words} after you began.`];
  const moment = new Date(at);
  return [`${words} at `, h("time", { datetime: at, title: inWords(moment) },
    inWords(moment, { timeStyle: "short" })), ", after you began."];
}

class Comparison {
  /** @type {HTMLHeadingElement} */ heading;
  /** @type {HTMLParagraphElement} */ status;
  /** @type {HTMLFieldSetElement | undefined} */ orderRow;
  /** @type {Radio[]} */ orderInputs = [];

  /** @param {Store} store @param {Versions} versions */
  constructor(store, { base, theirs, yours, words, intro, announce, apply }) {
    this.store = store;
    this.theirs = theirs;
    this.words = words;
    this.intro = intro;
    this.announce = announce;
    this.apply = apply;
    this.all = compare(base, theirs, yours);
    this.rows = differing(this.all);
    this.order = orderOf(base, theirs, yours);
    if (this.order.isConflict) this.order.choice = null;
    this.asksOrder = this.order.isConflict || (words === OF_REVIEW && isMoved(this.order));
    this.views = this.rows.map((row) => this.#row(row));
    this.dialog = this.#dialog();
  }

  start() {
    this.#show();
    this.heading.focus();
  }

  get undecided() {
    return this.views.filter(({ row }) => row.choice === null).length + (this.order.choice === null ? 1 : 0);
  }

  /* The page */

  #dialog() {
    const id = newId("collision");
    this.heading = h("h2", { id, tabindex: "-1" }, this.words.title);
    this.status = h("p", { role: "status" });
    const dialog = h("dialog", { class: "sheet collision", "aria-labelledby": id, "aria-describedby": `${id}-words` },
      h("div", { class: "sheet-body" },
        this.heading,
        h("p", { id: `${id}-words` }, ...this.intro),
        h("div", { class: "collision-all" },
          h("button", { type: "button", class: "button second", onclick: () => this.#choose("theirs") },
            this.words.allTheirs),
          h("button", { type: "button", class: "button second", onclick: () => this.#choose("yours") },
            this.words.allYours)),
        this.asksOrder ? this.#orderRow() : null,
        h("ol", { class: "collision-rows" }, this.views.map((view) => view.element)),
        h("div", { class: "sheet-foot" }, this.status,
          h("button", { type: "button", class: "button second", onclick: () => dialog.close() }, this.words.close),
          h("button", { type: "button", class: "button", onclick: () => this.#apply() }, this.words.apply))));
    dialog.addEventListener("close", () => dialog.remove());
    return dialog;
  }

  #orderRow() {
    const group = newId("order");
    this.orderInputs = ["theirs", "yours"]
        .map((choice) => this.#radio(group, choice, choice === "theirs" ? this.words.theirOrder : "Your order", () => {
      this.order.choice = choice;
      this.#show();
    }));
    const names = (side) => h("p", { class: "help" },
      this.order[side].map((id) => this.#nameOf(id, side)).filter(Boolean).join(", "));
    this.orderRow = h("fieldset", { class: "collision-row conflict" },
      h("legend", {}, h("b", {}, "Order of the blocks"), " ",
        h("span", { class: "collision-kind" }, this.words.order)),
      h("div", { class: "collision-sides order" },
        this.orderInputs.map(({ label }, n) => h("div", { class: "collision-side" }, label,
          names(["theirs", "yours"][n])))));
    return this.orderRow;
  }

  #nameOf(id, side) {
    const block = this.all.find((row) => row.id === id)?.[side];
    return block && calledOf(this.store, block, 30);
  }

  /** A block as the list of blocks shows it: its number there, if it has one, and its words. */
  #titleOf({ yours, theirs }) {
    const block = yours ?? theirs;
    const at = (yours ? this.store.blocks : this.theirs)
      .findIndex((each) => (block.id ? each.id === block.id : each.key === block.key));
    const number = at < 0 || block.section === "outro" ? "" : `${at + 1} · `;
    return `${number}${shortened(titleOf(block), 80)}`;
  }

  /** @param {MergeRow} row */
  #row(row) {
    const group = newId("row");
    /** @type {RowView} */
    const view = { row, inputs: [], result: h("div", { class: "collision-result" }) };
    const choose = (choice) => () => {
      row.choice = choice;
      this.#show();
    };
    const sides = ["theirs", "yours"].map((side) => {
      const details = h("dl", { id: newId("parts") }, described(this.store, row[side], this.#shown(row)));
      const radio = this.#radio(group, side, this.words[side], choose(side), details.id);
      view.inputs.push(radio.input);
      return h("div", { class: "collision-side" }, radio.label, details);
    });
    const both = row.choices.includes("both") ? this.#radio(group, "both", "Both changes together", choose("both"))
      : null;
    if (both) view.inputs.push(both.input);
    const block = /** @type {Block} */ (row.yours ?? row.theirs);
    view.kind = h("span", { class: "collision-kind" });
    view.fieldset = h("fieldset", { class: `collision-row ${row.kind}` },
      h("legend", {}, h("b", {}, this.#titleOf(row)), " ", h("span", { class: "collision-type" }, smallName(block)),
        " ", view.kind),
      h("div", { class: "collision-sides" }, sides, h("div", { class: "collision-side result" },
        h("p", { class: "collision-title" }, "Result"), both?.label ?? null, view.result)));
    view.element = h("li", {}, view.fieldset);
    return view;
  }

  /** @param {string} group @param {string} choice @param {string} words @param {() => void} onchange
   *  @param {string | null} [describedby] @returns {Radio} */
  #radio(group, choice, words, onchange, describedby = null) {
    const input = h("input", { type: "radio", name: group, value: choice, onchange, "aria-describedby": describedby });
    return { input, label: h("label", {}, input, " ", words) };
  }

  /** The names of the parts that a row shows: the parts that differ, or the main parts of a block on one side only. */
  #shown(row) {
    return row.parts.length ? row.parts.map((part) => part.name) : ["prompt", "options", "logic"];
  }

  /* Choosing */

  #choose(side) {
    for (const { row } of this.views) row.choice = side;
    if (this.asksOrder) this.order.choice = side;
    this.#show();
  }

  /** The side that has changed a block, in words.
   *  @param {MergeRow} row */
  #kindOf({ kind, choice, theirs, yours }) {
    const { kinds } = this.words;
    if (choice === null) return `${OF_BOTH}: please choose`;
    if (kind === "both") return `${OF_BOTH}, in different parts`;
    if (kind === "conflict") return OF_BOTH;
    return (kind === "theirs" && (!yours ? kinds.added : !theirs ? kinds.removed : null)) || kinds[kind];
  }

  #show() {
    for (const view of this.views) {
      const { row } = view;
      for (const input of view.inputs) input.checked = input.value === row.choice;
      view.fieldset.classList.toggle("undecided", row.choice === null);
      text(view.kind, this.#kindOf(row));
      const result = row.choice === null ? h("p", { class: "help" }, "Not decided yet.")
        : outcome(this.store, resultOf(row), this.#shown(row));
      view.result.replaceChildren(result);
    }
    this.orderInputs.forEach(({ input }) => { input.checked = input.value === this.order.choice; });
    this.orderRow?.classList.toggle("undecided", this.order.choice === null);
    const count = this.undecided;
    text(this.status, count ? `${plural(count, "choice")} left` : "Everything is decided");
  }

  #focusUndecided() {
    const open = this.views.find(({ row }) => row.choice === null);
    (this.order.choice === null ? this.orderInputs[0].input : open?.inputs[0])?.focus();
  }

  async #apply() {
    if (this.undecided) {
      this.#focusUndecided();
      this.announce(`Please choose: ${plural(this.undecided, "choice")} left.`);
      return;
    }
    this.dialog.close();
    await this.apply(merge(this.all, this.order));
  }
}

/** Whether the blocks that both sides have are in different orders.
 *  @param {import("./merging.js").MergeOrder} order */
function isMoved({ theirs, yours }) {
  const [one, other] = [theirs.filter((id) => yours.includes(id)), yours.filter((id) => theirs.includes(id))];
  return one.join(" ") !== other.join(" ");
}

/* Blocks in words */

/** @param {Store} store @param {Block | null} block */
function outcome(store, block, names) {
  return block ? h("dl", {}, described(store, block, names)) : h("p", { class: "help" }, "The block is left out.");
}

/** @param {Store} store @param {Block | null} block @param {string[]} names */
function described(store, block, names) {
  if (!block) return [h("div", {}, h("dt", { class: "visually-hidden" }, "Block"), h("dd", {}, "Not in this version"))];
  const parts = PARTS.filter(([name]) => names.includes(name))
    .map(([name, label]) => [label, valueOf(store, block, name)]);
  const filled = parts.filter(([, value], n) => value || n === 0);
  return filled.map(([label, value]) => h("div", {}, h("dt", {}, label), h("dd", {}, value || "—")));
}

/** @param {Store} store @param {Block} block */
function valueOf(store, block, name) {
  const read = {
    type: () => typeName(block),
    prompt: () => block.prompt,
    pictures: () => PICTURES.map((field) => block[field]).filter(Boolean).join(", "),
    options: () => (block.options ?? []).map(optionWords).join(" · "),
    limits: () => [["from", block.min], ["to", block.max], ["best", block.rank_top_n],
      ["whole numbers", block.whole ? "" : null]]
      .filter(([, number]) => number !== null && number !== undefined).map((pair) => pair.join(" ").trim()).join(" "),
    format: () => FORMATS.find(([name]) => name === block.format)?.[1],
    required: () => (block.required ? "Yes" : "No"),
    further: () => (block.follow_ups ? `up to ${block.follow_ups}` : ""),
    logic: () => logicWords(store, block),
    action: () => [block.action_kind, ...Object.values(block.action_config ?? {}).filter((value) => value !== null)]
      .filter(Boolean).join(" "),
    look: () => [block.answer_style, block.color, block.randomize_options ? "shuffled" : null]
      .filter(Boolean).join(", "),
    scale: () => Object.values(block.scale ?? {}).filter(Boolean).join(", "),
    continue: () => Object.values(block.continue ?? {}).filter(Boolean).join(" "),
    formula: () => block.calculated_formula,
    right: () => block.when_correct,
    wrong: () => block.when_incorrect,
  }[name];
  return read ? read() ?? "" : String(block[name] ?? "");
}

/** @param {BlockOption} option */
function optionWords(option) {
  return [option.emoji, option.label ?? option.value].filter(Boolean).join(" ");
}

/** @param {Store} store @param {Block} block */
function logicWords(store, block) {
  if (block.show_when) return `Show when ${conditionWords(store, block.show_when)}`;
  if (block.hide_when) return `Hide when ${conditionWords(store, block.hide_when)}`;
  return block.precondition ? `Hide when ${block.precondition}` : "Always shown";
}

/** @param {Store} store */
function conditionWords(store, condition) {
  for (const [name, word] of [["all", " and "], ["any", " or "]]) {
    if (Array.isArray(condition[name])) return condition[name].map((part) => conditionWords(store, part)).join(word);
  }
  return comparisonWords(store, condition);
}

/** One comparison in the words of its row. A block that only the other side has is shown by its name.
 *  @param {Store} store */
function comparisonWords(store, { block: name, variable, op, value }) {
  const block = name ? store.blocks.find((each) => title(each.name ?? "") === title(name)) : null;
  const called = block ? calledOf(store, block, 40)
    : name ?? variables(store).find((each) => each.name === variable)?.called ?? variable;
  const kind = block ? kindOf(store, block) : "any";
  const verb = operatorsOf(store, kind).find((each) => each.op === op)?.words ?? op;
  const labels = new Map(block ? choicesOf(block).map(([choice, words]) => [String(choice), words]) : []);
  const values = (Array.isArray(value) ? value : [value])
    .map((each) => labels.get(String(each)) ?? String(each ?? "nothing"));
  return `${called} ${verb} ${values.join(", ")}`;
}
