/* The bar at the bottom: the place of the stored draft, the number of faults, Discard and Save, and the list of
   findings. */

import { attribute, h, icon, inWords, plural, text } from "./dom.js";
import { plainMessage } from "./field.js";

const TICK = 1_000;
const ELSEWHERE = { // texts about another tab's action on the draft
  kept: { words: "A newer draft was kept in another tab", take: "Take the newer one" },
  saved_and_kept: { words: "The script was saved since, and a newer draft was kept in another tab",
    take: "Take the newer draft" },
  saved: { words: "The script was saved in another tab", take: "Take the saved one" },
  discarded: { words: "The draft was discarded in another tab", take: "Take the saved script" },
};

/**
 * @typedef {object} StatusOptions
 * @property {Keeping} keeping
 * @property {() => void} save
 * @property {() => void} discard
 * @property {Announce} announce
 * @property {(issue: Issue) => void} jump
 */

/** `options`: keeping, save(), discard(), announce(text), jump(issue).
 *  @param {HTMLElement} element @param {Store} store @param {StatusOptions} options */
export function mountStatus(element, store, options) {
  return new Status(element, store, options);
}

class Status {
  #announced = "";

  /** @param {HTMLElement} element @param {Store} store @param {StatusOptions} options */
  constructor(element, store, options) {
    this.element = element;
    this.store = store;
    this.options = options;
    this.keeping = options.keeping;
    this.state = h("span", { class: "state-words" });
    this.when = h("time", { "aria-live": "off" });
    this.actions = h("span", { class: "state-actions" });
    this.spoken = h("span", { role: "status", class: "visually-hidden" });
    this.counts = h("button", { type: "button", class: "quiet counts", "aria-expanded": "false",
      "aria-controls": "issues", onclick: () => this.toggleIssues() });
    this.discard = h("button", { type: "button", class: "button second", onclick: () => options.discard() }, "Discard");
    this.save = h("button", { type: "button", class: "button save", "aria-keyshortcuts": "Control+S",
      onclick: () => options.save() }, "Save", h("span", { class: "wide-only" }, " script"));
    this.issues = h("section", { id: "issues", class: "issues", "aria-label": "Issues", hidden: true });
    element.append(this.issues, h("div", { class: "status-bar" },
      h("div", { class: "keep-state" }, h("span", { class: "state-sign", "aria-hidden": "true" }), this.state,
        this.when, this.actions, this.spoken),
      this.counts, h("div", { class: "status-buttons" }, this.discard, this.save)));
    store.subscribe((what) => { if (what === "status" || what === "check" || what === "blocks") this.show(); });
    setInterval(() => this.#tick(), TICK);
    this.show();
  }

  show() {
    const { keeping, store } = this;
    const { words, actions = [], spoken = words } = this.#describe();
    attribute(this.element, "data-state", keeping.status);
    text(this.state, words);
    const signature = keeping.status + actions.map(([label]) => label).join();
    if (this.actions.dataset.signature !== signature) {
      this.actions.dataset.signature = signature;
      this.actions.replaceChildren(
        ...actions.map(([label, act]) => h("button", { type: "button", class: "ed-link", onclick: act }, label)));
    }
    if (spoken !== null && spoken !== this.#announced) text(this.spoken, this.#announced = spoken);
    this.#tick();
    this.#showCounts();
    const isBusy = ["saving", "newer"].includes(keeping.status); // the person has to choose a version first
    this.save.disabled = !store.mayEdit || isBusy || !keeping.hasDraft;
    this.discard.disabled = !store.mayEdit || isBusy || !keeping.hasDraft;
  }

  /** The state in words, the text for screen readers (null: none), and the possible actions. */
  #describe() {
    const { keeping } = this;
    const retry = ["Try again", () => keeping.retry()];
    const elsewhere = ELSEWHERE[keeping.elsewhere ?? "kept"];
    const described = {
      clean: { words: this.store.mayEdit ? "Saved" : "Only for reading", spoken: null },
      saved: { words: "Script saved" },
      waiting: { words: "Changed", spoken: null },
      sending: { words: "Keeping the draft…", spoken: null },
      saving: { words: "Saving…", spoken: null },
      kept: { words: "Draft kept" },
      disconnected: { words: "Not connected: your changes are kept on this computer", actions: [retry] },
      signed_out: { words: "You are signed out: your changes are kept on this computer",
        actions: [["Sign in again", () => this.#signIn()], retry] },
      newer: { words: elsewhere.words,
        actions: [[elsewhere.take, () => keeping.settle(true)], ["Keep this one", () => keeping.settle(false)]] },
      refused: { words: plainMessage(keeping.message || "The server did not take this draft."), actions: [retry] },
    };
    return described[keeping.status];
  }

  #signIn() {
    const next = encodeURIComponent(location.pathname);
    open(this.store.urls.sign_in ?? `/account/login/?next=${next}`, "_blank", "noopener");
  }

  #tick() {
    const { savedAt, status } = this.keeping;
    this.when.hidden = status !== "kept" || !savedAt;
    if (status !== "kept" || !savedAt) return;
    text(this.when, ago(savedAt));
    attribute(this.when, "datetime", savedAt.toISOString());
    attribute(this.when, "title", inWords(savedAt));
  }

  #showCounts() {
    const issues = this.store.issues();
    const faults = issues.filter((issue) => issue.kind === "fault").length;
    const warnings = issues.length - faults;
    const words = [faults && plural(faults, "fault"), warnings && plural(warnings, "warning")]
      .filter(Boolean).join(", ");
    this.counts.hidden = !issues.length;
    this.counts.classList.toggle("has-fault", faults > 0);
    if (this.counts.dataset.words !== words) {
      this.counts.dataset.words = words;
      this.counts.replaceChildren(icon(faults ? "fault" : "warning"), h("span", { class: "wide-only" }, words),
        h("span", { class: "narrow-only", "aria-hidden": "true" }, String(issues.length)));
      attribute(this.counts, "aria-label", words);
    }
    if (!issues.length) this.#close();
    else if (!this.issues.hidden) this.#drawIssues(issues);
  }

  toggleIssues(isOpen = this.issues.hidden) {
    if (!isOpen) return this.#close();
    this.issues.hidden = false;
    attribute(this.counts, "aria-expanded", "true");
    this.#drawIssues(this.store.issues());
    return this.#buttons()[0]?.focus();
  }

  /** @returns {HTMLElement[]} */
  #buttons() {
    return [...this.issues.querySelectorAll("button")].filter((button) => button.classList.contains("issue"));
  }

