/* The preview beside the editor: the respondent's page on the draft as it was kept last, at the width of a phone or of
   a desktop, with the path so far, answers and scores. Its answers are stored nowhere. It follows the block that is
   edited, unless that is switched off.

     mountPreview(element, store, { request, keeping, announce })   answers { load(), jump(key), restart() }
     previewFrame(url, title)                                       a frame alone, such as that of a template */

import { Disconnected, SignedOut } from "./api.js";
import { afterPause, attribute, h, icon, text } from "./dom.js";
import { calledOf } from "./reach.js";

const WIDTHS = { phone: 390, desktop: 1180 };
const HEIGHTS = { phone: 640, desktop: 800 };
const REMEMBERED = "colloquy.preview";
const QUIET = 150; // milliseconds after a check
const TITLE = "Preview of the page";
const UNREACHABLE = "The preview cannot be reached now. It comes back with the connection.";

/** @typedef {{ request: Send, keeping: Keeping, announce: Announce }} PreviewOptions */

/** @param {HTMLElement} element @param {Store} store @param {PreviewOptions} options */
export function mountPreview(element, store, options) {
  return new Preview(element, store, options);
}

/** A frame with the respondent's page.
 *  @param {string} url @param {string} [title] */
export function previewFrame(url, title = TITLE) {
  return h("iframe", { class: "preview-frame", title, src: url });
}

class Preview {
  /** @type {HTMLButtonElement} */ fold;
  /** @type {HTMLDivElement} */ stage;
  /** @type {HTMLParagraphElement} */ trouble;
  /** @type {HTMLButtonElement} */ jumpButton;
  /** @type {HTMLInputElement} */ follow;
  /** @type {HTMLOListElement} */ path;
  /** @type {HTMLDListElement} */ figures;
  /** @type {HTMLParagraphElement} */ note;
  /** @type {HTMLDivElement} */ body;
  /** @type {HTMLIFrameElement | null} */ #frame = null;
  /** @type {Block[] | null} */ #shown = null; // the blocks that the frame shows
  #later = afterPause(() => this.#catchUp(), QUIET);
  /** @type {string | null} */ #wanted = null; // the key of the block to follow to
  /** @type {{ key?: string, current?: string | null } | null} */
  #jumped = null; // the last jump: its key, and the block that was shown then
  #remembered = remembered();
  /** @type {HTMLButtonElement[]} */ widths;

