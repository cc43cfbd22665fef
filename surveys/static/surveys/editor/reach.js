/* What a block may refer to: the blocks before it, the declared fields and the variables, in the spellings of logic,
   formulas and texts.

     subjects(store, key)     what a row of logic may compare: [{ id, name, called, form, kind, type, choices, says }]
     findSubject(store, key, leaf)   the one that a condition's leaf names, or a stand-in that says what is wrong
     tokens(store, key, { answered })   what a text may name in [brackets]: [{ name, says, group }]
     expressionForm(name), tokenForm(name)   a block's name as logic and as texts write it */

import { isChosen, title } from "./document.js";
import { SCALES, STATEMENTS, WITH_ITEMS, typeName } from "./types.js";

const KEYWORDS = new Set(["and", "or", "not", "in"]);
const LITERALS = new Set(["true", "false"]);
const BASIC = new Set(["answer", "score", "max_score", "score_correct", "max_score_correct", "correct_answers",
  "max_correct_answers"]);
const PROMPT_ONLY = new Set(["username", "xp_points", "xp_name", "earned_xp", "month_total_xp", "xp_to_next_level",
  "next_xp_level"]);
const PAGE = new Set(["embed", "link", "skip", "taken"]); // parameters of the respondent's page
const SCORES = [ // the variable, what it means, and what people call it, before and after the bucket's name
  ["score", "The points so far", "Score for", ""],
  ["max_score", "The most points that were possible so far", "Highest possible score for", ""],
  ["score_correct", "The points from questions answered correctly", "Score for", " from correct answers"],
  ["max_score_correct", "The most points that correct answers could have had", "Highest possible score for",
    " from correct answers"],
];
const MAX_POINTS = 50;
const POSITION = /^q[0-9]+$/;

function looksLikeVariable(name) {
  return BASIC.has(name) || name.startsWith("score_") || name.startsWith("max_score_");
}

/** Whether a name in lower case means something else than a block, in logic, in texts or in the page's address.
 *  @param {string} name */
export function meansSomethingElse(name) {
  return POSITION.test(name) || looksLikeVariable(name)
    || [KEYWORDS, LITERALS, PROMPT_ONLY, PAGE].some((words) => words.has(name));
}

/** A block's name as an expression writes it, so that it means this block only.
 *  @param {string} name */
export function expressionForm(name) {
  const form = name.trim().replace(/[ -]/g, "_");
  if (KEYWORDS.has(form.toLowerCase())) return `(${title(form)})`;
  return POSITION.test(form) || looksLikeVariable(form) ? title(form) : form;
}

/** A block's name as [brackets] write it.
 *  @param {string} name */
export function tokenForm(name) {
  const isVariable = looksLikeVariable(name) || PROMPT_ONLY.has(name.trim().toLowerCase());
  return POSITION.test(name) || isVariable ? title(name) : name.trim();
}

/** @param {Store} store @param {Block} block */
export function nameOf(store, block) {
  return block.name || store.marks?.get(block.key)?.name || "";
}

/** The name of a block for people: the name that somebody has chosen, or else the beginning of its text.
 *  @param {Store} store @param {Block} block @param {number} [most] */
export function calledOf(store, block, most = 60) {
  const name = nameOf(store, block);
  return isChosen(block, name) ? name : shortened(block.prompt, most) || typeName(block);
}

/** The kind of a block's answer: choice, choices, number, text, date or any; undefined if it has none.
 *  @param {Store} store @param {{ type: string, format?: string | null }} block */
export function kindOf(store, block) {
  return block.format === "date" ? "date" : store.vocabulary.kinds?.[block.type];
}

/** @param {Store} store @param {string | undefined} kind @returns {Operator[]} */
export function operatorsOf(store, kind) {
  return store.vocabulary.operators?.[kind ?? ""] ?? [];
}

/** The values that answers to a block can have, if they can be listed: pairs of a value and its name.
 *  @param {Block} block @returns {[string | number, string][]} */
