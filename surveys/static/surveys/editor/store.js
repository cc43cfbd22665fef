/* The edited document: its blocks, the selected block, the findings of the last check, and the steps to undo.

     store.blocks, store.selected (a key), store.check, store.project, store.vocabulary, store.urls
     store.block(key)                    a block, or undefined. Blocks are frozen by convention: change() copies
     store.change(fn, label, {merge})    fn mutates a copy of the list of blocks; one step to undo
     store.changeBlock(key, fn, label, {merge})   the same for one block, without copying the others
     What fn writes is copied too: a view that goes on changing its own objects does not change the script.
     store.undo(), store.redo()
     store.select(key, {focus})          focus: the path of a field that should get the focus
     store.violationsOf(key, field)      faults and warnings of a field and of what is inside it
     store.issues()                      all of them, in the order of the script
     store.gone(name)                    a block that is no longer in the script, as it was
     store.subscribe(fn)                 fn(what): "blocks", "selection", "check", "status" or "focus"
     store.fresh                         a block just added: its empty fields are no faults until the author leaves it

   Unchanged blocks stay the same objects, so views compare identities to find the blocks to draw again. */

import {
  copyOf, idsOf, inSections, moveBy, moveTo, newBlock, placeAfter, title, withKeys, withRoom,
} from "./document.js";
import { calledOf } from "./reach.js";
import { MAX_BLOCKS, mayArchive, typeName } from "./types.js";

const MAX_STEPS = 500;
const UNFINISHED = new Set(["blank", "required", "too_few"]); // findings about empty fields
const MERGE_FOR = 1_500; // milliseconds in which typing in one field stays one step

/** @param {PageState} state */
export function createStore(state) {
  return new Store(state);
}

/** What undo goes back to.
 *  @typedef {{ blocks: Block[], selected: string | null, label: string, merge: string | null, at: number }} Step */

class Store {
  #listeners = new Set();
  /** @type {Step[]} */ #past = [];
  /** @type {Step[]} */ #future = [];
  /** @type {Issue[]} */ #issues = [];
  /** @type {Map<string | null, Issue[]>} */ #issuesOf = new Map(); // the same by block, asked for every card
  /** @type {Map<string | null, Block>} */ #byKey = new Map();
  #serialized = new WeakMap();

  /** @param {PageState} state */
  constructor(state) {
    this.project = state.project ?? {};
    this.vocabulary = state.vocabulary ?? {};
    /** @type {Record<string, string>} */ this.urls = state.urls ?? {};
    this.isLive = Boolean(state.is_live);
    this.mayEdit = state.may_edit !== false;
    this.hasModel = state.has_model !== false;
    this.answered = new Set(state.answered); // the ids of blocks that have answers
    this.baseline = withKeys(state.script?.blocks ?? []);
    this.revision = state.revision;
    this.fingerprint = state.fingerprint ?? null;
    this.archived = state.archived ?? 0;
    this.known = idsOf(this.baseline);
    this.blocks = inSections(state.draft ? withRoom(state.draft.blocks) : this.baseline);
    /** @type {string | null} */
    this.selected = ownBlocks(this.blocks)[0]?.key ?? null; // an empty script opens with the ways to begin
    /** @type {string | null} */ this.wanted = null;
    /** @type {string | null} */ this.fresh = null;
    /** @type {Map<string, BlockMark>} */ this.marks = new Map();
    this.#index();
    this.receiveCheck(state.check ?? {}, this.blocks);
  }

  /** @param {(what: string, store: Store) => void} fn */
  subscribe(fn) {
    this.#listeners.add(fn);
    return () => this.#listeners.delete(fn);
  }

