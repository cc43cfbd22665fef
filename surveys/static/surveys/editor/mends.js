/* Corrections by one press, beside the finding: if a name like q3 is both a position and the name of another block,
   that block gets another name, and its references change with it.

     findingLine.append(...mendsOf(issue, { store, key, announce }))     buttons, if there are any */

import { freeName, isAutomaticName, title, wordsOf } from "./document.js";
import { h } from "./dom.js";
import { calledOf } from "./reach.js";
import { carryName, nameInstead } from "./renaming.js";

const POSITION = /q[0-9]+/; // a message is about its first name
const AFTER = new Set(["when_correct", "when_incorrect"]);

/** @param {Issue} issue @param {{ store: Store, key: string, announce?: Announce }} options */
export function mendsOf(issue, { store, key, announce }) {
  if (issue.code !== "ambiguous_name" || !store.mayEdit || store.isLive) return [];
  const [name = ""] = POSITION.exec(issue.message) ?? [];
  const own = store.blocks.filter((block) => block.section !== "outro");
  const named = own.find((block) => title(block.name ?? "") === title(name));
  if (!named) return [];
  const field = issue.path.split(/[.[]/)[0];
  const at = store.indexOf(key);
  const canMean = (block) => block && store.indexOf(block.key) < at + (AFTER.has(field) ? 1 : 0);
  const byPosition = own[Number(name.slice(1)) - 1];
  return [byPosition, named].filter(canMean).map((block) => {
    const words = `I mean block ${store.indexOf(block.key) + 1}, “${calledOf(store, block, 40)}”`;
    const act = () => mend(store, { key, field, name, named: named.key, isNamed: block === named, announce });
    return h("button", { type: "button", class: "ed-link mend", onclick: act }, words);
  });
}

/** Rename the block that is called like a position. If the text meant that block, it uses the new name.
 *  @param {Store} store */
function mend(store, { key, field, name, named, isNamed, announce }) {
  let after = null;
  store.change((blocks) => {
    const block = /** @type {Block} */ (blocks.find((each) => each.key === named));
    const others = blocks.filter((each) => each !== block);
    const before = block.name;
    after = freeName(others, wordsOf(block.prompt), blocks.indexOf(block) + 1);
    block.name = after;
    carryName(blocks, before, after);
    const own = blocks.find((each) => each.key === key);
    if (isNamed && own) nameInstead(own, field, name, after);
  }, "Rename the block");
  announce?.(`Block ${store.indexOf(named) + 1} is called ${after} now.`);
}

/** A new block without a chosen name gets a name from its prompt, once it has one.
 *  @param {Store} store @param {string} key */
export function nameByWords(store, key) {
  const block = store.block(key);
  const words = wordsOf(block?.prompt ?? "");
  if (!block || !words || block.id || !isAutomaticName(block.name)) return;
  store.change((blocks) => {
    const own = /** @type {Block} */ (blocks.find((each) => each.key === key));
    const before = own.name;
    own.name = freeName(blocks.filter((each) => each !== own), words);
    if (before) carryName(blocks, before, own.name);
  }, "Write the text", { merge: `${key}:prompt` });
}
