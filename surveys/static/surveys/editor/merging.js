/* Merges two versions of a script by block, with the version on which both are based.

     const rows = compare(base, theirs, yours)      a row for each block that is in any of them
     row.choice                                     "theirs", "yours", "both", or null while somebody must decide
     merge(rows, orderOf(base, theirs, yours))      the blocks of the result

   Blocks are the same if their ids are. `base` is null if it is not known: then every difference must be decided. */

import { correctKeys, withKeys } from "./document.js";
import { carryName } from "./renaming.js";
import { PICTURES } from "./types.js";

/** The parts of a block that are compared and taken as one, with the words for them. */
export const PARTS = /** @type {[string, string, string[]][]} */ ([
  ["type", "Type", ["type"]],
  ["section", "Section", ["section"]],
  ["name", "Name", ["name"]],
  ["prompt", "Text", ["prompt"]],
  ["description", "Description", ["description"]],
  ["group", "Group", ["group"]],
  ["pictures", "Pictures", PICTURES],
  ["video", "Video", ["video_url"]],
  ["options", "Options", ["options", "correct_answer_ids", "correct_answer_index", "correct_answer_indexes"]],
  ["limits", "Limits", ["min", "max", "whole", "rank_top_n"]],
  ["format", "Answers are", ["format"]],
  ["required", "Required", ["required"]],
  ["further", "Further questions", ["follow_ups"]],
  ["logic", "Condition", ["precondition", "show_when", "hide_when"]],
  ["formula", "Formula", ["calculated_formula"]],
  ["action", "What is given", ["action_kind", "action_config"]],
  ["right", "After a right answer", ["when_correct"]],
  ["wrong", "After a wrong answer", ["when_incorrect"]],
  ["look", "Look", ["answer_style", "color", "randomize_options"]],
  ["scale", "Scale", ["scale"]],
  ["continue", "Button", ["continue"]],
]);
const OF_OUTRO = new Set(["prompt", "description", "pictures", "continue"]);

/**
 * @typedef {object} MergeRow
 * @property {string} id
 * @property {Block | null} base
 * @property {Block | null} theirs
 * @property {Block | null} yours
 * @property {{ name: string, label: string, by: string }[]} parts  those that differ, and who changed them
 * @property {boolean} isOutro
 * @property {string} kind  same, theirs, yours, both or conflict
 * @property {string | null} choice
 * @property {string[]} choices
 */

/** @typedef {{ isConflict: boolean, choice: string | null, theirs: string[], yours: string[] }} MergeOrder */

/** The rows of a comparison, in the order of the script. Texts of `yours` follow blocks that they have renamed.
 *  @param {StoredBlock[] | null} base @param {StoredBlock[]} theirs @param {StoredBlock[]} yours */
export function compare(base, theirs, yours) {
  const [was, stored, drafted] = [base && withKeys(base), withKeys(theirs),
    following(base, theirs, withKeys(structuredClone(yours)))];
  const sides = [was ?? [], stored, drafted].map((blocks) => new Map(blocks.map((block) => [identity(block), block])));
  const ids = spliced(spliced(stored.map(identity), drafted.map(identity)), was?.map(identity) ?? []);
  return ids.map((id) => {
    const [before, stands, mine] = sides.map((side) => side.get(id) ?? null);
    return row(id, before, stands, mine, was !== null);
  });
}

/** The rows in which anything differs.
 *  @param {MergeRow[]} rows */
export function differing(rows) {
  return rows.filter((each) => each.kind !== "same");
}

/** Whether both sides have moved blocks, each in its own way; and the order that is taken if nobody decides.
 *  @param {StoredBlock[] | null} base @param {StoredBlock[]} theirs @param {StoredBlock[]} yours
 *  @returns {MergeOrder} */
export function orderOf(base, theirs, yours) {
  const lists = [base ?? theirs, theirs, yours]
    .map((blocks) => blocks.filter((block) => block.section !== "outro").map(identity));
  const common = new Set(lists[0].filter((id) => lists.every((list) => list.includes(id))));
  const [was, stored, drafted] = lists.map((list) => list.filter((id) => common.has(id)).join(" "));
  const isConflict = stored !== drafted && drafted !== was && (stored !== was || base === null);
  return { isConflict, choice: drafted === was ? "theirs" : "yours", theirs: lists[1], yours: lists[2] };
}

/** The blocks of the result. Rows without a choice count as the draft's.
 *  @param {MergeRow[]} rows @param {MergeOrder} order */
export function merge(rows, order) {
  /** @type {Map<string, Block>} */ const results = new Map();
  for (const each of rows) {
    const block = resultOf(each);
    if (block) results.set(each.id, block);
  }
  const [first, second] = order.choice === "theirs" ? [order.theirs, order.yours] : [order.yours, order.theirs];
  const placed = spliced(first.filter((id) => results.has(id)), second.filter((id) => results.has(id)));
  const outro = [...results.keys()].filter((id) => results.get(id)?.section === "outro");
  return [...placed, ...outro.filter((id) => !placed.includes(id))].map((id) => /** @type {Block} */ (results.get(id)));
}

/** The block that a row becomes; null if it is left out.
 *  @param {MergeRow} row @returns {Block | null} */
export function resultOf({ theirs, yours, choice, parts, isOutro }) {
  if (isOutro && !theirs) return null; // the service removes and adds these
  if (choice === "both") return combined(theirs, yours, parts);
  const chosen = choice === "theirs" ? theirs : yours;
  if (!chosen) return isOutro ? theirs : null;
  return isOutro ? combined(theirs, chosen, parts, true) : { ...chosen, key: (yours ?? chosen).key };
}

/* Comparing */

