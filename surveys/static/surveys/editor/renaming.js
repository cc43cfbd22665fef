/* A new name of a block, or a new stored value of an option, carried into the conditions, formulas and texts that use
   the old one. The server does the same for scripts that others write; here it happens while one types. */

import { title } from "./document.js";

const NOBODY = "no block has this name";
const TEXTS = ["prompt", "description", "when_correct", "when_incorrect"];

/** Answers how many blocks were changed.
 *  @param {Block[]} blocks @param {string | null} before @param {string | null} after */
export function carryName(blocks, before, after) {
  if (!before || !after || title(before) === title(after)) return 0;
  return renamedIn(blocks, (name) => title(name) === title(before) && !/^q\d+$/.test(name), after).length;
}

/** The blocks whose conditions, formulas and texts refer to the block with this name at this place, counted from 1.
 *  @param {Block[]} blocks @param {{ name: string, place: number }} block */
export function usersOf(blocks, { name, place }) {
  const isMeant = (form) => (/^q\d+$/.test(form) ? form === `q${place}` : Boolean(name) && title(form) === title(name));
  return blocks.filter((block) => renamedIn([structuredClone(block)], isMeant, NOBODY).length);
}

/** Write another name wherever `isOld` holds; answers the blocks in which it did.
 *  @param {Block[]} blocks */
function renamedIn(blocks, isOld, after) {
  const form = written(after);
  return blocks.filter((block) => {
    const was = JSON.stringify(block);
    for (const field of TEXTS) if (block[field]) block[field] = inBrackets(block[field], isOld, form);
    if (block.calculated_formula) block.calculated_formula = inBrackets(block.calculated_formula, isOld, form);
    if (isText(block)) block.precondition = inExpression(block.precondition, isOld, form);
    for (const field of ["show_when", "hide_when"]) {
      eachLeaf(block[field], (leaf) => {
        if (leaf.block && isOld(leaf.block)) leaf.block = after.trim();
        if (leaf.variable && isOld(leaf.variable)) leaf.variable = form;
      });
    }
    return JSON.stringify(block) !== was;
  });
}

/** Whether the condition of a block is a text: a precondition beside rows follows from them.
 *  @param {Block} block */
function isText(block) {
  return Boolean(block.precondition && !block.show_when && !block.hide_when);
}

/** The same for the value of an option of the block that has this name and this place, counted from 1. Rows cannot have
 *  a value with a quotation mark: the server makes a text of them when the script is saved.
 *  @param {Block[]} blocks @param {{ name: string | null | undefined, place: number }} block @param {string} before
 *  @param {string} after */
export function carryValue(blocks, { name, place }, before, after) {
  if (!name || !before || !after || before === after) return 0;
  const isMeant = (form) => (/^q\d+$/.test(form) ? form === `q${place}` : title(form) === title(name));
  const isOld = (value) => String(value) === before
    || (isNumber(before) && isNumber(value) && Number(value) === Number(before));
  return blocks.filter((block) => {
    const was = JSON.stringify(block);
    for (const field of after.includes('"') ? [] : ["show_when", "hide_when"]) {
      eachLeaf(block[field], (leaf) => {
        if (!isMeant(leaf.block ? written(leaf.block) : leaf.variable.replace(/[()]/g, ""))) return;
        if (Array.isArray(leaf.value)) leaf.value = leaf.value.map((value) => (isOld(value) ? after : value));
        else if (isOld(leaf.value)) leaf.value = after;
      });
    }
    const revalued = (text, pattern) => withValues(text, pattern, isMeant, (value) => (isOld(value) ? after : value));
    if (isText(block)) block.precondition = revalued(block.precondition, IN_LOGIC);
    if (block.calculated_formula) block.calculated_formula = revalued(block.calculated_formula, IN_FORMULAS);
    return JSON.stringify(block) !== was;
  }).length;
}

