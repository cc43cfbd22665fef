/* Stores the draft: on the server half a second after the last change, on this computer while the server cannot be
   reached. `keeping.status` says which:

     clean        nothing to store: the script is unchanged
     waiting      changed, not sent yet          sending      on its way
     kept         the server has everything      disconnected kept on this computer; tries again by itself
     signed_out   the session has ended          newer        another tab or computer has stored a later version, or has
                                                              saved or discarded the draft (`keeping.elsewhere`)
     refused      the server refuses it (`keeping.message`)
     saving       the script is being saved      saved        it has just been saved */

import { Disconnected, readState, SignedOut } from "./api.js";
import { afterPause } from "./dom.js";
import { storedAs, toWire, withRoom } from "./document.js";

const PAUSE = 500;
const RETRIES = [1_000, 2_000, 4_000, 8_000, 15_000];

/** @param {Store} store @param {Send} request @param {PageState} state
 *  @param {{ storage?: Storage | null }} [options] */
export function createKeeping(store, request, state, { storage = safeStorage() } = {}) {
  return new Keeping(store, request, state, storage);
}

class Keeping {
  #store; #request; #storage; #name;
  /** @type {Block[] | null} */ #kept; // the blocks that the server has, as they are shown
  /** @type {string | null} */
  #unanswered = null; // the last request without an answer; the server may have processed it
  // a save or a discard without an answer; the server may have processed it
  /** @type {{ isSave: boolean, blocks: Block[], wire: Block[] } | null} */
  #unsettled = null;
  #failures = 0;
  #isSaving = false;
  #retry = 0;
  #running = null;
  #later = afterPause(() => this.flush(), PAUSE);

