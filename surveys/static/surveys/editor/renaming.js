/* A new name of a block, or a new stored value of an option, carried into the conditions, formulas and texts that use
   the old one. The server does the same for scripts that others write; here it happens while one types. */

import { title } from "./document.js";

const TEXTS = ["prompt", "when_correct", "when_incorrect"];

/** Answers how many blocks were changed. */
export function carryName(blocks, before, after) {
  if (!before || !after || title(before) === title(after)) return 0;
  const written = after.trim().replace(/[-\s]/g, "_");
  const isOld = (name) => title(name) === title(before) && !/^q\d+$/.test(name);
  return blocks.filter((block) => {
    const was = JSON.stringify(block);
    for (const field of TEXTS) if (block[field]) block[field] = inBrackets(block[field], isOld, written);
    if (block.calculated_formula) block.calculated_formula = inBrackets(block.calculated_formula, isOld, written);
    if (block.precondition && !block.show_when && !block.hide_when) block.precondition = inExpression(block.precondition, isOld, written);
    for (const field of ["show_when", "hide_when"]) {
      eachLeaf(block[field], (leaf) => {
        if (leaf.block && isOld(leaf.block)) leaf.block = after.trim();
        if (leaf.variable && isOld(leaf.variable)) leaf.variable = written;
      });
    }
    return JSON.stringify(block) !== was;
  }).length;
}

/** The same for the value of an option of the block called `name`. */
export function carryValue(blocks, name, before, after) {
  if (!name || !before || !after || before === after) return 0;
  return blocks.filter((block) => {
    const was = JSON.stringify(block);
    for (const field of ["show_when", "hide_when"]) {
      eachLeaf(block[field], (leaf) => {
        if (!leaf.block || title(leaf.block) !== title(name)) return;
        if (Array.isArray(leaf.value)) leaf.value = leaf.value.map((value) => (value === before ? after : value));
        else if (leaf.value === before) leaf.value = after;
      });
    }
    return JSON.stringify(block) !== was;
  }).length;
}

function inBrackets(text, isOld, written) {
  return text.replace(/\[([^[\]|]+)(\|[^[\]]*)?\]/g, (whole, name, fallback = "") => (isOld(name.trim()) ? `[${written}${fallback}]` : whole));
}

/** Names outside quoted text. */
function inExpression(text, isOld, written) {
  return text.replace(/"[^"]*"|[\p{L}][\p{L}\p{M}\d_]*/gu, (part) => (part.startsWith('"') || !isOld(part) ? part : written));
}

function eachLeaf(condition, fn) {
  if (!condition) return;
  for (const part of [...(condition.all ?? []), ...(condition.any ?? [])]) eachLeaf(part, fn);
  if (condition.block || condition.variable) fn(condition);
}
