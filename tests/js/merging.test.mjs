import assert from "node:assert/strict";
import test from "node:test";

import { block, option } from "./support.mjs";

const { compare, differing, merge, orderOf, resultOf } = await import("../../surveys/static/surveys/editor/merging.js");

const BASE = [block(1), block(2), block(3)];
const changed = (id, fields, blocks = BASE) => blocks.map((each) => (each.id === id ? { ...each, ...fields } : each));
const without = (id) => BASE.filter((each) => each.id !== id);
const rowOf = (theirs, yours, base = BASE) => differing(compare(base, theirs, yours))[0];

/** The ids of the merged script. */
function merged(theirs, yours, base = BASE) {
  return merge(compare(base, theirs, yours), orderOf(base, theirs, yours)).map((each) => each.id ?? each.key);
}

test("what one side alone has changed is taken", () => {
  assert.equal(rowOf(changed(2, { prompt: "Theirs?" }), BASE).choice, "theirs");
  assert.equal(rowOf(BASE, changed(2, { prompt: "Yours?" })).choice, "yours");
});

test("changes of different parts come together", () => {
  const row = rowOf(changed(2, { prompt: "Theirs?" }), changed(2, { required: true }));

  assert.equal(row.choice, "both");
  assert.deepEqual([resultOf(row).prompt, resultOf(row).required], ["Theirs?", true]);
});

test("changes of the same part must be decided", () => {
  const row = rowOf(changed(2, { prompt: "Theirs?" }), changed(2, { prompt: "Yours?" }));

  assert.deepEqual([row.kind, row.choice], ["conflict", null]);
  assert.equal(resultOf({ ...row, choice: "theirs" }).prompt, "Theirs?");
});

test("another type cannot be combined with a change of the other side", () => {
  assert.equal(rowOf(changed(2, { type: "rating" }), changed(2, { required: true })).kind, "conflict");
});

test("null, false and empty are no difference, and neither is the order of an object's fields", () => {
  const scored = (points) => [{ ...option(5, "a"), score_values: points }];
  const was = changed(2, { options: scored({ x: 1, y: 2 }), required: false, color: "" });
  const now = changed(2, { options: scored({ y: 2, x: 1 }), required: null });

  assert.deepEqual(differing(compare(was, was, now)), []);
});

test("without the script that both began from, every difference must be decided", () => {
  assert.equal(rowOf(changed(2, { prompt: "Theirs?" }), BASE, null).choice, null);
});

test("a block that one side removed goes, unless the other has changed it", () => {
  assert.deepEqual(merged(without(2), BASE), [1, 3]);
  assert.deepEqual(merged(BASE, without(2)), [1, 3]);
  assert.equal(rowOf(without(2), changed(2, { prompt: "Yours?" })).choice, null);
});

test("blocks that both have added stand behind what they stood behind", () => {
  const theirs = [BASE[0], block(8), BASE[1], BASE[2]];
  const yours = [BASE[0], BASE[1], block(null, { key: "n9" }), BASE[2]];

  assert.deepEqual(merged(theirs, yours), [1, 8, 2, "n9", 3]);
});

test("the order of the side that moved blocks is taken, and must be chosen if both did", () => {
  const [one, two, three] = BASE;

  assert.equal(orderOf(BASE, [two, one, three], BASE).choice, "theirs");
  assert.equal(orderOf(BASE, BASE, [two, one, three]).choice, "yours");
  assert.equal(orderOf(BASE, [two, one, three], [one, three, two]).isConflict, true);
});

test("references follow a block that they have renamed", () => {
  const theirs = changed(1, { name: "age" });
  const yours = [...BASE, block(null, { key: "n4", precondition: "block_1 = 1", prompt: "You said [block_1]." })];

  const result = merge(compare(BASE, theirs, yours), orderOf(BASE, theirs, yours)).at(-1);

  assert.deepEqual([result.precondition, result.prompt], ["age = 1", "You said [age]."]);
});

test("of an outro block only what the editor can change counts, and they decide whether it is there", () => {
  const outro = block(9, { section: "outro", type: "content_block" });
  const yours = [...BASE, { ...outro, name: "other", prompt: "Bye." }];

  const [row] = differing(compare([...BASE, outro], [...BASE, outro], yours));

  assert.deepEqual([row.kind, resultOf(row).prompt, resultOf(row).name], ["yours", "Bye.", "block_9"]);
  assert.deepEqual(merged(BASE, yours, [...BASE, outro]), [1, 2, 3]);
});