export function choicesOf(block) {
  const options = block.options ?? [];
  if (WITH_ITEMS.has(block.type)) return options.map((option) => [option.value, option.label || option.value]);
  if (!SCALES.has(block.type)) return [];
  const [low, high] = { rating: [1, 5], opinion_scale: [0, 10], nps: [0, 10] }[block.type];
  const from = block.min ?? low;
  const to = Math.min(block.max ?? high, from + MAX_POINTS);
  const labels = new Map(options.map((option) => [String(option.value), option.label]));
  return Array.from({ length: Math.max(0, to - from + 1) }, (_, n) => {
    const label = labels.get(String(from + n));
    return [from + n, label ? `${from + n} · ${label}` : String(from + n)];
  });
}

/** @param {Store} store @param {Block} block */
function subjectOf(store, block, at) {
  const name = nameOf(store, block);
  const calculated = block.type === "calculated_block" ? store.buckets.map(({ name: each }) => [each, each]) : null;
  return {
    id: `block:${title(name)}`, block, name, called: calledOf(store, block), form: expressionForm(name),
    type: block.type, at,
    isNamed: isChosen(block, name),
    kind: kindOf(store, block), choices: calculated ? [] : choicesOf(block), suggestions: calculated ?? [],
    says: [`Block ${at + 1}`, typeName(block), isChosen(block, name) && shortened(block.prompt)]
      .filter(Boolean).join(" · "),
  };
}

/** A text without its Markdown, as people read it: `Which **games**?` → `Which games?`.
 *  @param {string} text */
export function plainText(text) {
  if (!/[*_\\]|\]\(/.test(text)) return text;
  return withoutLinks(text).replace(/(?<!\\)(\*\*|__)(?=\S)(.+?)(?<=\S)\1/g, "$2")
    .replace(/(?<![\p{L}\p{N}*_\\])([*_])(?=\S)(.+?)(?<=\S)\1(?![\p{L}\p{N}*_])/gu, "$2")
    .replace(/\\([\\*_[\]+.)-])/g, "$1");
}

/** The text with the words of its links instead of their addresses.
 *  @param {string} text */
export function withoutLinks(text) {
  return text.replace(/\[([^[\]]*)\]\((?:https?:\/\/|mailto:)[^()\s]*\)/gi, "$1");
}

/** @param {string | null | undefined} text @param {number} [most] */
export function shortened(text, most = 60) {
  const line = plainText(text ?? "").replace(/\s+/g, " ").trim();
  return line.length > most ? `${line.slice(0, most - 1).trimEnd()}…` : line;
}

/** The blocks before `key` that have an answer and a name that logic can write.
 *  @param {Store} store @param {string} key @returns {Subject[]} */
export function blocksBefore(store, key) {
  const end = store.blocks.findIndex((block) => block.key === key);
  return store.blocks.slice(0, Math.max(end, 0)).flatMap((block, at) => {
    const isNamed = nameOf(store, block) && !LITERALS.has(title(nameOf(store, block)).toLowerCase());
    return STATEMENTS.has(block.type) || block.section === "outro" || !isNamed ? [] : [subjectOf(store, block, at)];
  });
}

/** The name that a bucket gets which is made from this key: `fire_mage` → `Fire Mage`. */
function bucketName(key) {
  return key.split("_").map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join(" ");
}

/** The variables of the script as it was opened, and those of buckets that its points have made since.
 *  @param {Store} store @returns {Term[]} */
function terms(store) {
  const known = store.vocabulary.variables ?? [];
  if (!store.scoring || store.vocabulary.buckets?.length) return known;
  const keys = new Set(store.blocks.flatMap((block) => block.options ?? [])
    .flatMap((option) => Object.keys(option.score_values ?? {})));
  const names = new Set(known.map((term) => term.name));
  const made = [...keys].flatMap((key) => SCORES.map(([score, words, before, after]) => ({
    name: `${score}_${key.replaceAll("-", "_")}`, meaning: `${words} for ${key}.`,
    called: `${before} ${bucketName(key)}${after}`,
  })));
  return [...known, ...made.filter((term) => !names.has(term.name))];
}

