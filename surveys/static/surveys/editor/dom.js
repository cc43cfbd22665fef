/* Building elements: `h("button", { class: "quiet", onclick: fn }, icon("plus"), "Add")`. */

const SVG = "http://www.w3.org/2000/svg";
const NO_TEXT = new Set(["checkbox", "radio", "button", "submit", "range", "color"]); // types of inputs
let lastId = 0;

/** Make an element. `on…` properties are listeners, `true` sets an attribute, null and false leave it out.
 *  @template {keyof HTMLElementTagNameMap} Tag @param {Tag} tag @param {Record<string, any>} [properties]
 *  @param {any[]} children @returns {HTMLElementTagNameMap[Tag]} */
export function h(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) set(element, name, value);
  element.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

function set(element, name, value) {
  if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
  else if (name === "value") element.value = value ?? "";
  else if (value === true) element.setAttribute(name, "");
  else if (value !== null && value !== undefined && value !== false) element.setAttribute(name, value);
}

/** Set or remove an attribute, and touch the page only if that changes something.
 *  @param {Element} element @param {string} name @param {string | number | boolean | null | undefined} value */
export function attribute(element, name, value) {
  const text = value === true ? "" : value === false || value === null || value === undefined ? null : String(value);
  if (element.getAttribute(name) === text) return;
  if (text === null) element.removeAttribute(name);
  else element.setAttribute(name, text);
}

/** Set the text of an element if it differs.
 *  @param {Element} element @param {string} words */
export function text(element, words) {
  if (element.textContent !== words) element.textContent = words;
}

/** A drawing from the page's sheet of symbols (`<symbol id="ed-…">`). It means nothing to screen readers.
 *  @param {string} name @param {string} [className] */
export function icon(name, className = "icon") {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("class", className);
  svg.setAttribute("aria-hidden", "true");
  const use = document.createElementNS(SVG, "use");
  use.setAttribute("href", `#ed-${name}`);
  svg.append(use);
  return svg;
}

/** @param {string} [prefix] */
export function newId(prefix = "e") {
  lastId += 1;
  return `${prefix}-${lastId}`;
}

/** Make the children of `parent` exactly `wanted`, in order, moving as few of them as possible.
 *  @param {Element} parent @param {Element[]} wanted */
export function arrange(parent, wanted) {
  const keep = new Set(wanted);
  for (const child of [...parent.children]) if (!keep.has(child)) child.remove();
  let at = parent.firstElementChild;
  for (const element of wanted) {
    if (element === at) at = at.nextElementSibling;
    else parent.insertBefore(element, at);
  }
}

/** Whether typing goes into this element.
 *  @param {any} element @returns {element is HTMLElement} */
export function isTextEntry(element) {
  if (!element || element.disabled || element.readOnly) return false;
  if (element.isContentEditable || element.tagName === "TEXTAREA") return true;
  return element.tagName === "INPUT" && !NO_TEXT.has(element.type);
}

/** Wait for a pause of `delay` milliseconds before calling; `.now()` calls at once, `.cancel()` not at all.
 *  @param {() => any} fn @param {number} delay */
export function afterPause(fn, delay) {
  let timer = 0;
  const waiting = () => {
    clearTimeout(timer);
    timer = setTimeout(fn, delay);
  };
  waiting.cancel = () => clearTimeout(timer);
  waiting.now = () => {
    clearTimeout(timer);
    return fn();
  };
  return waiting;
}

/** @param {number} count @param {string} one @param {string} [many] */
export function plural(count, one, many = `${one}s`) {
  return `${count.toLocaleString()} ${count === 1 ? one : many}`;
}

/** A moment in English words and in the community's time zone, which is named, as on all pages of staff.
 *  @param {Date} moment @param {Intl.DateTimeFormatOptions} [parts] */
export function inWords(moment, parts = { dateStyle: "medium", timeStyle: "short" }) {
  const { timeZone } = /** @type {HTMLElement} */ (document.getElementById("editor")).dataset;
  return `${moment.toLocaleString("en-GB", { ...parts, timeZone })} (${timeZone})`;
}
