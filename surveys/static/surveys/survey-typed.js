/* Stores typed answers until the server has saved them: through a reload, a step back, a closed page, a crash of the
   tab, a lost connection.

   They are in localStorage, for a month at most, so that they outlive the closed browser. On anonymous projects they
   are in sessionStorage, which belongs to one tab and ends with it: another person at the same computer finds
   nothing in a new window, and answers are not on the disk for longer than the page is open. If storage is blocked,
   as in some frames of other sites, answers are stored only as long as the page is loaded. */

const typedText = (() => {
  "use strict";
  const PREFIX = `colloquy:${location.pathname}:`;
  const memory = new Map();
  const LONGEST = 30 * 24 * 3600 * 1000; // milliseconds
  let store = null;
  try {
    store = document.querySelector("main[data-keeps-drafts]") ? localStorage : sessionStorage;
  } catch { /* blocked */ }

  let step = null;
  let form = null;
  let name = ""; // the name of the current step's stored values
  let base = ""; // the values that the server has

  function parsed(text) {
    try { return JSON.parse(text ?? null); } catch { return null; }
  }

  function read(key) {
    return parsed(memory.get(key) ?? store?.getItem(key))?.values ?? null;
  }

  function write(key, values) {
    const text = JSON.stringify({ values, at: Date.now() });
    memory.delete(key);
    try {
      if (store) store.setItem(key, text);
      else memory.set(key, text);
    } catch { // full
      memory.set(key, text);
    }
  }

  function remove(key) {
    memory.delete(key);
    store?.removeItem(key);
  }

  const allNames = () => [...memory.keys(), ...Object.keys(store ?? {})].filter((key) => key.startsWith(PREFIX));

  Object.keys(store ?? {}).filter((key) => key.startsWith("colloquy:/")).forEach((key) => { // of any survey
    if (!(parsed(store?.getItem(key) ?? null)?.at > Date.now() - LONGEST)) store?.removeItem(key);
  });

  /* A name is `person.conversation:block`, the first two hashed */

  const ownerOf = (answer) => answer.dataset.owner ?? "";
  const nameOf = (owner, block) => `${PREFIX}${owner}:${block}`;
  const isOwnedBy = (key, owner) => key.startsWith(nameOf(owner, ""));
  const personOf = (key) => key.slice(PREFIX.length).split(/[.:]/)[0];

  /* The values of a form's controls, by name */

  const controls = () => [...form.elements].filter((each) => (
    each.name && each.name !== "leave_empty" && each.matches("input:not([type=hidden]), textarea, select")
    && !each.matches(":disabled")
  ));
  const isChoice = (each) => each.type === "radio" || each.type === "checkbox";

  function values() {
    const all = {};
    controls().forEach((each) => {
      all[each.name] ??= [];
      if (!isChoice(each) || each.checked) all[each.name].push(each.value);
    });
    return all;
  }

  function fill(all) {
    controls().forEach((each) => {
      const own = all[each.name];
      if (!Array.isArray(own)) return;
      if (isChoice(each)) each.checked = own.includes(each.value);
      else if (each.tagName !== "SELECT" || [...each.options].some((option) => option.value === own[0])) {
        each.value = own[0] ?? "";
      }
    });
  }

  /** Whether somebody answered before this script ran, or the browser has restored their input. */
  const isTouched = () => controls().some((each) => {
    if (isChoice(each)) return each.checked !== each.defaultChecked;
    if (each.tagName !== "SELECT") return each.value !== each.defaultValue;
    return each.value !== (each.querySelector("[selected]") ?? each.options[0])?.value;
  });

  function save() {
    if (!form || !name) return;
    const now = values();
    if (JSON.stringify(now) === base) remove(name);
    else write(name, now);
  }

  /** Set up a new step: restore unsent values in its controls. */
  function setUp(current) {
    const isFirst = !step;
    step = current;
    form = step.querySelector("#answer");
    if (!form) { // after the end, the next person at this screen finds nothing
      name = "";
      if (step.hasAttribute("data-is-over")) allNames().forEach(remove);
      return;
    }
    form.autocomplete = "off"; // a browser would restore it at another question
    if (!ownerOf(form)) { // a preview, which starts over with every change of the script
      name = "";
      return;
    }
    const further = Number(form.elements.follow_up?.value); // a further question about the answer to the same block
    name = nameOf(ownerOf(form), form.elements.block.value + (further ? `/${further}` : ""));
    allNames().filter((key) => ( // of somebody else, or of a conversation that this browser has left
      isFirst ? !isOwnedBy(key, ownerOf(form)) : personOf(key) !== personOf(name)
    )).forEach(remove);
    const wasTouched = isTouched();
    const now = JSON.stringify(values());
    const kept = read(name);
    if (!wasTouched) {
      base = now;
      if (kept) fill(kept);
    } else {
      base = "";
      save();
    }
    form.addEventListener("input", save);
    form.addEventListener("change", save);
  }

  /** Delete the values of the step `previous`, which the server has saved. Called when the next step is set up. */
  function settle(previous, does) {
    if (!previous || previous === name || does === "back") return;
    const kept = read(previous);
    remove(previous);
    const isTaken = !step.querySelector(".note, #unsaved-text"); // a note says why nothing was saved
    if (isTaken || !kept || step.hasAttribute("data-is-over")) return;
    const block = previous.slice(previous.lastIndexOf(":") + 1);
    const owner = form ? ownerOf(form) : previous.slice(PREFIX.length, previous.lastIndexOf(":"));
    if (personOf(nameOf(owner, block)) === personOf(previous)) write(nameOf(owner, block), kept);
  }

  /* While an answer is on its way, it cannot be changed: a change would not be part of it, and the step that comes
     would take its place. */

  let focused = null;

  function freeze() {
    if (!form) return;
    focused = document.activeElement;
    const field = form.querySelector(".field");
    const text = form.querySelector("textarea.entry, input.entry");
    if (text) text.readOnly = true;
    else if (field) field.inert = true;
  }

  function thaw() {
    if (!form) return;
    const field = form.querySelector(".field");
    const text = form.querySelector("textarea.entry, input.entry");
    if (text) text.readOnly = false;
    else if (field) field.inert = false;
    const isLost = document.activeElement === document.body || document.activeElement === step;
    if (isLost && form.contains(focused)) focused.focus({ preventScroll: true });
  }

  return { setUp, save, settle, freeze, thaw, name: () => name };
})();