/** @param {Store} store @returns {Subject[]} */
export function variables(store) {
  return terms(store).map(({ name, meaning, called, kind = name === "answer" ? "any" : "number", choices = [] }) => ({
    id: `variable:${name}`, name, called: called ?? name, form: name, kind,
    choices: choices.map((value) => [value, value]), suggestions: [],
    says: meaning, isVariable: true,
  }));
}

/** The declared fields, whose values come with the page's address or a link. Fields with listed values have no others.
 *  @param {Store} store @returns {Subject[]} */
export function fields(store) {
  return (store.vocabulary.fields ?? []).map(({ name, meaning, called, values }) => ({
    id: `variable:${name}`, name, called, form: name, kind: "text", choices: values.map((value) => [value, value]),
    suggestions: [],
    says: meaning, isVariable: true, isField: true,
  }));
}

/** @param {Store} store @param {string} key */
export function subjects(store, key) {
  return [...blocksBefore(store, key), ...fields(store), ...variables(store)];
}

/** The subject that a leaf names. A position means the block at that position; a name out of reach gets a stand-in.
 *  @param {Store} store @param {string} key @param {Condition} leaf @returns {Subject} */
export function findSubject(store, key, leaf) {
  const known = subjects(store, key);
  const { block } = leaf;
  if (block) {
    const found = known.find((each) => !each.isVariable && each.id === `block:${title(block)}`);
    const later = store.blocks.find((each) => title(nameOf(store, each)) === title(block));
    const other = later ?? store.gone(block);
    const why = later ? "not before this block" : "removed";
    return found ?? standIn(`block:${title(block)}`, block, why, other ? calledOf(store, other) : block);
  }
  const name = (leaf.variable ?? "").replace(/^\((.*)\)$/, "$1");
  const found = known.find((each) => each.id === `variable:${name}`);
  if (found) return found;
  const atPosition = POSITION.test(name) ? known.find((each) => each.at === Number(name.slice(1)) - 1) : null;
  if (atPosition) {
    const called = `${atPosition.called} · the block at place ${Number(atPosition.at) + 1}`;
    return { ...atPosition, id: `variable:${name}`, form: name, name: called, isVariable: true };
  }
  const byName = known.find((each) => each.id === `block:${title(name)}`);
  return byName ?? standIn(`variable:${name}`, name, "not known here");
}

function standIn(id, name, why, called = name) {
  return { id, name: `${why.charAt(0).toUpperCase()}${why.slice(1)}: ${called}`, form: name, kind: "any", choices: [],
    suggestions: [], says: why, isMissing: true, isVariable: id.startsWith("variable:") };
}

/** The leaf's part that names a subject.
 *  @param {Subject} subject @returns {Condition} */
export function referenceTo(subject) {
  if (!subject.isVariable) return { block: subject.block ? subject.name : subject.form };
  return { variable: subject.form };
}

/** The tokens for a text of this block. `answered`: the text is shown after the block's own answer.
 *  @param {Store} store @param {string} key @param {{ answered?: boolean }} [options] @returns {Token[]} */
export function tokens(store, key, { answered = false } = {}) {
  const block = store.block(key);
  const own = blocksBefore(store, key).filter((each) => !PROMPT_ONLY.has(each.name.trim().toLowerCase()));
  const xp = block && STATEMENTS.has(block.type) ? store.vocabulary.xp_tokens ?? [] : [];
  const ownNames = (store.vocabulary.tokens ?? []).filter(({ name }) => PROMPT_ONLY.has(name.toLowerCase()));
  const general = [...ownNames, ...terms(store)].map(({ name, meaning }) => ({
    name, says: answered && name === "answer" ? "The answer just given." : meaning,
    group: name === "UserName" || name === "answer" ? "Respondent" : "Scores",
  }));
  return [
    ...general.filter((each) => each.group === "Respondent"),
    ...own.reverse().map((each) => ({
      name: tokenForm(each.name), called: each.isNamed ? null : each.called, says: each.says, group: "Answers",
    })),
    ...fields(store).map(({ name, says }) => ({ name, says, group: "Fields" })),
    ...general.filter((each) => each.group === "Scores"),
    ...xp.map(({ name, meaning }) => ({ name, says: meaning, group: "XP" })),
  ];
}
