/* Blocks as plain data: new blocks, copies, moves, right answers, the points of scales, and the data for the server.
   Functions change the block or list that they receive; the store passes copies. */

import { meansSomethingElse, withoutLinks } from "./reach.js";
import { PRESENTATION, QUESTIONS, RANGES, TYPES, WITH_ITEMS } from "./types.js";

const MAX_WORDS = 40; // characters of a name that is made from a prompt
const LEAST_ROWS = 2; // of options, as a new question has them
const SECTIONS = ["intro", "main", "outro"];
const EMPTY = {
  id: null, name: null, section: "main", prompt: "", description: null, group: null, answer_style: null,
  color: null, image_url: null, image_alt: null, thumbnail_url: null, thumbnail_alt: null, video_url: null,
  options: null, min: null, max: null, whole: null, format: null, required: null, precondition: null,
  show_when: null, hide_when: null, action_kind: null, action_config: null, correct_answer_ids: null,
  correct_answer_index: null, correct_answer_indexes: null, when_correct: null,
  when_incorrect: null, scale: null, randomize_options: null, rank_top_n: null, follow_ups: null,
  calculated_formula: null, continue: null,
};

/** A unique key for a block or option, also across computers. */
export function newKey() {
  const bytes = crypto.getRandomValues(new Uint8Array(9));
  return `n${[...bytes].map((byte) => byte.toString(36).padStart(2, "0")).join("")}`;
}

/** Give every block and option a key. Those with an id keep the same key wherever they are read.
 *  @param {(StoredBlock | Block)[]} blocks @returns {Block[]} */
export function withKeys(blocks) {
  return blocks.map((block) => ({
    ...block,
    key: block.key ?? (block.id ? `b${block.id}` : newKey()),
    options: block.options?.map((option) => withKey(option)) ?? null,
  }));
}

/** The blocks of a draft. It was stored without empty options, so short lists get empty options up to two.
 *  @param {StoredBlock[]} blocks @returns {Block[]} */
export function withRoom(blocks) {
  return withKeys(blocks.map((block) => {
    const options = block.options ?? [];
    if (block.id || !WITH_ITEMS.has(block.type) || options.length >= LEAST_ROWS) return block;
    const empty = Array.from({ length: LEAST_ROWS - options.length }, () => withKey({ value: "" }));
    return { ...block, options: [...options, ...empty] };
  }));
}

/** @param {Partial<BlockOption> & { value: string }} option @returns {BlockOption} */
function withKey(option) {
  return { ...option, key: option.key ?? (option.id ? `o${option.id}` : newKey()) };
}

/** @param {string} type @param {Block[]} blocks @returns {Block} */
export function newBlock(type, blocks) {
  const start = TYPES[type].start();
  const options = start.options?.map((option) => withKey(option)) ?? null;
  const required = QUESTIONS.has(type) ? true : null;
  return { ...EMPTY, type, key: newKey(), name: freeName(blocks), required, ...start, options };
}

/** A name that stays with the block from the start, so that logic can refer to it before it is saved: the base, with a
 *  number if other blocks have it, or else `question_4`. It is never like q3, which means the third block 
 *  (rule 3.11).
 *  @param {Block[]} blocks @param {string | null} [base] @param {number | null} [place] */
export function freeName(blocks, base = null, place = null) {
  const taken = new Set(blocks.map((block) => title(block.name ?? "")));
  if (base === null) {
    let number = place ?? blocks.filter((block) => block.section !== "outro").length + 1;
    while (taken.has(`Question_${number}`)) number += 1;
    return `question_${number}`;
  }
  if (!taken.has(title(base))) return base;
  const stem = base.replace(/_\d+$/, "").slice(0, 58);
  let number = 2;
  while (taken.has(title(`${stem}_${number}`))) number += 1;
  return `${stem}_${number}`;
}

/** A name made of the words of a prompt; null if they make none that is free of other meanings. The server names the
 *  blocks of drafts, templates and files in the same way.
 *  @param {string} prompt */
