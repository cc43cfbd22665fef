import assert from "node:assert/strict";
import test from "node:test";

import { block, option } from "./support.mjs";

const document = await import("../../surveys/static/surveys/editor/document.js");

const choice = () => block(1, {
  type: "single_punch", options: [option(11, "a"), option(12, "b")], correct_answer_ids: [12],
});
const idsIn = (blocks) => blocks.map((each) => each.id);

test("stored blocks and options keep their keys wherever they are read, and new ones get their own", () => {
  const [stored, added] = document.withKeys([
    { id: 5, options: [{ id: 6, value: "a" }, { value: "b" }] }, { id: null },
  ]);

  assert.equal(stored.key, "b5");
  assert.equal(stored.options[0].key, "o6");
  assert.match(stored.options[1].key, /^n\w+$/);
  assert.match(added.key, /^n\w+$/);
  assert.notEqual(added.key, document.withKeys([{ id: null }])[0].key);
});

test("a new choice in a draft has room for two options, and a stored one is as it was stored", () => {
  const [added, stored] = document.withRoom([
    { id: null, type: "ranking", options: [{ value: "a" }] }, { id: 5, type: "ranking", options: null },
  ]);

  assert.deepEqual(added.options.map((each) => each.value), ["a", ""]);
  assert.equal(stored.options, null);
});

test("a name that is taken gets the next number", () => {
  const blocks = ["why", "WHY-2", "question_4"].map((name) => block(1, { name }));

  assert.equal(document.freeName(blocks, "who"), "who");
  assert.equal(document.freeName(blocks, "why"), "why_3");
  assert.equal(document.freeName(blocks), "question_5");
});

test("a name is chosen unless it is automatic or says the words of the prompt", () => {
  const prompt = "How old are you?";

  assert.equal(document.isChosen({ name: "age", prompt }), true);
  assert.equal(document.isChosen({ name: "how_old_are_you_2", prompt }), false);
  assert.equal(document.isChosen({ name: "question_4", prompt }), false);
});

test("a copy is new: it has no ids, another name, and the same right answer", () => {
  const original = choice();

  const copy = document.copyOf(original, [original]);

  assert.deepEqual([copy.id, ...copy.options.map((each) => each.id)], [null, null, null]);
  assert.equal(copy.name, "block_2");
  assert.equal(copy.options.findIndex((each) => each.key === document.correctKey(copy)), 1);
  assert.notEqual(copy.key, original.key);
});

test("a new block goes behind the chosen one, and never into the outro", () => {
  const blocks = [block(1, { section: "intro" }), block(2), block(3, { section: "outro" })];

  assert.deepEqual(document.placeAfter(blocks, "b1"), { at: 1, section: "intro" });
  assert.deepEqual(document.placeAfter(blocks, "b3"), { at: 2, section: "main" });
  assert.deepEqual(document.placeAfter(blocks, null), { at: 2, section: "main" });
});

test("a block moves within its section, and at its end into the next one", () => {
  const blocks = [block(1, { section: "intro" }), block(2), block(3), block(4, { section: "outro" })];

  assert.equal(document.moveBy(blocks, "b3", -1), true);
  assert.deepEqual(idsIn(blocks), [1, 3, 2, 4]);
  assert.equal(document.moveBy(blocks, "b3", -1), true);
  assert.deepEqual(blocks.map((each) => each.section), ["intro", "intro", "main", "outro"]);
  assert.equal(document.moveBy(blocks, "b2", 1), false);
  assert.equal(document.moveBy(blocks, "b4", -1), false);
});

test("a dragged block goes before another one, or to the end of a section", () => {
  const blocks = [block(1, { section: "intro" }), block(2), block(3), block(4, { section: "outro" })];

  document.moveTo(blocks, "b3", "intro", "b1");
  assert.deepEqual(idsIn(blocks), [3, 1, 2, 4]);
  assert.equal(blocks[0].section, "intro");
  document.moveTo(blocks, "b1", "main", null);
  assert.deepEqual(idsIn(blocks), [3, 2, 1, 4]);
});