/** @param {string} id @param {Block | null} base @param {Block | null} theirs @param {Block | null} yours
 *  @param {boolean} hasBase @returns {MergeRow} */
function row(id, base, theirs, yours, hasBase) {
  const isOutro = (theirs ?? yours ?? base)?.section === "outro";
  const parts = theirs && yours ? changedParts(base, theirs, yours, isOutro) : [];
  const found = { id, base, theirs, yours, parts, isOutro, kind: "same", choice: "yours",
    choices: ["theirs", "yours"] };
  if (!theirs && !yours) return { ...found, choice: "theirs" };
  if (!theirs || !yours) return oneSided(found, hasBase);
  if (!parts.length) return { ...found, choice: "theirs" };
  const by = new Set(parts.map((part) => part.by));
  if (by.has("conflict") || mixesTypes(parts, by)) return { ...found, kind: "conflict", choice: null };
  if (by.size === 2) return { ...found, kind: "both", choice: "both", choices: ["theirs", "yours", "both"] };
  return by.has("theirs") ? { ...found, kind: "theirs", choice: "theirs" }
    : { ...found, kind: "yours", choice: "yours" };
}

/** A block that only one side has: one side added it, or the other side removed it. */
function oneSided(found, hasBase) {
  const { base, theirs, yours, isOutro } = found;
  if (isOutro) return { ...found, choice: "theirs" };
  if (theirs) {
    if (!base) return { ...found, kind: hasBase ? "theirs" : "conflict", choice: hasBase ? "theirs" : null };
    const isEdited = changedParts(base, theirs, base, false).length > 0;
    return { ...found, kind: isEdited ? "conflict" : "yours", choice: isEdited ? null : "yours" };
  }
  if (!base) return { ...found, kind: yours.id && !hasBase ? "conflict" : "yours",
    choice: yours.id && !hasBase ? null : "yours" };
  const isEdited = changedParts(base, base, yours, false).length > 0;
  return { ...found, kind: isEdited ? "conflict" : "theirs", choice: isEdited ? null : "theirs" };
}

/** Another type needs other fields, so it cannot be combined with changes of the other side. */
function mixesTypes(parts, by) {
  return by.size > 1 && parts.some((part) => part.name === "type");
}

function changedParts(base, theirs, yours, isOutro) {
  const found = [];
  for (const [name, label] of PARTS) {
    if (isOutro && !OF_OUTRO.has(name)) continue;
    const [was, stored, drafted] = [base, theirs, yours].map((block) => block && canonical(block, name));
    if (stored === drafted) continue;
    const by = was === null ? "conflict" : drafted === was ? "theirs" : stored === was ? "yours" : "conflict";
    found.push({ name, label, by });
  }
  return found;
}

/** A part of a block as a text that is equal for equal parts.
 *  @param {Block} block */
function canonical(block, name) {
  if (name === "options") return JSON.stringify([(block.options ?? []).map(plainOption), rightAnswers(block)]);
  if (name === "logic" && (block.show_when || block.hide_when)) {
    return JSON.stringify(sorted([block.show_when ?? null, block.hide_when ?? null]));
  }
  return JSON.stringify(fieldsOf(name).map((field) => sorted(emptied(block[field]))));
}

/** @param {BlockOption} option */
function plainOption(option) {
  const fields = ["value", "label", "emoji", "score_values", "anchor_position", "is_exclusive", "is_other", "image_url",
    "image_alt"];
  return fields.map((field) => sorted(emptied(option[field])));
}

/** @param {Block} block */
function rightAnswers(block) {
  const right = correctKeys(block);
  return (block.options ?? []).filter((option) => right.includes(option.key)).map((option) => option.value);
}

function emptied(value) {
  if (value === undefined || value === "" || value === false) return null;
  if (value && typeof value === "object") {
    const kept = Object.entries(value).filter(([, part]) => emptied(part) !== null);
    return kept.length ? value : null;
  }
  return value;
}

function sorted(value) {
  if (Array.isArray(value)) return value.map(sorted);
  if (!value || typeof value !== "object") return value;
  return Object.fromEntries(Object.keys(value).sort().filter((name) => emptied(value[name]) !== null)
    .map((name) => [name, sorted(value[name])]));
}

/** @param {{ id: number | null, key?: string }} block */
function identity(block) {
  return block.id ? `b${block.id}` : block.key ?? "";
}

/** @param {string} name */
function fieldsOf(name) {
  return PARTS.find(([each]) => each === name)?.[2] ?? [];
}

/* Merging */

/** Their block with the parts that you have changed; with all of your parts if `isWhole`. */
function combined(theirs, yours, parts, isWhole = false) {
  const result = { ...theirs, key: yours.key };
  for (const { name, by } of parts) {
    if (by === "theirs" && !isWhole) continue;
    for (const field of fieldsOf(name)) result[field] = yours[field] ?? null;
  }
  return result;
}

/** Your blocks, in which references to a block that they have renamed have its new name. */
function following(base, theirs, yours) {
  const before = new Map((base ?? []).map((block) => [block.id, block.name]));
  const mine = new Map(yours.map((block) => [block.id, block.name]));
  for (const { id, name } of theirs) {
    const was = before.get(id);
    const isRenamed = was && name !== was && (mine.get(id) ?? was) === was;
    if (isRenamed) carryName(yours.filter((block) => block.id !== id), was, name);
  }
  return yours;
}

/** The first list plus the items that only the second list has, each after its predecessor there. */
function spliced(first, second) {
  const result = [...first];
  second.forEach((id, n) => {
    if (result.includes(id)) return;
    const before = second.slice(0, n).findLast((each) => result.includes(each));
    result.splice(before === undefined ? 0 : result.indexOf(before) + 1, 0, id);
  });
  return result;
}
