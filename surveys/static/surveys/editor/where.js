/* Conditions over whole responses, of quotas and of other ends: the editor's rows in a form of the project. They call
   questions by their words, as results do, because no numbers of blocks are near.

   Without this script they are typed. With it, the text field stays in the form and holds what the rows say. A text
   that rows cannot say is typed too. The script and its words are read from the editor's page, once they are needed. */

import { createRequest, readState } from "./api.js";
import { withKeys } from "./document.js";
import { h } from "./dom.js";
import { plainMessage } from "./field.js";
import { blocksBefore } from "./reach.js";
import { firstRow, mountRows } from "./rows.js";

const END = "the end"; // stands behind all blocks
const HIDE = "hide_when"; // an expression that hides a block is true where its rows are, as a `where` is
const LANGUAGE = { name: "language", kind: "text", called: "Language",
  meaning: "The language in which it was asked for, such as en. Unknown in imported responses." };

/** @param {HTMLFormElement} form */
function start(form) {
  /** @type {Promise<Opened> | null} */ let opened = null;
  const selects = Boolean(form.querySelector('input[data-where="readings"]'));
  const open = () => opened ??= read(form.dataset.script ?? "", selects).catch((error) => {
    opened = null;
    throw error;
  });
  const fields = [...form.querySelectorAll("input[data-where]:enabled")]
    .map((input) => new Where(/** @type {HTMLInputElement} */ (input), open));
  form.addEventListener("submit", async (event) => {
    const waiting = fields.filter((field) => field.pending);
    if (!waiting.length) return;
    event.preventDefault();
    await Promise.all(waiting.map((field) => field.pending));
    form.requestSubmit(event.submitter);
  });
}

/** @typedef {{ store: any, lists: string[], ask: (body: object) => Promise<any> }} Opened */

/** @param {string} page @param {boolean} selects  only what selects responses may name what an analysis read
 *  @returns {Promise<Opened>} */
async function read(page, selects) {
  const state = /** @type {any} */ (await readState(page));
  const blocks = withKeys(state.script.blocks.filter((block) => block.section !== "outro"));
  const end = { key: END, type: "content_block", section: "main", prompt: "", name: null, options: null };
  const all = [...blocks, end];
  const known = state.vocabulary;
  const others = [LANGUAGE, ...(selects ? known.readings ?? [] : [])];
  const store = {
    blocks: all, marks: null, scoring: state.project.scoring?.enabled ?? false, buckets: known.buckets ?? [],
    vocabulary: { ...known, variables: [...known.variables.filter(({ name }) => name !== "answer"), ...others] },
    block: (key) => all.find((block) => block.key === key), gone: () => null, violationsOf: () => [],
    indexOf: (key) => all.findIndex((block) => block.key === key),
  };
  const request = createRequest(page);
  const lists = blocksBefore(/** @type {any} */ (store), END).filter((each) => each.kind === "choices")
    .flatMap((each) => [each.name, `q${Number(each.at) + 1}`])
    .concat(others.filter(({ kind }) => kind === "choices").map(({ name }) => name));
  return { store, lists, ask: async (body) => (await request("POST", state.urls.logic, body)).data };
}

class Where {
  /** @type {Promise<void> | null} */ pending = null;
  /** @type {ReturnType<typeof mountRows> | null} */ rows = null;
  #asked = 0;

  /** @param {HTMLInputElement} input @param {() => Promise<Opened>} open */
  constructor(input, open) {
    this.input = input;
    this.open = open;
    this.label = /** @type {HTMLElement} */ (input.closest("label"));
    const words = this.label.querySelector("span")?.textContent ?? "";
    this.body = h("div", { class: "logic-rows" });
    this.says = h("p", { class: "logic-says", role: "status" });
    this.add = h("button", { type: "button", class: "link-button", onclick: () => this.#begin() }, "Add a condition");
    this.toggle = h("button", { type: "button", class: "link-button", onclick: () => this.#switch() });
    this.element = h("div", { class: "where editor logic", role: "group", "aria-label": words },
      h("span", { class: "where-words", "aria-hidden": "true" }, words), this.body, this.says,
      h("div", { class: "logic-foot" }, this.add, this.toggle));
    this.label.before(this.element);
    this.#show(false);
    if (input.value.trim()) this.#toRows();
  }

  /** @param {boolean} isText */
  #show(isText) {
    this.isText = isText;
    this.label.hidden = !isText;
    this.body.hidden = isText;
    this.add.hidden = isText || Boolean(this.rows?.condition);
    this.toggle.textContent = isText ? "Build it from rows" : "Write it as text";
  }

  #switch() {
    if (this.isText) this.#toRows();
    else {
      this.#show(true);
      this.input.focus();
    }
  }

  /** Show the text as rows, if rows can say it. */
  async #toRows() {
    const text = this.input.value;
    try {
      const { ask, lists } = await this.open();
      const found = text.trim() ? await ask({ text, lists }) : { condition: null, kind: HIDE };
      if (this.input.value !== text) return;
      if (found.kind !== HIDE) {
        const why = found.violations?.[0]?.message ?? found.reason;
        this.#say(`Rows cannot say this text.${why ? ` ${plainMessage(why)}` : ""}`);
        this.#show(true);
        return;
      }
      this.#say("");
      await this.#draw(found.condition);
    } catch {
      this.#say("The server cannot be reached, so the condition is shown as text.");
      this.#show(true);
    }
  }

  async #begin() {
    try {
      const { store } = await this.open();
      const condition = firstRow(store, END);
      await this.#draw(condition);
      this.#write(condition);
      this.body.querySelector("select")?.focus();
    } catch {
      this.#say("The server cannot be reached. Try again in a moment.");
    }
  }

  async #draw(condition) {
    const { store } = await this.open();
    this.rows ??= mountRows(this.body, store, {
      key: END, isOpen: true, asksInWords: true, change: (changed) => this.#write(changed),
      emptied: () => this.#empty(),
      announce: (words) => this.#say(words),
    });
    if (condition) this.rows.show(condition, HIDE);
    else this.rows.clear();
    this.#show(false);
    this.add.hidden = Boolean(condition);
  }

  #empty() {
    this.rows?.clear();
    this.add.hidden = false;
    this.add.focus();
  }

  /** Put what the rows say into the field; nothing while a row is not finished. */
  #write(condition) {
    this.#asked += 1;
    const asked = this.#asked;
    this.#say("");
    this.pending = this.#text(condition).then(({ text, why }) => {
      if (asked !== this.#asked) return;
      this.input.value = text;
      if (why) this.#say(why);
      this.input.dispatchEvent(new Event("input", { bubbles: true }));
    }).finally(() => {
      if (asked === this.#asked) this.pending = null;
    });
  }

  async #text(condition) {
    if (!condition) return { text: "", why: "" };
    try {
      const { ask } = await this.open();
      const { text, violations } = await ask({ condition, kind: HIDE });
      return { text: text ?? "", why: text ? "" : plainMessage(violations?.[0]?.message ?? "Choose a value.") };
    } catch {
      return { text: "", why: "The server cannot be reached, so this condition is not saved." };
    }
  }

  /** @param {string} words */
  #say(words) {
    this.says.textContent = words;
  }
}

for (const form of document.querySelectorAll("form[data-script]")) start(/** @type {HTMLFormElement} */ (form));