export function wordsOf(prompt) {
  let name = "";
  const text = withoutLinks(prompt).replace(/\[[^[\]]*\]/g, " ").toLowerCase();
  for (const word of text.match(/[\p{L}\p{M}\p{Nd}]+/gu) ?? []) {
    const longer = name ? `${name}_${word}` : word;
    if ([...longer].length > MAX_WORDS) break;
    if (/^\p{L}/u.test(longer)) name = longer;
  }
  return name && !meansSomethingElse(name) ? name : null;
}

/** Whether a name was generated, and not made from the block's prompt.
 *  @param {string | null | undefined} name */
export function isAutomaticName(name) {
  return !name || /^(q|question_)\d+$/i.test(name);
}

/** Whether somebody has chosen the name of a block. Several words of its own prompt read better as they stand there.
 *  @param {Block} block @param {string | null} [name] */
export function isChosen(block, name = block.name) {
  if (!name || isAutomaticName(name)) return false;
  const words = wordsOf(block.prompt ?? "");
  return !words?.includes("_") || name.replace(/_\d+$/, "") !== words;
}

/** The form in which names are compared (rule 3.7).
 *  @param {string} name */
export function title(name) {
  return name.normalize("NFC").trim().split(/[-_ ]/).map(capitalized).join("_");
}

/** The word with its first letter alone as a capital: ß becomes Ss. */
function capitalized(word) {
  const [first = "", ...rest] = word;
  const [capital = "", ...more] = first.toUpperCase();
  return capital + ["a", ...more, ...rest].join("").toLowerCase().slice(1); // Σ at an end is ς behind a letter alone
}

/** A copy of a block, as new: no ids, another name, its own keys.
 *  @param {Block} block @param {Block[]} blocks */
export function copyOf(block, blocks) {
  const copy = structuredClone(block);
  const right = correctKeys(block);
  copy.key = newKey();
  copy.id = null;
  copy.name = isAutomaticName(block.name) ? freeName(blocks) : freeName(blocks, block.name);
  copy.options = copy.options?.map((option) => ({ ...option, id: null, key: newKey() })) ?? null;
  copy.correct_answer_ids = null;
  setPlaces(copy, placesOf(block.options, right));
  return copy;
}

/** Where a new block goes: after `key`, in its section; at the end of the main section otherwise.
 *  @param {Block[]} blocks @param {string | null} key */
export function placeAfter(blocks, key) {
  const at = blocks.findIndex((block) => block.key === key);
  if (at >= 0 && blocks[at].section !== "outro") return { at: at + 1, section: blocks[at].section };
  const outro = blocks.findIndex((block) => block.section === "outro");
  return { at: outro < 0 ? blocks.length : outro, section: "main" };
}

/** Move a block one step; at the end of its section it moves to the next section. Returns whether it moved.
 *  @param {Block[]} blocks @param {string} key @param {number} step */
export function moveBy(blocks, key, step) {
  const at = blocks.findIndex((block) => block.key === key);
  const block = blocks[at];
  if (!block || block.section === "outro") return false;
  const neighbour = blocks[at + step];
  if (neighbour && neighbour.section === block.section) {
    blocks.splice(at, 1);
    blocks.splice(at + step, 0, block);
    return true;
  }
  const section = SECTIONS[SECTIONS.indexOf(block.section) + step];
  if (!section || section === "outro") return false;
  block.section = section;
  return true;
}

/** Move a block before another one (null: to the end of the section).
 *  @param {Block[]} blocks @param {string} key @param {string} section @param {string | null} before */
export function moveTo(blocks, key, section, before) {
  if (key === before) return;
  const [block] = blocks.splice(blocks.findIndex((each) => each.key === key), 1);
  block.section = section;
  let at = blocks.findIndex((each) => each.key === before);
  if (at < 0) at = blocks.findLastIndex((each) => SECTIONS.indexOf(each.section) <= SECTIONS.indexOf(section)) + 1;
  blocks.splice(at, 0, block);
}

/** Intro, main and outro in this order; the order within each stays.
 *  @param {Block[]} blocks */
