/* Stores typed answers until the server has saved them: through a reload, a step back, a closed page, a crash of the
   tab, a lost connection.

   They are in sessionStorage, which belongs to one tab and ends with it. So another person at the same computer finds
   nothing in a new window, and answers are not on the disk for longer than the page is open. If sessionStorage is
   blocked, as in some frames of other sites, answers are stored only as long as the page is loaded. */

const typedText = (() => {
  "use strict";
  const PREFIX = `colloquy:${location.pathname}:`;
  const memory = new Map();
  let tab = null;
  try { tab = sessionStorage; } catch { /* blocked */ }

  let step = null;
  let form = null;
  let name = ""; // the name of the current step's stored values
  let base = ""; // the values that the server has

  function read(key) {
    try { return JSON.parse(memory.get(key) ?? tab?.getItem(key) ?? null); } catch { return null; }
  }

  function write(key, text) {
    memory.delete(key);
    try {
      if (tab) tab.setItem(key, text);
      else memory.set(key, text);
    } catch { // full
      memory.set(key, text);
    }
  }

  function remove(key) {
    memory.delete(key);
    tab?.removeItem(key);
  }

  const allNames = () => [...memory.keys(), ...Object.keys(tab ?? {})].filter((key) => key.startsWith(PREFIX));

  /* A name is `person.conversation:block`, the first two hashed */

  const ownerOf = (answer) => answer.dataset.owner ?? "";
  const nameOf = (owner, block) => `${PREFIX}${owner}:${block}`;
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
    return JSON.stringify(all);
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
    if (now === base) remove(name);
    else write(name, now);
  }

  /** Set up a new step: restore unsent values in its controls. */
  function setUp(current) {
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
    allNames().filter((key) => personOf(key) !== personOf(name)).forEach(remove);
    const wasTouched = isTouched();
    const now = values();
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
    if (personOf(nameOf(owner, block)) === personOf(previous)) write(nameOf(owner, block), JSON.stringify(kept));
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
