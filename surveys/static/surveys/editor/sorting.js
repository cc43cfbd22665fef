/* Moves items with a pointer: mouse, pen or finger. A line shows the place of the drop; Escape cancels.

     makeSortable(container, { item, grip, scroller, canDrag, slots, name, drop })

   `slots()` returns the places between items as `{y, …}`, y in pixels of the window; `drop(element, slot)` moves the
   item. A mouse may drag any part of an item, a finger only its grip, so the page still scrolls. */

import { h } from "./dom.js";

const THRESHOLD = 5;
const EDGE = 40; // pixels from the edge in which the list scrolls by itself

/** A place between items: `y` in pixels of the window. @typedef {{ y: number, before: any }} Slot */

/**
 * @typedef {object} SortableOptions
 * @property {string} item
 * @property {string} grip
 * @property {boolean} [gripOnly]
 * @property {Element} scroller
 * @property {(item: HTMLElement) => boolean} canDrag
 * @property {(item: HTMLElement) => string} name
 * @property {() => any[]} slots  of Slots, which may say more of a place
 * @property {(item: HTMLElement, slot: any) => void} drop
 */

/** @param {HTMLElement} container @param {SortableOptions} options */
export function makeSortable(container, options) {
  container.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    const target = /** @type {Element} */ (event.target);
    const item = /** @type {HTMLElement | null} */ (target.closest(options.item));
    if (!item || !container.contains(item) || !options.canDrag(item)) return;
    const onGrip = target.closest(options.grip);
    if (!onGrip && (event.pointerType !== "mouse" || options.gripOnly)) return;
    new Drag(container, item, event, options);
  });
}

class Drag {
  /** @type {HTMLDivElement} */ line;
  /** @type {HTMLDivElement} */ ghost;
  #isMoving = false;
  /** @type {Slot | null} */ #slot = null;
  #frame = 0;

  /** @param {HTMLElement} container @param {HTMLElement} item @param {PointerEvent} event
   *  @param {SortableOptions} options */
  constructor(container, item, event, options) {
    this.container = container;
    this.item = item;
    this.options = options;
    this.startX = event.clientX;
    this.startY = event.clientY;
    this.id = event.pointerId;
    this.x = event.clientX;
    this.y = event.clientY;
    this.controller = new AbortController();
    const { signal } = this.controller;
    addEventListener("pointermove", (moved) => this.#move(moved), { signal });
    addEventListener("pointerup", () => this.#end(true), { signal });
    addEventListener("pointercancel", () => this.#end(false), { signal });
    addEventListener("keydown", (pressed) => this.#key(pressed), { signal, capture: true });
  }

  #key(event) {
    if (event.key !== "Escape" || !this.#isMoving) return;
    event.preventDefault();
    event.stopPropagation();
    this.#end(false);
  }

  #move(event) {
    if (event.pointerId !== this.id) return;
    this.x = event.clientX;
    this.y = event.clientY;
    if (!this.#isMoving) {
      if (Math.hypot(this.x - this.startX, this.y - this.startY) < THRESHOLD) return;
      this.#begin();
    }
    event.preventDefault();
    this.#show();
  }

  #begin() {
    this.#isMoving = true;
    getSelection()?.removeAllRanges();
    this.line = h("div", { class: "drop-line", "aria-hidden": "true" });
    this.ghost = h("div", { class: "drag-ghost", "aria-hidden": "true" }, this.options.name(this.item));
    document.body.append(this.line, this.ghost);
    this.item.classList.add("is-dragged");
    document.documentElement.classList.add("is-dragging");
    const scroll = () => {
      this.#scroll();
      this.#frame = requestAnimationFrame(scroll);
    };
    scroll();
  }

  #show() {
    const slots = this.options.slots();
    const distance = (slot) => Math.abs(slot.y - this.y);
    this.#slot = slots.reduce((best, slot) => (best && distance(best) <= distance(slot) ? best : slot), null);
    this.ghost.style.transform = `translate(${this.x + 12}px, ${this.y + 8}px)`;
    if (!this.#slot) return;
    const box = this.container.getBoundingClientRect();
    this.line.style.inlineSize = `${box.width}px`;
    this.line.style.transform = `translate(${box.left}px, ${this.#slot.y}px)`;
  }

  #scroll() {
    const { scroller } = this.options;
    const box = scroller.getBoundingClientRect();
    const over = this.y < box.top + EDGE ? this.y - box.top - EDGE : Math.max(0, this.y - box.bottom + EDGE);
    if (!over) return;
    scroller.scrollTop += over / 4;
    this.#show();
  }

  #end(isDropped) {
    this.controller.abort();
    cancelAnimationFrame(this.#frame);
    if (!this.#isMoving) return;
    this.line.remove();
    this.ghost.remove();
    this.item.classList.remove("is-dragged");
    document.documentElement.classList.remove("is-dragging");
    swallowClick();
    if (isDropped && this.#slot) this.options.drop(this.item, this.#slot);
  }
}

/** The click that ends a drag selects nothing. */
function swallowClick() {
  const stop = (event) => { event.stopPropagation(); event.preventDefault(); };
  addEventListener("click", stop, { capture: true, once: true });
  setTimeout(() => removeEventListener("click", stop, { capture: true }), 0);
}

/** The places between the elements of a vertical list, as `{y, before}`.
 *  @param {Element[]} elements @param {number} end @returns {Slot[]} */
export function slotsBetween(elements, end) {
  /** @type {Slot[]} */
  const slots = elements.map((element) => ({ y: element.getBoundingClientRect().top - 2, before: element }));
  const last = elements.at(-1);
  slots.push({ y: last ? last.getBoundingClientRect().bottom + 2 : end, before: null });
  return slots;
}