export function inSections(blocks) {
  const place = (block) => SECTIONS.indexOf(block.section ?? "main");
  return [...blocks].sort((one, other) => place(one) - place(other));
}

/* Right answers: the ids of options once all have one, their indexes until then */

/** The keys of the right options, in the order of the options.
 *  @param {Block} block @returns {string[]} */
export function correctKeys(block) {
  const options = block.options ?? [];
  const ids = block.correct_answer_ids ?? [];
  const places = block.correct_answer_indexes ?? [block.correct_answer_index];
  const isRight = (option, n) => (ids.length ? ids.includes(option.id) : places.includes(n));
  return options.filter(isRight).map((option) => option.key);
}

/** The one right option, or the first of several.
 *  @param {Block} block */
export function correctKey(block) {
  return correctKeys(block)[0] ?? null;
}

/** @param {Block} block @param {string | string[] | null} keys */
export function markCorrect(block, keys) {
  const options = block.options ?? [];
  const places = placesOf(options, [keys].flat());
  const ids = places.flatMap((n) => options[n].id ?? []);
  block.correct_answer_ids = ids.length && ids.length === places.length ? ids : null;
  setPlaces(block, places);
}

/** @param {BlockOption[] | null} options @param {(string | null)[]} keys */
function placesOf(options, keys) {
  return (options ?? []).flatMap((option, n) => (keys.includes(option.key) ? [n] : []));
}

function setPlaces(block, places) {
  block.correct_answer_index = places[0] ?? null;
  block.correct_answer_indexes = places.length ? places : null;
}

/** Change the options of a block while its right answers stay the same options.
 *  @param {Block} block @param {(options: BlockOption[]) => BlockOption[] | void} fn */
export function changeOptions(block, fn) {
  const right = correctKeys(block);
  block.options = fn(block.options ?? []) ?? block.options;
  if (!block.options?.length) block.options = null;
  markCorrect(block, right);
}

/* Scales */

/** @param {Block} block */
export function pointsOf(block) {
  const { points } = RANGES[block.type];
  const low = block.min ?? points[0];
  const high = block.max ?? points[1];
  const count = Math.min(Math.max(high - low + 1, 0), 21);
  return Array.from({ length: count }, (_, n) => low + n);
}

/** Change one scale point's option. A scale has options for all points, or none if no point has anything.
 *  @param {Block} block @param {number} point @param {(option: BlockOption) => void} fn */
export function changePoint(block, point, fn) {
  changePoints(block, (option) => { if (option.value === String(point)) fn(option); });
}

/** @param {Block} block @param {(option: BlockOption) => void} fn */
function changePoints(block, fn) {
  const isGraded = correctKey(block) !== null;
  changeOptions(block, () => {
    const all = optionsOfPoints(block);
    all.forEach(fn);
    return isGraded || all.some(hasContent) ? all : [];
  });
}

/** Make one scale point the right answer, also where no point has words yet; null: none.
 *  @param {Block} block @param {number | null} point */
export function markPoint(block, point) {
  block.options = optionsOfPoints(block);
  markCorrect(block, block.options.find((option) => option.value === String(point))?.key ?? null);
  fitPoints(block);
}

/** @param {Block} block */
function optionsOfPoints(block) {
  const byValue = new Map((block.options ?? []).map((option) => [option.value, option]));
  return pointsOf(block).map((value) => byValue.get(String(value)) ?? withKey({ value: String(value) }));
}

/** After the range has changed: an option for each point, if there are any.
 *  @param {Block} block */
export function fitPoints(block) {
  if (block.options?.length) changePoints(block, () => {});
}

/** @param {BlockOption} option */
function hasContent(option) {
  return Boolean(option.label || option.emoji || Object.keys(option.score_values ?? {}).length);
}

/* What goes to the server */

/** The blocks as the interface reads them. Ids that the script no longer has are left out: those blocks are new.
 *  @param {Block[]} blocks @param {Known} known */