  /** @param {Store} store @param {Send} request @param {PageState} state @param {Storage | null} storage */
  constructor(store, request, state, storage) {
    this.#store = store;
    this.#request = request;
    this.#storage = storage;
    this.#name = `colloquy.script.${state.user_id ?? "me"}.${store.project.id}`;
    this.#kept = store.blocks;
    this.version = state.draft?.version ?? null;
    this.#beginFrom(state.draft?.revision ?? store.revision);
    this.savedAt = state.draft?.saved_at ? new Date(state.draft.saved_at) : null;
    this.status = state.draft ? "kept" : "clean";
    this.message = "";
    this.local = this.#readLocal();
    store.subscribe((what) => { if (what === "blocks") this.#changed(); });
    addEventListener("online", () => this.#again());
    addEventListener("focus", () => { if (this.status === "signed_out") this.#again(); });
    addEventListener("pagehide", () => this.#leave());
    document.addEventListener("visibilitychange", () => { if (document.hidden) this.#leave(); });
    addEventListener("beforeunload", (event) => { if (this.#isAtRisk()) event.preventDefault(); });
  }

  get hasDraft() {
    return this.version !== null || this.#kept !== this.#store.blocks;
  }

  get isBehind() {
    return this.#kept !== this.#store.blocks;
  }

  /** Remember the script on which the draft is based: its revision, and its fingerprint if it is known. */
  #beginFrom(revision, fingerprint = revision === this.#store.revision ? this.#store.fingerprint : null) {
    this.base = revision;
    this.fingerprint = fingerprint;
  }

  #set(status, message = "") {
    this.status = status;
    this.message = message;
    this.#store.notify("status");
  }

  #changed() {
    if (!this.isBehind) return;
    if (["newer", "saving"].includes(this.status)) return;
    if (["disconnected", "signed_out"].includes(this.status)) this.#writeLocal();
    else if (this.status !== "waiting") this.#set("waiting");
    this.#later();
  }

  /** Send the changes now. Returns whether the server has everything. */
  async flush() {
    this.#later.cancel();
    clearTimeout(this.#retry);
    while (this.#running) await this.#running;
    if (this.status === "newer") return !this.isBehind;
    return this.#run(() => this.#send());
  }

  /** One request after the other. */
  async #run(act) {
    this.#running = act();
    try {
      return await this.#running;
    } finally {
      this.#running = null;
    }
  }

  async #send() {
    if (this.#unsettled && !(await this.#learn())) return false;
    if (this.isBehind) return this.#put();
    if (["disconnected", "signed_out", "refused"].includes(this.status)) {
      this.#set(this.version === null ? "clean" : "kept");
    }
    return true;
  }

  async #put() {
    const sent = this.#store.blocks;
    if (!["disconnected", "signed_out"].includes(this.status)) this.#set("sending");
    const wire = toWire(sent, this.#store.known);
    const body = { blocks: wire, revision: this.base, version: this.version, fingerprint: this.fingerprint };
    let answer;
    try {
      answer = await this.#request("PUT", this.#store.urls.draft ?? "draft/", body);
    } catch (error) {
      this.#unanswered = JSON.stringify(wire);
      return this.#failed(error);
    }
    if (answer.status === 409 && this.#isOwn(answer.data?.draft, wire)) {
      this.version = answer.data.draft.version;
      return this.#put();
    }
    if (answer.status !== 200) return this.#notTaken(answer);
    this.#unanswered = null;
    this.#failures = 0;
    this.#kept = sent;
    this.version = answer.data.version;
    this.savedAt = new Date(answer.data.saved_at);
    this.#clearLocal();
    this.#store.receiveCheck(answer.data.check, wire);
    this.#set(this.isBehind ? "waiting" : "kept");
    if (this.isBehind) this.#later();
    return !this.isBehind;
  }

  /** Whether the draft on the server is what this page sent: its answer was lost on the way. */
  #isOwn(draft, wire) {
    if (!draft || draft.version === this.version) return false;
    const theirs = JSON.stringify(draft.blocks);
    return theirs === this.#unanswered || theirs === JSON.stringify(wire);
  }

  #failed(error) {
    if (!(error instanceof SignedOut) && !(error instanceof Disconnected)) throw error;
    if (this.isBehind) this.#writeLocal();
    if (error instanceof SignedOut) {
      this.#set("signed_out");
    } else {
      const wait = RETRIES[Math.min(this.#failures, RETRIES.length - 1)];
      this.#failures += 1;
      this.#retry = setTimeout(() => this.flush(), wait);
      this.#set("disconnected");
    }
    return false;
  }

  #notTaken({ status, data }) {
    if (this.isBehind) this.#writeLocal();
    if (status === 409) {
      this.elsewhere = this.#happened(data ?? {});
      this.#set("newer", data?.message ?? "");
    } else {
      this.violations = data?.violations ?? [];
      this.#set("refused", data?.message ?? "The server did not take this draft.");
    }
    return false;
  }

  /** The action of another tab, derived from the draft and the script that the server has now. */
  #happened({ draft, revision = 0 }) {
    if (draft) return draft.revision > this.base ? "saved_and_kept" : "kept";
    return revision > this.base ? "saved" : "discarded";
  }

  #again() {
    if (["disconnected", "signed_out", "refused"].includes(this.status)) this.flush();
  }

  /** Try at once. */
  retry() {
    return this.flush();
  }

  /** Another tab has a later version: take it, or put this one over it. */
  async settle(takeTheirs) {
    let other;
    try {
      other = await this.#current(); // the other tab may have stored it again since
    } catch (error) {
      this.#failed(error);
      return;
    }
    if (!other) return;
    this.version = other.version ?? null;
    if (takeTheirs) {
      this.#take(other);
    } else { // our draft keeps the script on which it is based
      this.status = "waiting";
      this.#kept = null;
      await this.flush();
    }
  }

  #take(other) {
    if (other.revision > this.#store.revision) { // this page does not know all of its blocks
      this.#kept = this.#store.blocks;
      this.#clearLocal();
      location.reload();
      return;
    }
    this.status = "waiting";
    this.#beginFrom(other.revision);
    this.#store.replace(withRoom(other.blocks), "Take the other version");
    this.#kept = this.#store.blocks;
    this.savedAt = other.saved_at ? new Date(other.saved_at) : null;
    this.#clearLocal();
    this.#set(this.version === null ? "clean" : "kept");
  }

  /** The draft that the server has now, or the script if there is none. */
  async #current() {
    const state = await readState(location.pathname);
    return state && (state.draft ?? { blocks: state.script.blocks, version: null, revision: state.revision });
  }

  /** Save the script, unless a save is running. Returns `{status, data}` of a refusal, or null after a success. */
  async save() {
    if (this.#isSaving) return { status: 0, data: null }; // the second would find the draft gone
    this.#isSaving = true;
    try {
      return await this.#save();
    } finally {
      this.#isSaving = false;
    }
  }

  async #save() {
    if (!(await this.flush())) return { status: 0, data: null };
    if (this.version === null) return null; // an earlier save had happened: only its answer was lost
    this.#set("saving");
    const sent = this.#store.blocks;
    const wire = toWire(sent, this.#store.known);
    let answer;
    try {
      answer = await this.#request("POST", this.#store.urls.save ?? "save/", { version: this.version });
    } catch (error) {
      this.#unsettled = { isSave: true, blocks: sent, wire };
      this.#failed(error);
      return { status: 0, data: null };
    }
    if (answer.status === 409 && "draft" in (answer.data ?? {})) {
      this.#notTaken(answer);
      return { status: 0, data: null };
    }
    if (answer.status !== 200) {
      this.#set("kept");
      this.#changed();
      return answer;
    }
    this.#becomeSaved(answer.data, sent, wire);
    return null;
  }

  #becomeSaved(data, sent, wire) {
    const isAll = this.#store.blocks === sent; // text typed meanwhile is the next draft
    this.#store.adopt(data, sent, wire);
    this.#becomeClean("saved", isAll);
  }

  /** Find out whether the server has processed a save or discard without an answer. False after a failure. */
  async #learn() {
    let state;
    try {
      state = await readState(location.pathname);
    } catch (error) {
      return this.#failed(error);
    }
    if (!state) return this.#notTaken({ status: 404, data: null });
    if (!this.#unsettled) return true;
    const { isSave, blocks, wire } = this.#unsettled;
    const { draft } = state;
    const isAll = this.#store.blocks === blocks;
    this.#unsettled = null;
    this.#failures = 0;
    if (draft && (draft.version === this.version || this.#isOwn(draft, wire))) { // it has not
      this.version = draft.version;
      this.#set("kept");
      return true;
    }
    if (!draft && !isSave) {
      if (isAll) this.#becomeDiscarded();
      else this.version = null; // text typed since is the next draft
      return true;
    }
    const stored = draft ? null : this.#storedAs(wire, state, isAll);
    if (!stored) return this.#notTaken({ status: 409, data: { draft, revision: state.revision } });
    this.#becomeSaved({ ...state, script: { blocks: stored } }, blocks, wire);
    return true;
  }

  /** The stored blocks if they are those that were sent. If more was typed since, nobody else may have saved since. */
  #storedAs(wire, { script, revision }, isAll) {
    const { revision: before } = this.#store;
    return revision === before + 1 || (isAll && revision > before) ? storedAs(wire, script.blocks) : null;
  }

  /** Base the draft on a later revision of the script; the next flush sends the revision. */
  rebase(revision) {
    this.#beginFrom(revision, null);
    this.#kept = null;
  }

  /** Scoring was turned on. The draft changes only if there is more to store. */
  takeScoring(data) {
    const { isBehind } = this;
    this.#store.takeScoring(data);
    if (!isBehind) this.#kept = this.#store.blocks;
    if (this.version === null) this.#beginFrom(this.#store.revision);
    this.#later.cancel();
    if (isBehind) this.#changed();
    else this.#set(this.version === null ? "clean" : "kept");
  }

  /** The server has refused a request for a reason that is not about a field. */
  refuse(message) {
    this.#set("refused", message);
  }

  /** Discard the draft, and show the saved script again. This can be undone. */
  async discard() {
    this.#later.cancel();
    while (this.#running) await this.#running;
    return this.#run(async () => {
      if (this.#unsettled) {
        if (!(await this.#learn())) return false;
        if (this.version === null && !this.isBehind) return true; // there is no draft to discard
      }
      return this.#delete();
    });
  }

  async #delete() {
    const { blocks, known, urls } = this.#store;
    const wire = toWire(blocks, known);
    let answer;
    try {
      answer = await this.#request("DELETE", urls.draft ?? "draft/", { version: this.version });
    } catch (error) {
      this.#unsettled = { isSave: false, blocks, wire };
      return this.#failed(error);
    }
    if (answer.status === 409 && this.#isOwn(answer.data?.draft, wire)) {
      this.version = answer.data.draft.version;
      return this.#delete();
    }
    if (answer.status !== 204) return this.#notTaken(answer);
    this.#becomeDiscarded();
    return true;
  }

  #becomeDiscarded() {
    this.#unsettled = null;
    this.status = "saving"; // the blocks shown now are saved already
    this.#store.replace(this.#store.baseline, "Discard changes");
    this.#becomeClean("clean");
  }

  #becomeClean(status, isAll = true) {
    this.#kept = isAll ? this.#store.blocks : null;
    this.version = null;
    this.#beginFrom(this.#store.revision);
    this.savedAt = null;
    this.#clearLocal();
    this.#set(status);
    if (this.isBehind) this.#changed();
  }

  /* The copy on this computer */

  /** Use the copy that an earlier visit stored on this computer, or delete it. */
  useLocal(isWanted) {
    const { local } = this;
    this.local = null;
    if (!isWanted || !local) {
      this.#clearLocal();
      return;
    }
    this.#beginFrom(local.revision, local.fingerprint ?? null); // the script may have been saved by somebody else since
    this.#unanswered = JSON.stringify(toWire(local.blocks, this.#store.known));
    this.#store.replace(withRoom(local.blocks), "Take the changes kept on this computer");
  }

  #readLocal() {
    try {
      return JSON.parse(this.#storage?.getItem(this.#name) ?? "null");
    } catch {
      return null;
    }
  }

  #writeLocal() {
    const copy = {
      blocks: this.#store.blocks, version: this.version, revision: this.base, fingerprint: this.fingerprint,
      at: new Date().toISOString(),
    };
    try {
      if (!this.#storage) return false;
      this.#storage.setItem(this.#name, JSON.stringify(copy));
      return true;
    } catch { // none, or it is full
      return false;
    }
  }

  #clearLocal() {
    if (this.local) return; // the person has not decided yet
    try {
      this.#storage?.removeItem(this.#name);
    } catch { /* there is none */ }
  }

  #leave() {
    if (this.isBehind && !["newer"].includes(this.status)) this.#writeLocal();
  }

  /** Whether changes would be lost if the page closed, because neither server nor computer has stored them. */
  #isAtRisk() {
    return this.isBehind && !this.#writeLocal();
  }
}

function safeStorage() {
  try {
    return localStorage;
  } catch { // switched off
    return null;
  }
}