  /** @param {HTMLElement} element @param {Store} store @param {PreviewOptions} options */
  constructor(element, store, options) {
    this.element = element;
    this.store = store;
    this.options = options;
    this.urls = {
      page: store.urls.preview ?? "preview/",
      state: store.urls.preview_state ?? "preview/state/",
      restart: store.urls.preview_restart ?? "preview/restart/",
    };
    this.#build();
    this.#setWidth(this.#remembered.width === "desktop" ? "desktop" : "phone");
    this.#collapse(Boolean(this.#remembered.isCollapsed));
    store.subscribe((what) => this.#notice(what));
    new ResizeObserver(() => this.#fit()).observe(this.stage);
    this.#showSelection();
  }

  #build() {
    this.widths = Object.keys(WIDTHS).map((width) => h("button", { type: "button", class: "quiet", "data-width": width,
      onclick: () => this.#setWidth(width) }, width === "phone" ? "Phone" : "Desktop"));
    this.fold = h("button",
      { type: "button", class: "quiet preview-fold", onclick: () => this.#collapse(!this.#remembered.isCollapsed) });
    this.stage = h("div", { class: "preview-stage" });
    this.trouble = h("p", { class: "preview-trouble", role: "status", hidden: true });
    this.jumpButton = h("button",
      { type: "button", class: "button second", onclick: () => this.jump(this.store.selected) }, "Jump to this block");
    this.follow = h("input",
      { type: "checkbox", checked: this.#follows, onchange: () => this.#setFollow(this.follow.checked) });
    this.path = h("ol", { class: "preview-path" });
    this.figures = h("dl", { class: "preview-figures" });
    this.note = h("p", { class: "help" });
    this.body = h("div", { class: "preview-body", id: "preview-body" },
      this.trouble, this.stage,
      h("div", { class: "preview-tools" },
        h("button", { type: "button", class: "button second", onclick: () => this.restart() }, icon("undo"), "Restart"),
        this.jumpButton,
        h("label", { class: "preview-follow", hidden: this.#isPoll }, this.follow,
          h("span", {}, "Follow the block I edit"))),
      h("h3", {}, "Path"), this.note, this.path, this.figures);
    this.element.append(
      h("div", { class: "preview-head" }, h("h2", {}, "Preview"),
        h("div", { class: "preview-widths", role: "group", "aria-label": "Width of the preview" }, this.widths),
        this.fold),
      this.body);
  }

  /* When to draw anew */

  #notice(what) {
    if (what === "selection") {
      this.#showSelection();
      this.#want(this.store.selected);
    }
    if (what === "blocks") this.#drawPath();
    if (["check", "status"].includes(what) && this.#isKept
      && (this.#wanted || this.store.blocks !== this.#shown)) this.#later();
  }

  /** Whether the server has the draft that is shown here. */
  get #isKept() {
    return ["kept", "clean", "saved"].includes(this.options.keeping?.status ?? "kept");
  }

  get #isPoll() { // which has one question, and a jump would take the vote back
    return this.store.project.info?.type === "poll";
  }

  get #follows() {
    return this.#remembered.isFollowing !== false && !this.#isPoll;
  }

  #setFollow(isOn) {
    this.#remember({ isFollowing: isOn });
    this.#want(this.store.selected);
  }

  /** Show a block as soon as the server has the draft. */
  #want(key) {
    this.#wanted = this.#follows && this.store.block(key) ? key : null;
    if (this.#wanted && this.#isKept) this.#later();
  }

  #catchUp() {
    const key = this.#wanted;
    if (!key || !this.isVisible) return this.load();
    this.#wanted = null;
    if (this.state?.current === key) return this.store.blocks === this.#shown ? null : this.load();
    return this.#move({ at: key });
  }

  get isVisible() {
    return this.stage.getClientRects().length > 0;
  }

  /** Show the stored draft. The answers stay. The old page stays until the new page has loaded. */
  load() {
    if (!this.isVisible) return; // the observer of its size calls again
    const { blocks } = this.store;
    this.#shown = blocks;
    const frame = previewFrame(this.urls.page);
    const before = this.#frame;
    if (before) frame.classList.add("incoming");
    this.stage.querySelectorAll(".incoming").forEach((each) => each.remove());
    frame.addEventListener("load", () => this.#loaded(frame, before));
    this.stage.append(frame);
    if (!before) this.#frame = frame;
    this.#fit();
  }

  #loaded(frame, before) {
    const page = frame.contentDocument;
    if (!page?.getElementById("step")) { // signed out, or a fault of the server
      this.#tell("The preview cannot be shown now. Reload the page to sign in again, or try later.");
      if (before) frame.remove();
      return;
    }
    if (frame.isConnected && before && this.#frame !== frame) {
      before.remove();
      frame.classList.remove("incoming");
      this.#frame = frame;
    }
    this.#tell("");
    page.addEventListener("htmx:afterSettle", () => this.#readState());
    this.#readState();
  }

  /** @param {string} words */
  #tell(words) {
    text(this.trouble, words);
    this.trouble.hidden = !words;
  }

  /* Moves */

  async jump(key) {
    await this.#move({ at: key });
    const words = this.state?.current === key ? "The preview shows this block."
      : this.#aside() || "The preview has moved.";
    this.options.announce?.(words.trim());
  }

  async restart() {
    await this.#move({ at: null });
    this.options.announce?.("The preview begins again.");
  }

  async #move(body) {
    this.#wanted = null;
    this.#later.cancel();
    try {
      await this.options.keeping?.flush();
      const { status, data } = await this.options.request("POST", this.urls.restart, body);
      if (status !== 200) throw new Disconnected();
      this.#jumped = { key: body.at, current: data.current };
      this.#take(data);
      this.load();
    } catch (error) {
      this.#failed(error);
    }
  }

  async #readState() {
    try {
      const { status, data } = await this.options.request("GET", this.urls.state);
      if (status === 200) this.#take(data);
    } catch (error) {
      this.#failed(error);
    }
  }

  #failed(error) {
    if (error instanceof SignedOut) this.#tell("You are signed out. Sign in again to see the preview.");
    else if (error instanceof Disconnected) this.#tell(UNREACHABLE);
    else throw error;
  }

  /* The parts beside the page */

  #take(state) {
    this.state = state;
    this.#drawPath();
    this.#drawFigures();
  }

  #drawPath() {
    const { state, store } = this;
    if (!state) return;
    const steps = [...state.path.map((key) => this.#step(key, state.answers[key], false))];
    if (state.current) steps.push(this.#step(state.current, null, true));
    if (state.is_completed) steps.push(h("li", { class: "is-end" }, "The end"));
    this.path.replaceChildren(...steps.filter(Boolean));
    const faulty = state.faults && store.blocks.length ? "Blocks with a fault are shown as far as they can be. " : "";
    text(this.note,
      `${this.#aside()}${faulty}${state.is_forced ? "You have jumped to a block that these answers would hide." : ""}`);
    this.note.hidden = !this.note.textContent;
  }

  /** A text about a jump to a block that shows nothing. */
  #aside() {
    const { key, current } = this.#jumped ?? {};
    if (this.store.block(key ?? null)?.type !== "calculated_block" || this.state.current !== current) return "";
    return `A calculation shows nothing itself, so this is ${this.state.is_completed ? "the end" : "the next block"}. `;
  }

  #step(key, answer, isCurrent) {
    const block = this.store.block(key);
    if (!block) return null;
    const number = this.store.indexOf(key) + 1;
    const said = answer === "" ? "skipped" : answer;
    return h("li", { class: isCurrent ? "is-current" : null },
      h("button", { type: "button", class: "quiet", "aria-current": isCurrent ? "step" : null,
        title: `Jump to block ${number}`, onclick: () => this.jump(key) },
        `${number} ${calledOf(this.store, block, 40)}`),
      said ? h("span", { class: "preview-answer" }, said) : null);
  }

  #drawFigures() {
    const { figures, variables, given } = this.state;
    const rows = figures.map(({ called, value, most }) => [called, `${value} of ${most}`]);
    rows.push(...Object.entries(variables).map(([name, value]) => [name, value === "" ? "not reached" : value]));
    const xp = Object.values(given).reduce((sum, each) => sum + each, 0);
    if (xp) rows.push(["XP that would be given", String(xp)]);
    this.figures.replaceChildren(...rows.flatMap(([name, value]) => [h("dt", {}, name), h("dd", {}, value)]));
    this.figures.hidden = !rows.length;
  }