  notify(what) {
    for (const fn of this.#listeners) fn(what, this);
  }

  /** @param {string | null} key @returns {Block | undefined} */
  block(key) {
    return this.#byKey.get(key);
  }

  /** @param {string | null} key */
  indexOf(key) {
    return this.blocks.findIndex((block) => block.key === key);
  }

  get scoring() {
    return this.project.scoring?.enabled ?? this.project.scoring_enabled ?? false;
  }

  /** The buckets with their keys. Before the first write without any, points go to one called Score
   *  (rules 5.2 to 5.4). */
  get buckets() {
    const declared = this.vocabulary.buckets?.length ? this.vocabulary.buckets : this.project.scoring?.buckets ?? [];
    const buckets = declared.length ? declared : [{ name: "Score" }];
    return buckets.map((bucket) => ({
      name: bucket.name, key: bucket.key ?? bucket.name.toLowerCase().replaceAll(" ", "_").normalize("NFC"),
    }));
  }

  /* Changes */

  /** @param {(blocks: Block[]) => Block[] | void} fn @param {string} label
   *  @param {{ merge?: string | null, select?: string | null }} [options] */
  change(fn, label, { merge = null, select = undefined } = {}) {
    const draft = structuredClone(this.blocks);
    const replaced = fn(draft) ?? draft;
    const own = structuredClone(Array.isArray(replaced) ? replaced : draft);
    const blocks = inSections(withKeys(own)).map((block) => this.#sameOr(block));
    return this.#take(blocks, label, merge, select);
  }

  /** @param {string} key @param {(block: Block) => void} fn @param {string} label
   *  @param {{ merge?: string | null }} [options] */
  changeBlock(key, fn, label, { merge = null } = {}) {
    const before = this.block(key);
    if (!before || !this.mayEdit) return false;
    const copy = structuredClone(before);
    fn(copy);
    const [after] = withKeys([structuredClone(copy)]);
    if (this.#sameOr(after) === before) return false;
    return this.#take(this.blocks.map((block) => (block === before ? after : block)), label, merge);
  }

  /** @param {Block[]} blocks @param {string} label @param {string | null} merge @param {string | null} [select] */
  #take(blocks, label, merge, select) {
    if (!this.mayEdit) return false;
    const isSame = blocks.length === this.blocks.length && blocks.every((block, n) => block === this.blocks[n]);
    if (isSame) return false;
    const last = this.#past.at(-1);
    const now = performance.now();
    const isMerged = merge !== null && last?.merge === merge && now - last.at < MERGE_FOR && !this.#future.length;
    if (last && isMerged) last.at = now;
    else this.#past.push({ blocks: this.blocks, selected: this.selected, label, merge, at: now });
    if (this.#past.length > MAX_STEPS) this.#past.shift();
    this.#future = [];
    this.#show(blocks, select === undefined ? this.selected : select);
    return true;
  }

  /** @param {Block[]} blocks @param {string | null} selected */
  #show(blocks, selected) {
    const at = this.indexOf(this.selected);
    this.blocks = blocks;
    this.#index();
    const before = this.selected;
    const own = ownBlocks(blocks);
    const near = own[Math.min(Math.max(at, 0), own.length - 1)]?.key ?? null;
    this.selected = this.#byKey.has(selected) ? selected : near;
    this.notify("blocks");
    if (this.selected !== before) this.#selectionChanged();
  }

  #selectionChanged() {
    if (this.fresh !== null && this.fresh !== this.selected) this.settle();
    this.notify("selection");
  }

  /** From now on the new block's empty fields are faults, as in any other block. */
  settle() {
    if (this.fresh === null) return;
    this.fresh = null;
    this.notify("check");
  }

  #index() {
    this.#byKey = new Map(this.blocks.map((block) => [block.key, block]));
  }