export function toWire(blocks, known) {
  return blocks.map(({ position: _, ...block }) => {
    const sent = { ...block, id: known.blocks.has(block.id) ? block.id : null };
    if (block.show_when || block.hide_when) sent.precondition = null; // it follows from the condition
    sent.options = sentOptions(block, known);
    if (!block.correct_answer_ids?.every((id) => known.options.has(id))) {
      sent.correct_answer_ids = null;
      setPlaces(sent, placesOf(sent.options, correctKeys(block)));
    }
    return sent;
  });
}

/** The options without those that nobody has filled in yet.
 *  @param {Block} block */
function sentOptions(block, known) {
  const options = (block.options ?? [])
    .map(({ display_order: _, ...option }) => ({ ...option, id: known.options.has(option.id) ? option.id : null }))
    .filter((option) => option.id || option.value.trim() || option.label);
  return options.length ? options : null;
}

/** The ids of a script as it is stored.
 *  @param {(Block | StoredBlock)[]} blocks @returns {Known} */
export function idsOf(blocks) {
  return {
    blocks: new Set(blocks.map((block) => block.id).filter(Boolean)),
    options: new Set(blocks.flatMap((block) => block.options ?? []).map((option) => option.id).filter(Boolean)),
  };
}

/** A text without white space and invisible characters: the server strips it, and stores it in NFC. */
function bare(text) {
  return (text ?? "").normalize("NFC").replace(/[\s\p{Cc}\p{Cf}]/gu, "");
}

/** The blocks of a stored script with the keys under which they were sent; null if it is not what was sent.
 *  What is sent with an id keeps it, and the others got theirs at their places.
 *  @param {Block[]} sent @param {StoredBlock[]} stored */
export function storedAs(sent, stored) {
  const own = (blocks) => blocks.filter((block) => block.section !== "outro");
  const [mine, theirs] = [own(sent), own(stored)];
  const isSame = ({ id, type, prompt }, other) => (!id || id === other.id) && type === other.type
    && bare(prompt) === bare(other.prompt);
  if (mine.length !== theirs.length || !mine.every((block, n) => isSame(block, theirs[n]))) return null;
  const keyed = theirs.map((block, n) => ({
    ...block, key: mine[n].key,
    options: block.options?.map((option, m) => ({ ...option, key: mine[n].options?.[m]?.key })) ?? null,
  }));
  return withKeys([...keyed, ...stored.filter((block) => block.section === "outro")]);
}

/* Changing the type of a block */

const SHARED = ["id", "key", "name", "section", ...PRESENTATION, "precondition", "show_when", "hide_when"];
const OF_CHOICES = ["answer_style", "correct_answer_ids", "correct_answer_index", "correct_answer_indexes",
  "when_correct", "when_incorrect"];
const ALIKE = [["single_punch", "multi_punch", "ranking"], ["rating", "opinion_scale", "nps"],
  ["open_text", "open_numeric"]];

/** The types into which a block can change while most of it stays.
 *  @param {string} type */
export function typesLike(type) {
  return ALIKE.find((types) => types.includes(type)) ?? [type];
}

/** Make it a block of another type. What that type does not have is lost; one step back brings it again.
 *  @param {Block} block @param {string} type */
export function changeType(block, type) {
  const kept = Object.fromEntries(SHARED.map((field) => [field, block[field] ?? null]));
  const isChoice = (each) => ["single_punch", "multi_punch"].includes(each);
  if (isChoice(type) && isChoice(block.type)) {
    for (const field of OF_CHOICES) kept[field] = block[field];
  }
  if (typesLike("ranking").includes(type)) {
    Object.assign(kept, { options: block.options, randomize_options: block.randomize_options });
  }
  Object.assign(block, EMPTY, TYPES[type].start(), kept, { type, required: block.required });
  const lost = { is_exclusive: type !== "multi_punch", is_other: !isChoice(type) };
  for (const [field] of Object.entries(lost).filter(([, isLost]) => isLost)) {
    for (const option of block.options ?? []) if (option[field]) option[field] = null;
  }
  if (type !== "multi_punch" && correctKeys(block).length > 1) markCorrect(block, correctKey(block));
}
