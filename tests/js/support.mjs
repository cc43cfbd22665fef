/* What the tests of the editor's modules share. Node 18 has no `crypto` by itself. */

import { readFileSync } from "node:fs";
import { webcrypto } from "node:crypto";

globalThis.crypto ??= webcrypto;

const { createStore } = await import("../../surveys/static/surveys/editor/store.js");

/** The cases that the engine is held to as well, by `tests/engine/test_editor_cases.py`. */
export const CASES = JSON.parse(readFileSync(new URL("cases.json", import.meta.url), "utf8"));

/** A block with an id and with a prompt that names nothing. */
export function block(id, fields = {}) {
  return { id, key: `b${id}`, type: "open_text", name: `block_${id}`, section: "main", prompt: "?", ...fields };
}

export function option(id, value) {
  return { id, key: `o${id}`, value };
}

/** A store of a script that nobody has changed. */
export function storeOf(blocks, state = {}) {
  return createStore({ script: { blocks }, revision: 1, ...state });
}