  #close() {
    if (this.issues.hidden) return;
    const hadFocus = this.issues.contains(document.activeElement);
    this.issues.hidden = true;
    attribute(this.counts, "aria-expanded", "false");
    if (hadFocus) (this.counts.hidden ? this.save : this.counts).focus();
  }

  #drawIssues(issues) {
    const signature = issues.map((issue) => `${issue.key}${issue.path}${issue.message}`).join("\n");
    if (this.issues.dataset.signature === signature) return;
    this.issues.dataset.signature = signature;
    const focused = this.#buttons().findIndex((button) => button === document.activeElement);
    const group = (kind, name) => {
      const some = issues.filter((issue) => issue.kind === kind);
      return some.length ? [h("h3", {}, name), h("ul", {}, some.map((issue) => h("li", {}, this.#issue(issue))))] : [];
    };
    this.issues.replaceChildren(
      h("div", { class: "issues-head" }, h("h2", {}, "Issues"),
        h("button", { type: "button", class: "icon-button", "aria-label": "Close the issues",
          onclick: () => this.#close() }, icon("close"))),
      ...group("fault", "Faults: these must be put right before saving"),
      ...group("warning", "Warnings: these may be meant"));
    if (focused >= 0) this.#buttons()[Math.min(focused, issues.length - 1)]?.focus();
  }

  /** @param {Issue} issue */
  #issue(issue) {
    const at = this.store.indexOf(issue.key);
    const where = at < 0 ? "Script" : `Block ${at + 1}`;
    return h("button", { type: "button", class: `issue ${issue.kind}`, onclick: () => this.options.jump(issue) },
      icon(issue.kind), h("b", {}, where), h("span", {}, plainMessage(issue.message)));
  }
}

/** How long ago, in few words: "just now", "12 s ago", "5 min ago".
 *  @param {Date} then @param {Date} [now] */
export function ago(then, now = new Date()) {
  const seconds = Math.max(0, Math.round((now.getTime() - then.getTime()) / 1000));
  if (seconds < 2) return "just now";
  if (seconds < 60) return `${seconds} s ago`;
  if (seconds < 3_600) return `${Math.floor(seconds / 60)} min ago`;
  if (seconds < 86_400) return `${Math.floor(seconds / 3_600)} h ago`;
  return then.toLocaleDateString("en-GB", { day: "numeric", month: "long", hour: "2-digit", minute: "2-digit" });
}