  #showSelection() {
    this.jumpButton.disabled = !this.store.selected;
  }

  /* Size */

  #setWidth(width) {
    this.width = width;
    for (const button of this.widths) attribute(button, "aria-pressed", String(button.dataset.width === width));
    attribute(this.stage, "data-width", width);
    this.#remember({ width });
    this.#fit();
  }

  #collapse(isCollapsed) {
    this.#remember({ isCollapsed });
    this.body.hidden = isCollapsed;
    attribute(this.element, "data-collapsed", isCollapsed);
    attribute(this.fold, "aria-expanded", String(!isCollapsed));
    attribute(this.fold, "aria-controls", "preview-body");
    text(this.fold, isCollapsed ? "Show" : "Hide");
    if (!isCollapsed) this.#fit();
  }

  /** The page has the width of its device; it is made smaller where the pane has not enough room. */
  #fit() {
    if (!this.isVisible) return;
    if (!this.#frame || this.#shown !== this.store.blocks) this.#later();
    const room = this.stage.clientWidth;
    const scale = Math.min(1, room / WIDTHS[this.width]);
    this.stage.style.height = `${Math.round(HEIGHTS[this.width] * scale)}px`;
    for (const frame of this.stage.querySelectorAll("iframe")) {
      frame.style.width = `${WIDTHS[this.width]}px`;
      frame.style.height = `${HEIGHTS[this.width]}px`;
      frame.style.transform = scale < 1 ? `scale(${scale})` : "none";
    }
  }

  #remember(changes) {
    Object.assign(this.#remembered, changes);
    try {
      localStorage.setItem(REMEMBERED, JSON.stringify(this.#remembered));
    } catch { /* switched off */ }
  }
}

function remembered() {
  try {
    return { ...JSON.parse(localStorage.getItem(REMEMBERED) ?? "{}") };
  } catch {
    return {};
  }
}