  /** The block as it was, if the copy says the same.
   *  @param {Block} block */
  #sameOr(block) {
    const before = this.#byKey.get(block.key);
    return before && this.#text(before) === JSON.stringify(block) ? before : block;
  }

  /** @param {Block} block */
  #text(block) {
    if (!this.#serialized.has(block)) this.#serialized.set(block, JSON.stringify(block));
    return this.#serialized.get(block);
  }

  get canUndo() { return this.#past.length > 0; }
  get canRedo() { return this.#future.length > 0; }

  /** Go one step back; answers what was undone, in words. */
  undo() { return this.#travel(this.#past, this.#future); }
  redo() { return this.#travel(this.#future, this.#past); }

  #travel(from, to) {
    const step = from.pop();
    if (!step) return null;
    to.push({ ...step, blocks: this.blocks, selected: this.selected, merge: null });
    this.#show(step.blocks, this.#changedIn(step) ?? step.selected);
    return step.label;
  }

  /** The block that a step changed, which is then selected. */
  #changedIn(step) {
    const now = new Set(this.blocks);
    return step.blocks.find((block) => !now.has(block))?.key ?? null;
  }

  /* Blocks as wholes */

  /** @param {string} type */
  add(type) {
    if (this.blocks.length >= MAX_BLOCKS) return null;
    const block = newBlock(type, this.blocks);
    this.change((blocks) => {
      const { at, section } = placeAfter(blocks, this.selected);
      blocks.splice(at, 0, { ...block, section });
    }, `Add ${typeName(block).toLowerCase()}`, { select: block.key });
    this.fresh = block.key;
    return block.key;
  }

  /** @param {string} key */
  duplicate(key) {
    const original = this.block(key);
    if (!original || original.section === "outro") return null;
    const copy = copyOf(original, this.blocks);
    this.change((blocks) => {
      blocks.splice(this.indexOf(key) + 1, 0, copy);
    }, "Duplicate block", { select: copy.key });
    return copy.key;
  }

  /** @param {string} key */
  remove(key) {
    const block = this.block(key);
    if (!mayArchive(this, block)) return false;
    const rest = ownBlocks(this.blocks);
    const at = rest.indexOf(block);
    const near = (rest[at + 1] ?? rest[at - 1])?.key ?? null;
    return this.change((blocks) => blocks.filter((each) => each.key !== key), "Archive block", { select: near });
  }

  /** @param {string} key @param {number} step */
  move(key, step) {
    return this.change((blocks) => { moveBy(blocks, key, step); }, "Move block", { select: key });
  }

  /** @param {string} key @param {string} section @param {string | null} before */
  moveTo(key, section, before) {
    return this.change((blocks) => { moveTo(blocks, key, section, before); }, "Move block", { select: key });
  }

  /** Replace all blocks: by an import, a draft by AI, or another tab's version. One step to undo.
   *  @param {Block[]} blocks @param {string} label */
  replace(blocks, label) {
    return this.change(() => withKeys(blocks), label);
  }

  /* Selection */

  /** @param {string | null} key @param {{ focus?: string | null }} [options] */
  select(key, { focus = null } = {}) {
    if (!this.#byKey.has(key)) return;
    this.wanted = focus;
    if (key !== this.selected) {
      this.selected = key;
      this.#selectionChanged();
    }
    if (focus !== null) this.notify("focus");
  }

  /* Checks */

  /** Take the findings of a check of `sent`, whose indexes its fields name.
   *  @param {Partial<Check>} check @param {{ key?: string, options?: any[] | null }[]} sent */
  receiveCheck(check, sent) {
    /** @type {Check} */
    this.check = { violations: [], warnings: [], blocks: [], names: [], ...check };
    this.#issues = [
      ...this.check.violations.map((violation) => this.#reworded(located(violation, "fault", sent), sent)),
      ...this.check.warnings.map((warning) => located(warning, "warning", sent)),
    ];
    const order = new Map(sent.map((block, n) => [block.key, n]));
    const place = (issue) => order.get(issue.key) ?? -1;
    this.#issues.sort((one, other) => place(one) - place(other));
    this.#issuesOf = new Map();
    for (const issue of this.#issues) this.#issuesOf.set(issue.key, [...(this.#issuesOf.get(issue.key) ?? []), issue]);
    this.marks = new Map(this.check.blocks.map((block) => [block.key, block]));
    this.notify("check");
  }

  /** A fault about a removed block is shown at the row that names the block.
   *  @param {Issue} issue */
  #reworded(issue, sent) {
    if (issue.code !== "unknown_reference" && issue.code !== "in_use") return issue;
    const named = namesIn(sent.find((block) => block.key === issue.key), issue).find(({ name }) => this.gone(name));
    if (!named) return issue;
    const gone = /** @type {Block} */ (this.gone(named.name));
    const canUndo = this.#past.some((step) => step.blocks.includes(gone));
    const message = `“${calledOf(this, gone)}” was removed from the script. `
      + `Choose another question${canUndo ? ", or bring it back with Undo" : ""}.`;
    return { ...issue, path: named.path, message };
  }

  /** A block that is no longer in the script, as an earlier step or the stored script has it.
   *  @param {string} name */
  gone(name) {
    const isMeant = (block) => title(block.name ?? "") === title(name);
    if (this.blocks.some(isMeant)) return null;
    const steps = [this.baseline, ...this.#past.map((step) => step.blocks)];
    return steps.reverse().flat().find(isMeant) ?? null;
  }

  issues() {
    return this.#issues.filter((issue) => this.#counts(issue));
  }

  /** @param {Issue} issue */
  #counts(issue) {
    return this.fresh === null || issue.key !== this.fresh || !UNFINISHED.has(issue.code ?? "");
  }

  /** @param {string} key @param {string | null} [field] @returns {Issue[]} */
  violationsOf(key, field = null) {
    const found = this.#issuesOf.get(key) ?? [];
    return found.filter((issue) => this.#counts(issue) && (field === null || isWithin(issue.path, field)));
  }

  /** After a save: the script as stored is the new beginning, and new blocks have their ids, also in earlier steps.
   *  `shown` are the blocks that were saved, `sent` the same as they went to the server. */
  adopt({ script, revision, fingerprint, archived, check }, shown, sent) {
    const stored = script.blocks.map((block, n) => keyed(block, sent[n]));
    const ids = new Map(stored.flatMap((block) => [block, ...(block.options ?? [])])
      .map((each) => [each.key, each.id]));
    const identified = (blocks) => blocks.map((block) => this.#withIds(block, ids));
    for (const step of [...this.#past, ...this.#future]) step.blocks = identified(step.blocks);
    const isUnchanged = shown === this.blocks;
    this.baseline = stored;
    this.revision = revision;
    this.fingerprint = fingerprint;
    this.archived = archived ?? this.archived;
    this.known = idsOf(stored);
    this.#show(isUnchanged ? inSections(stored) : identified(this.blocks), this.selected);
    this.receiveCheck(check ?? {}, stored);
  }

  /** The stored script has become another one, with which the edited one was merged. There is no way back: an earlier
   *  step would quietly take back what somebody else has changed. */
  rebase(stored, revision, merged) {
    this.baseline = withKeys(stored);
    this.revision = revision;
    this.fingerprint = null; // the server knows the script that it has just sent
    this.known = idsOf(this.baseline);
    this.#past = [];
    this.#future = [];
    this.#show(inSections(withKeys(merged)).map((block) => this.#sameOr(block)), this.selected);
  }

  /** Scoring was turned on: the script is the same, and its options have the points again that they had before. */
  takeScoring({ project, vocabulary, script, revision, fingerprint }) {
    Object.assign(this, { project, vocabulary, revision, fingerprint, baseline: withKeys(script.blocks) });
    const points = new Map(script.blocks.flatMap((block) => block.options ?? [])
      .map((option) => [option.id, option.score_values]));
    const isBare = (option) => option.score_values === undefined && points.get(option.id);
    const withPoints = (option) => (isBare(option) ? { ...option, score_values: points.get(option.id) } : option);
    const scored = (block) => (block.options?.some(isBare)
      ? { ...block, options: block.options.map(withPoints) } : block);
    for (const step of [...this.#past, ...this.#future]) step.blocks = step.blocks.map(scored);
    this.#show(this.blocks.map(scored), this.selected);
    this.notify("selection"); // the form has other fields now
  }

  /** @param {Block} block */
  #withIds(block, ids) {
    const isNew = !block.id && ids.get(block.key);
    const hasNew = block.options?.some((option) => !option.id && ids.get(option.key));
    if (!isNew && !hasNew) return block;
    return {
      ...block, id: block.id ?? ids.get(block.key) ?? null,
      options: block.options?.map((option) => ({ ...option, id: option.id ?? ids.get(option.key) ?? null })) ?? null,
    };
  }
}

/** The blocks without the outro, which makes itself.
 *  @param {Block[]} blocks */
function ownBlocks(blocks) {
  return blocks.filter((block) => block.section !== "outro");
}

/** A stored block with the keys under which it was sent, so that what is focused stays where it is.
 *  @param {Block} block */
function keyed(block, sent) {
  const keyOf = (option, n) => option.key ?? sent?.options?.[n]?.key ?? `o${option.id}`;
  const options = block.options?.map((option, n) => ({ ...option, key: keyOf(option, n) }));
  return { ...block, key: block.key ?? sent?.key ?? `b${block.id}`, options: options ?? null };
}

/** A finding with the key of its block, and its field from there: `options.<key>.label` for one of an option. */
function located(finding, kind, sent) {
  const [, at, rest = ""] = /^(?:script\.)?blocks\[(\d+)\]\.?(.*)$/.exec(finding.field ?? "") ?? [];
  const block = at === undefined ? undefined : sent[Number(at)];
  const path = rest.replace(/^options\[(\d+)\]/, (whole, n) => `options.${block?.options?.[Number(n)]?.key ?? n}`);
  return { ...finding, kind, key: block?.key ?? null, path };
}

/** The names of blocks that a fault may be about, with the path of each: those in rows, or the words of a text.
 *  @param {any} block @param {Issue} issue */
function namesIn(block, { path, column }) {
  const [field] = path.split(".");
  const value = block?.[field];
  if (value && typeof value === "object") return leavesOf(value, field).filter((leaf) => isWithin(leaf.path, path));
  if (typeof value !== "string") return [];
  const names = field === "precondition" ? /([\p{L}][\p{L}\p{M}\p{Nd}_]*)/gu : /\[([^[\]|]+)(?:\|[^[\]]*)?\]/g;
  const found = [...value.slice((column ?? 1) - 1).matchAll(names)].map(([, name]) => ({ name, path }));
  return column ? found.slice(0, 1) : found;
}

/** @param {string} path */
function leavesOf(condition, path) {
  const within = (kind) => (condition[kind] ?? []).flatMap((part, n) => leavesOf(part, `${path}.${kind}[${n}]`));
  const own = typeof condition.block === "string" ? [{ name: condition.block, path: `${path}.block` }] : [];
  return [...own, ...within("all"), ...within("any")];
}

/** Whether the path of a finding is that of a field, or inside it.
 *  @param {string} path @param {string} field */
export function isWithin(path, field) {
  return path === field || path.startsWith(`${field}.`) || path.startsWith(`${field}[`);
}
