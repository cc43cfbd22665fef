/* The rules that the editor repeats, held to the same cases as those of the engine. */

import assert from "node:assert/strict";
import test from "node:test";

import { CASES, block, option, storeOf } from "./support.mjs";

const { inSections, pointsOf, title, wordsOf } = await import("../../surveys/static/surveys/editor/document.js");
const { joinPrecondition, splitPrecondition } = await import("../../surveys/static/surveys/editor/logic.js");
const { blocksBefore, expressionForm, tokenForm } = await import("../../surveys/static/surveys/editor/reach.js");
const { carryName, carryValue } = await import("../../surveys/static/surveys/editor/renaming.js");
const types = await import("../../surveys/static/surveys/editor/types.js");

/** A test for each pair of a case's input and what comes of it. */
function table(name, cases, act) {
  for (const [given, expected] of cases) {
    test(`${name}: ${JSON.stringify(given)}`, () => assert.deepEqual(act(given), expected));
  }
}

table("a title", CASES.titles, title);
table("a name in an expression", CASES.expressions, expressionForm);
table("a name in a text", CASES.tokens, tokenForm);
table("a name from words", CASES.names, wordsOf);

for (const [kind, condition] of CASES.preconditions) {
  test(`${kind} as a text: ${condition}`, () => {
    const split = splitPrecondition(joinPrecondition(kind, condition));

    assert.equal(split.kind, kind);
    assert.equal(split.condition, condition);
  });
}

table("a text that hides", CASES.hidden.map((text) => [text, "hide_when"]), (text) => splitPrecondition(text).kind);

table("a new name", CASES.renames.map(({ block: was, after }) => [was, after]), (was) => {
  const changed = structuredClone(was);
  carryName([changed], "fav game", "top");
  return changed;
});

table("a new value", CASES.revalues.map(({ block: was, after }) => [was, after]), (was) => {
  const changed = structuredClone(was);
  carryValue([changed], { name: "fav game", place: 1 }, "a", "z");
  return changed;
});

test("limits", () => {
  const { MAX_BLOCKS, MAX_ITEMS, MAX_LABEL, MAX_OPTIONS } = types;

  assert.deepEqual(CASES.limits, { blocks: MAX_BLOCKS, options: MAX_OPTIONS, label: MAX_LABEL, items: MAX_ITEMS });
});

test("the ranges of scales", () => {
  const ranges = Object.fromEntries(Object.entries(types.RANGES).map(([type, { icon: _, ...range }]) => [type, range]));

  assert.deepEqual(ranges, CASES.ranges);
  for (const [type, { points }] of Object.entries(CASES.ranges)) {
    const drawn = pointsOf({ type });
    assert.deepEqual([drawn[0], drawn.at(-1)], points);
  }
});

test("the families of types", () => {
  const { CHOICES, QUESTIONS, SCALES, STATEMENTS, WITH_ITEMS } = types;
  const families = {
    choices: CHOICES, scales: SCALES, with_items: WITH_ITEMS, statements: STATEMENTS, questions: QUESTIONS,
  };

  for (const [name, family] of Object.entries(families)) assert.deepEqual([...family].sort(), CASES.families[name]);
});

test("what a block may refer to", () => {
  const store = storeOf(CASES.reach.blocks.map((each, n) => block(n + 1, each)));

  for (const [name, reachable] of Object.entries(CASES.reach.reachable)) {
    const { key } = store.blocks.find((each) => each.name === name);
    assert.deepEqual(blocksBefore(store, key).map((subject) => subject.name), reachable);
  }
});

table("what may change while the project is open", CASES.open.map(({ path, is_open: isOpen }) => [path, isOpen]),
  (path) => types.isOpenForChange({ mayEdit: true, isLive: true }, block(1, { options: [option(1, "a")] }), path));

table("what may change of an outro block", CASES.outro.map(({ path, is_open: isOpen }) => [path, isOpen]),
  (path) => types.isOpenForChange({ mayEdit: true, isLive: false }, block(1, { section: "outro" }), path));

table("the order of sections", CASES.sections,
  (sections) => inSections(sections.map((section, n) => ({ section, n }))).map(({ n }) => n));
