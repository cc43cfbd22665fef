import assert from "node:assert/strict";
import test from "node:test";

import "./support.mjs";

const { makeSortable, slotsBetween } = await import("../../surveys/static/surveys/editor/sorting.js");

/** As much of an element as dragging uses. */
class Element extends EventTarget {
  style = {};
  classList = { add() {}, remove() {} };
  isRemoved = false;

  constructor(top = 0, height = 10) {
    super();
    this.box = { top, bottom: top + height, left: 0, width: 100 };
  }

  getBoundingClientRect() { return this.box; }
  contains() { return true; }
  setAttribute() {}
  append() {}
  remove() { this.isRemoved = true; }
}

const page = new EventTarget();
Object.assign(globalThis, {
  addEventListener: page.addEventListener.bind(page),
  removeEventListener: page.removeEventListener.bind(page),
  requestAnimationFrame: () => 1, cancelAnimationFrame() {}, getSelection: () => null,
  document: { body: new Element(), documentElement: new Element(), createElement: () => new Element() },
});

/** An event with these fields. The target is the only one that an event takes from elsewhere. */
function fire(target, type, fields) {
  const event = Object.assign(new Event(type, { cancelable: true }), fields);
  target.dispatchEvent(event);
  return event;
}

/** A list of two items, of which the first is pressed, and the drops of its drags. */
function pressed(fields = {}, options = {}) {
  const items = [new Element(0), new Element(20)];
  const container = new Element();
  const drops = [];
  items[0].closest = (selector) => (selector === ".item" || fields.onGrip ? items[0] : null);
  makeSortable(container, {
    item: ".item", grip: ".grip", scroller: new Element(0, 100), canDrag: () => true, name: () => "one",
    slots: () => slotsBetween(items, 0), drop: (item, slot) => drops.push([items.indexOf(item), slot.before]),
    ...options,
  });
  const down = { button: 0, pointerType: "mouse", pointerId: 1, clientX: 0, clientY: 5, ...fields };
  const event = new Event("pointerdown");
  Object.defineProperty(event, "target", { value: items[0] });
  container.dispatchEvent(Object.assign(event, down));
  return { drops, items };
}

const move = (y, pointerId = 1) => fire(page, "pointermove", { clientX: 0, clientY: y, pointerId });
const release = () => fire(page, "pointerup", { pointerId: 1 });

test("an item drops at the place nearest to the pointer", () => {
  const { drops } = pressed();

  move(60);
  release();

  assert.deepEqual(drops, [[0, null]]);
});

test("a press that hardly moves is no drag", () => {
  const { drops } = pressed();

  move(8);
  release();

  assert.deepEqual(drops, []);
});

test("Escape gives a drag up", () => {
  const { drops } = pressed();

  move(60);
  const { defaultPrevented } = fire(page, "keydown", { key: "Escape" });
  release();

  assert.deepEqual([drops, defaultPrevented], [[], true]);
});

test("another pointer moves nothing", () => {
  const { drops } = pressed();

  move(60, 2);
  release();

  assert.deepEqual(drops, []);
});

for (const [name, fields, options, isDragged] of [
  ["a finger on the grip", { pointerType: "touch", onGrip: true }, {}, true],
  ["a finger elsewhere, which scrolls", { pointerType: "touch" }, {}, false],
  ["a mouse elsewhere in a list whose grips alone drag", {}, { gripOnly: true }, false],
  ["another button of the mouse", { button: 2 }, {}, false],
  ["an item that cannot be dragged", {}, { canDrag: () => false }, false],
]) {
  test(`${name} ${isDragged ? "drags" : "does not drag"}`, () => {
    const { drops } = pressed(fields, options);

    move(60);
    release();

    assert.equal(drops.length, isDragged ? 1 : 0);
  });
}

test("an empty list has one place, at its end", () => {
  assert.deepEqual(slotsBetween([], 42), [{ y: 42, before: null }]);
});