/** A text or a condition of a block names another block by its name instead of by a position.
 *  @param {Block} block @param {string} field @param {string} position @param {string} name */
export function nameInstead(block, field, position, name) {
  const isOld = (each) => each === position;
  if (field === "precondition") block[field] = inExpression(block[field], isOld, written(name));
  else if (typeof block[field] === "string") block[field] = inBrackets(block[field], isOld, written(name));
  else {
    eachLeaf(block[field], (leaf) => {
      if (!isOld(leaf.variable)) return;
      delete leaf.variable;
      leaf.block = name;
    });
  }
}

/** A name in the notation of logic, never read as a position. */
function written(name) {
  const form = name.trim().replace(/[-\s]/g, "_");
  return /^q\d+$/.test(form) ? title(form) : form;
}

/* Comparisons with a value, in the text of a condition and in a formula. Quoted texts and names outside of comparisons
   are matched too, so that nothing inside them is taken for a comparison. */

const TEXT = '"(?:[^"]|"")*"';
const LITERAL = `(?:${TEXT}|-?\\s*\\d+(?:\\.\\d+)?)`;
const LIST = `\\[\\s*${LITERAL}\\s*(?:,\\s*${LITERAL}\\s*)*\\]`;
const SIGN = "\\s*(?:==?|!=|<=?|>=?)\\s*";
const WORD = "(?:field\\.[a-z0-9_]+|\\(?\\p{L}[\\p{L}\\p{M}\\p{Nd}_]*\\)?)";
const NAME = "\\[\\s*\\p{L}[\\p{L}\\p{M}\\p{Nd}_ -]*\\]";
const IN_LOGIC = comparisons(WORD, `(?:${SIGN}|\\s*\\bin\\b\\s*)`, `(?:${LIST}|${LITERAL})`);
const IN_FORMULAS = comparisons(NAME, SIGN, LITERAL);

function comparisons(name, sign, value) {
  const after = `(?<left>${name})(?<after>${sign})(?<right>${value})`;
  const before = `(?<first>${value})(?<before>${sign})(?<last>${name})`;
  return new RegExp(`${after}|${before}|${TEXT}|${name}`, "giu");
}

function withValues(text, pattern, isMeant, change) {
  const other = (literals) => literals.replace(new RegExp(LITERAL, "gu"), (literal) => {
    const isText = literal.startsWith('"');
    const value = isText ? literal.slice(1, -1).replaceAll('""', '"') : literal.replace(/\s/g, "");
    const changed = change(value);
    if (changed === value) return literal;
    return !isText && isNumber(changed) ? changed : `"${changed.replaceAll('"', '""')}"`;
  });
  const isNamed = (name) => isMeant(name.replace(/[()[\]]/g, "").trim());
  return text.replace(pattern, (whole, ...rest) => {
    const { left, after, right, first, before, last } = rest.at(-1);
    if (left !== undefined && isNamed(left)) return left + after + other(right);
    if (last !== undefined && isNamed(last)) return other(first) + before + last;
    return whole;
  });
}

function isNumber(value) {
  return /^-?[0-9]+(\.[0-9]+)?$/.test(String(value));
}

function inBrackets(text, isOld, written) {
  return text.replace(/\[([^[\]|]+)(\|[^[\]]*)?\](?!\((?:https?:\/\/|mailto:))/g,
    (whole, name, fallback = "") => (isOld(name.trim()) ? `[${written}${fallback}]` : whole));
}

/** Names outside quoted text. */
function inExpression(text, isOld, written) {
  return text.replace(/"[^"]*"|[\p{L}][\p{L}\p{M}\d_]*/gu,
    (part) => (part.startsWith('"') || !isOld(part) ? part : written));
}

function eachLeaf(condition, fn) {
  if (!condition) return;
  for (const part of [...(condition.all ?? []), ...(condition.any ?? [])]) eachLeaf(part, fn);
  if (condition.block || condition.variable) fn(condition);
}
