/* The flow of the whole script, with the ways between blocks and the blocks that are never reached. It is shown as a
   drawing and as a list.

     const flow = mountFlow(button, store, { request, announce });      flow.open(); flow.destroy()

   The server draws the blocks of the editor, saved or not. A click or Enter on a block opens it. */

import { attribute, h, icon, newId } from "./dom.js";

const NARROW = "(max-width: 40rem)";
const SIGNS = { never: "never reached", sometimes: "sometimes skipped", always: "" };

/** @param {HTMLElement} element @param {Store} store @param {{ request: Send, announce: Announce }} options */
export function mountFlow(element, store, options) {
  const button = element.tagName === "BUTTON" ? element
    : element.appendChild(h("button", { type: "button", class: "quiet flow-button" },
      icon("mark-logic"), h("span", { class: "flow-button-words" }, "Flow")));
  const flow = new Flow(button, store, options);
  attribute(button, "aria-haspopup", "dialog");
  button.addEventListener("click", flow.opened);
  return flow;
}

class Flow {
  /** @type {HTMLParagraphElement} */ status;
  /** @type {HTMLDivElement} */ views;
  /** @type {HTMLDivElement} */ drawing;
  /** @type {HTMLDivElement} */ list;
  /** @type {HTMLDivElement} */ ends;
  /** @type {any} */ dialog; // an HTMLDialogElement while it is open
  /** @type {string | null} */ target = null;

  /** @param {HTMLElement} button @param {Store} store @param {{ request: Send, announce: Announce }} options */
  constructor(button, store, options) {
    this.button = button;
    this.store = store;
    this.options = options;
    this.opened = () => this.open();
  }

  destroy() {
    this.button.removeEventListener("click", this.opened);
    this.dialog?.close();
  }

  async open() {
    if (this.dialog) return;
    this.#build();
    try {
      const { status, data } = await this.options.request("POST", this.store.urls.flow, { blocks: this.store.blocks });
      if (status !== 200) throw new Error(data?.message ?? "The flow could not be drawn.");
      this.#show(data);
    } catch (error) {
      this.#say(error instanceof Error && error.message || "The server cannot be reached. Try again in a moment.");
    }
  }

  #build() {
    const title = newId("flow");
    this.status = h("p", { class: "help", role: "status" }, "Drawing the flow …");
    this.views = h("div", { class: "flow-views", role: "group", "aria-label": "Show as", hidden: true });
    this.drawing = h("div", { class: "flow-drawing", tabindex: "0", role: "region", "aria-label": "Drawing" });
    this.list = h("div", { class: "flow-list", hidden: true });
    this.ends = h("div", { class: "flow-ends" });
    const close = h("button", { type: "button", class: "icon-button", "aria-label": "Close",
      onclick: () => this.dialog.close() }, icon("close"));
    this.dialog = h("dialog", { class: "sheet flow-dialog", "aria-labelledby": title },
      h("div", { class: "sheet-body" },
      h("div", { class: "sheet-head" }, h("h2", { id: title }, "Flow of the script"), this.views, close),
      this.status, h("div", { class: "flow-pane" }, this.drawing, this.list, this.ends)));
    this.dialog.addEventListener("close", () => this.#closed());
    this.dialog.addEventListener("click", (event) => this.#follow(event));
    document.body.append(this.dialog);
    this.dialog.showModal();
  }

  #closed() {
    const target = this.target;
    this.dialog.remove();
    this.dialog = null;
    this.target = null;
    if (target) this.store.select(target, { focus: "" });
    else this.button.focus();
  }

  /** @param {string} words */
  #say(words) {
    this.status.textContent = words;
  }

  /** Follow a link of the drawing or of the list: close, and go to the block. */
  #follow(event) {
    const link = event.target.closest?.("a[data-key]");
    if (!link) return;
    event.preventDefault();
    this.target = link.getAttribute("data-key");
    this.dialog.close();
  }

  #show({ svg, steps, ends }) {
    const never = steps.filter((step) => step.reach === "never");
    const names = never.map((step) => step.title).join(", ");
    this.#say(never.length ? `Never reached: ${names}.` : steps.length ? "Every block can be reached."
      : "The script has no blocks yet.");
    this.drawing.replaceChildren(parsed(svg));
    this.list.replaceChildren(this.#steps(steps));
    this.ends.replaceChildren(...this.#ends(ends));
    this.#switches();
    const current = this.dialog.querySelectorAll(`a[data-key="${CSS.escape(this.store.selected ?? "")}"]`);
    for (const link of current) {
      link.classList.add("is-current");
      attribute(link, "aria-current", "true");
    }
    this.#view(matchMedia(NARROW).matches ? "list" : "drawing");
    [...current].find((link) => link.checkVisibility())?.scrollIntoView({ block: "center" });
  }

  #switches() {
    const buttons = [["drawing", "Drawing"], ["list", "List"]].map(([view, words]) =>
      h("button", { type: "button", class: "quiet small", "data-view": view, onclick: () => this.#view(view) }, words));
    this.views.replaceChildren(...buttons);
    this.views.hidden = false;
  }

  #view(name) {
    this.drawing.hidden = name !== "drawing";
    this.list.hidden = name !== "list";
    for (const button of this.views.children) {
      attribute(button, "aria-pressed", String(button.getAttribute("data-view") === name));
    }
  }

  /** Which end follows which answers; nothing in a project with the thanks alone. */
  #ends(ends) {
    if (!ends.length) return [];
    const id = newId("ends");
    return [h("h3", { id }, "Ends"), h("ol", { "aria-labelledby": id }, ends.map((end) => {
      const at = end.is_first ? " at the beginning" : end.after ? ` after ${end.after} · ${end.title}` : "";
      const out = end.screens_out ? `Screened out${at}. ` : "";
      const otherwise = ends.length > 1 ? "Otherwise" : "Always";
      const when = end.words ? `${end.words[0].toUpperCase()}${end.words.slice(1)}` : otherwise;
      return h("li", {}, h("b", {}, when), `: ${out}Shows ${end.shows}.`);
    })), h("p", { class: "help" }, "The first end whose condition holds. They are set under Delivery.")];
  }

  /** The same as the drawing, in words. */
  #steps(steps) {
    return h("ol", { class: "flow-steps" }, steps.map((step) => {
      const link = h("a", { href: `#block-${encodeURIComponent(step.key)}`, "data-key": step.key }, step.title);
      const sign = SIGNS[step.reach];
      const called = ({ number, title }) => (number ? `${number} · ${title}` : title);
      const ways = step.next.map((way) => `${called(way)}${way.words ? ` ${way.words}` : ""}`);
      return h("li", { class: step.reach === "never" ? "is-never" : null, value: step.number },
        h("div", {}, link, " ", h("span", { class: "flow-kind" }, step.type),
          step.shown ? h("span", { class: "flow-shown" }, ` · ${step.shown}`) : sign && ` · ${sign}`),
        ways.length ? h("div", { class: "flow-next" }, `Leads to ${ways.join("; ")}`) : null);
    }));
  }
}

/** The drawing as an element of this page. The server makes it of shapes, texts and links alone. */
function parsed(svg) {
  const read = new DOMParser().parseFromString(svg, "image/svg+xml");
  if (read.querySelector("parsererror")) throw new Error("The flow could not be drawn.");
  return document.adoptNode(read.documentElement);
}
