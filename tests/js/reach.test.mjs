import assert from "node:assert/strict";
import test from "node:test";

import { block, option, storeOf } from "./support.mjs";

const reach = await import("../../surveys/static/surveys/editor/reach.js");

const VOCABULARY = {
  kinds: { single_punch: "choice", open_text: "text", rating: "number" },
  variables: [{ name: "answer", meaning: "The latest answer." }, { name: "score", meaning: "All points." }],
  fields: [{ name: "field.campaign", meaning: "Sent along.", called: "campaign", values: ["mail", "poster"] }],
  tokens: [{ name: "UserName", meaning: "Who answers." }],
  xp_tokens: [{ name: "xp_points", meaning: "XP." }],
};
const BLOCKS = [
  block(1, { type: "single_punch", name: "game", prompt: "Which game?", options: [option(11, "a"), option(12, "b")] }),
  block(2, { type: "rating", name: "q1", min: 1, max: 3, options: [{ ...option(21, "2"), label: "So so" }] }),
  block(3, { name: "last" }),
];
const store = (state = {}) => storeOf(BLOCKS, { vocabulary: VOCABULARY, ...state });

test("logic compares the blocks before, the fields that are sent along, and the variables", () => {
  assert.deepEqual(reach.subjects(store(), "b3").map((each) => each.id),
    ["block:Game", "block:Q1", "variable:field.campaign", "variable:answer", "variable:score"]);
  assert.deepEqual(reach.blocksBefore(store(), "b1"), []);
});

test("the values of choices and of the points of a scale can be listed", () => {
  assert.deepEqual(reach.choicesOf(BLOCKS[0]), [["a", "a"], ["b", "b"]]);
  assert.deepEqual(reach.choicesOf(BLOCKS[1]), [[1, "1"], [2, "2 · So so"], [3, "3"]]);
  assert.deepEqual(reach.choicesOf(BLOCKS[2]), []);
});

test("a variable may have values of its own, as themes have", () => {
  const themes = { name: "themes.Q1", meaning: "", called: "Themes", kind: "choices", choices: ["Price"] };
  const [subject] = reach.variables(store({ vocabulary: { ...VOCABULARY, variables: [themes] } }));

  assert.deepEqual([subject.kind, subject.choices], ["choices", [["Price", "Price"]]]);
  assert.deepEqual(reach.referenceTo(subject), { variable: "themes.Q1" });
});

test("a name like a position means the block at that place, and a block of that name only as a block", () => {
  assert.equal(reach.findSubject(store(), "b3", { variable: "q1" }).block.key, "b1");
  assert.equal(reach.findSubject(store(), "b3", { block: "q1" }).block.key, "b2");
});

test("what is out of reach says why", () => {
  const edited = store();
  edited.remove("b1");

  assert.equal(reach.findSubject(edited, "b2", { block: "last" }).says, "not before this block");
  assert.equal(reach.findSubject(edited, "b3", { block: "game" }).says, "removed");
  assert.equal(reach.findSubject(edited, "b3", { variable: "nobody" }).says, "not known here");
});

test("a comparison refers to a block by its name, and to anything else as a variable", () => {
  const [game, , campaign] = reach.subjects(store(), "b3");

  assert.deepEqual(reach.referenceTo(game), { block: "game" });
  assert.deepEqual(reach.referenceTo(campaign), { variable: "field.campaign" });
});

test("texts name the nearest answers first, and XP only in statements", () => {
  const groups = (blocks) => reach.tokens(storeOf(blocks, { vocabulary: VOCABULARY }), "b3").map((each) => each.name);

  assert.deepEqual(groups(BLOCKS), ["UserName", "answer", "Q1", "game", "field.campaign", "score"]);
  assert.equal(groups([...BLOCKS.slice(0, 2), { ...BLOCKS[2], type: "content_block" }]).at(-1), "xp_points");
});

test("points that nobody has saved yet have variables of their own", () => {
  const scored = [{ ...BLOCKS[0], options: [{ ...option(11, "a"), score_values: { fire_mage: 1 } }] }];
  const variables = reach.variables(storeOf(scored, { vocabulary: VOCABULARY, project: { scoring_enabled: true } }));

  assert.equal(variables.find((each) => each.name === "score_fire_mage").called, "Score for Fire Mage");
  assert.equal(reach.variables(storeOf(scored, { vocabulary: VOCABULARY })).length, 2);
});

test("people read a text without its Markdown, and names hold none", () => {
  assert.equal(reach.plainText("Which **games**, _and_ *why*? [Rules](https://a.example/b)"),
    "Which games, and why? Rules");
  assert.equal(reach.plainText("snake_case_name and 5*3*2 stay, \\*so\\*"), "snake_case_name and 5*3*2 stay, *so*");
  assert.equal(reach.shortened("**Bold** words"), "Bold words");
});