test("the right answer stays the same option while options change", () => {
  const changed = choice();

  document.changeOptions(changed, (options) => [{ key: "n1", value: "new" }, ...options.reverse()]);
  assert.equal(document.correctKey(changed), "o12");

  document.changeOptions(changed, (options) => options.filter((each) => each.key !== "o12"));
  assert.equal(document.correctKey(changed), null);
});

test("a right answer without an id is kept by its place", () => {
  const changed = block(1, { options: [{ key: "n1", value: "a" }, { key: "n2", value: "b" }] });

  document.markCorrect(changed, "n2");

  assert.equal(changed.correct_answer_ids, null);
  assert.equal(changed.correct_answer_index, 1);
});

test("several right answers of a multi punch stay the same options, and one of them remains in a single punch", () => {
  const changed = { ...choice(), type: "multi_punch", options: [option(11, "a"), option(12, "b"), option(13, "c")] };

  document.markCorrect(changed, ["o13", "o11"]);
  assert.deepEqual([changed.correct_answer_ids, changed.correct_answer_indexes], [[11, 13], [0, 2]]);

  document.changeOptions(changed, (options) => [{ key: "n1", value: "new" }, ...options.reverse()]);
  assert.deepEqual(document.correctKeys(changed), ["o13", "o11"]);
  assert.deepEqual(changed.correct_answer_indexes, [1, 3]);

  const copy = document.copyOf(changed, [changed]);
  assert.deepEqual([copy.correct_answer_ids, copy.correct_answer_indexes], [null, [1, 3]]);

  const known = { blocks: new Set([1]), options: new Set([11, 12]) };
  const [wire] = document.toWire([changed], known);
  assert.deepEqual([wire.correct_answer_ids, wire.correct_answer_indexes], [null, [1, 3]]);

  document.changeType(changed, "single_punch");
  assert.deepEqual(document.correctKeys(changed), ["o13"]);
});

test("a scale has an option for each point once one has words, and none when no point has any", () => {
  const scale = block(1, { type: "rating", min: 1, max: 3, options: null });

  document.changePoint(scale, 2, (point) => { point.label = "So so"; });
  assert.deepEqual(scale.options.map((each) => each.value), ["1", "2", "3"]);
  assert.deepEqual(scale.options.map((each) => each.label), [undefined, "So so", undefined]);

  scale.max = 4;
  document.fitPoints(scale);
  assert.equal(scale.options.length, 4);

  document.changePoint(scale, 2, (point) => { point.label = null; });
  assert.equal(scale.options, null);
});

test("what is sent has the ids that the script still has, and no option that is empty", () => {
  const sent = choice();
  sent.options.push({ key: "n1", value: " " });
  const known = { blocks: new Set([1]), options: new Set([11]) };

  const [wire] = document.toWire([sent, block(2)], known);

  assert.deepEqual(wire.options.map((each) => each.id), [11, null]);
  assert.deepEqual([wire.correct_answer_ids, wire.correct_answer_index], [null, 1]);
  assert.equal(document.toWire([block(2)], known)[0].id, null);
});

test("a condition of rows is sent without the text that follows from it", () => {
  const asked = block(1, { precondition: "a = 1", hide_when: { variable: "a", op: "eq", value: 1 } });

  assert.equal(document.toWire([asked], document.idsOf([asked]))[0].precondition, null);
});

test("a stored script is what was sent if types, places and texts agree", () => {
  const sent = [block(null, { key: "n1", prompt: "Why  so?" }), block(2)];
  const stored = [{ ...block(7, { prompt: "Why so?" }), key: undefined }, { ...block(2), key: undefined }];

  assert.deepEqual(document.storedAs(sent, stored).map((each) => [each.key, each.id]), [["n1", 7], ["b2", 2]]);
  assert.equal(document.storedAs(sent, stored.reverse()), null);
});

test("another type keeps what both have", () => {
  const changed = document.withKeys([{ ...choice(), min: 1, randomize_options: true, show_when: { all: [] } }])[0];

  document.changeType(changed, "ranking");

  assert.equal(changed.type, "ranking");
  assert.deepEqual([changed.options.length, changed.randomize_options, changed.min], [2, true, null]);
  assert.deepEqual([changed.correct_answer_ids, changed.show_when], [null, { all: [] }]);
});
