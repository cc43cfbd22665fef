/* The site /docs: languages of samples, copying, the search, and requests that readers try. Without this script all
   samples are shown one below the other. */

const LANGUAGE = "docs-language"; // in the browser's storage; the key of a reader is never there
const MOST_FOUND = 12;
const AROUND = 32; // pixels above and below a drawing

/** @template {HTMLElement} T @param {ParentNode} node @param {string} selector @returns {T[]} */
const all = (node, selector) => [.../** @type {NodeListOf<T>} */ (node.querySelectorAll(selector))];

/** @param {string} tag @param {Record<string, unknown>} fields @param {(Node | string)[]} children */
function made(tag, fields = {}, ...children) {
  const element = Object.assign(document.createElement(tag), fields);
  element.append(...children);
  return element;
}

// --- Samples ---------------------------------------------------------------------------------------------------------

function stored() {
  try { return localStorage.getItem(LANGUAGE); } catch { return null; } // storage can be switched off
}

/** @param {string} language */
function choose(language) {
  try { localStorage.setItem(LANGUAGE, language); } catch { }
  showLanguage(language);
}

/** @param {string | null} language */
function showLanguage(language) {
  for (const samples of all(document, ".samples")) {
    const figures = all(samples, ".code");
    const chosen = figures.find((each) => each.dataset.language === language) ?? figures[0];
    for (const each of figures) each.hidden = each !== chosen;
    for (const button of all(samples, ".languages button")) {
      button.setAttribute("aria-pressed", String(button.dataset.language === chosen.dataset.language));
    }
  }
}

function setUpSamples() {
  for (const samples of all(document, ".samples")) {
    const bar = made("div", { className: "languages" });
    bar.setAttribute("role", "group");
    bar.setAttribute("aria-label", "Language");
    for (const figure of all(samples, ".code")) {
      const label = figure.querySelector("figcaption")?.textContent ?? "";
      const button = made("button", { type: "button" }, label);
      button.dataset.language = figure.dataset.language;
      button.addEventListener("click", () => {
        const top = bar.getBoundingClientRect().top;
        choose(figure.dataset.language ?? "");
        // The samples above have other heights now.
        scrollBy({ top: bar.getBoundingClientRect().top - top, behavior: "instant" });
      });
      bar.append(button);
    }
    samples.prepend(bar);
    samples.classList.add("chosen");
  }
  showLanguage(stored());
  for (const figure of all(document, ".code")) {
    const button = made("button", { type: "button", className: "copy" }, "Copy");
    button.addEventListener("click", async () => {
      await navigator.clipboard.writeText(figure.querySelector("code")?.textContent ?? "");
      button.textContent = "Copied";
      setTimeout(() => { button.textContent = "Copy"; }, 2000);
    });
    figure.append(button);
  }
}

// --- Search ----------------------------------------------------------------------------------------------------------

/** @typedef {{url: string, page: string, title: string, text: string}} Entry */

const plain = (text) => text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();

/** A title counts more than a text, and the beginning of a word more than its middle. */
function score(entry, words) {
  const [title, page, text] = [entry.title, entry.page, entry.text].map(plain);
  let sum = 0;
  for (const word of words) {
    const points = (where, most) => (` ${where}`.includes(` ${word}`) ? most : where.includes(word) ? most / 2 : 0);
    const found = Math.max(points(title, 12), points(page, 4), points(text, 2));
    if (!found) return 0;
    sum += found;
  }
  return sum;
}

/** The text around the first word that was found. */
function excerpt(text, words) {
  const at = Math.min(...words.map((word) => plain(text).indexOf(word)).filter((each) => each >= 0));
  const start = Number.isFinite(at) && at > 40 ? text.lastIndexOf(" ", at - 40) + 1 : 0;
  return `${start ? "… " : ""}${text.slice(start, start + 120).trim()}${text.length > start + 120 ? " …" : ""}`;
}

/** @param {string} text @param {string[]} words */
function marked(text, words) {
  const escaped = words.map((word) => word.replace(/[\^$\\.*+?()[\]{}|/]/g, "\\$&"));
  const pattern = new RegExp(`(${escaped.join("|")})`, "giu");
  return text.split(pattern).map((part, n) => (n % 2 ? made("mark", {}, part) : part));
}

function setUpSearch() {
  const box = /** @type {HTMLElement} */ (document.querySelector(".search"));
  const field = /** @type {HTMLInputElement} */ (box.querySelector("input"));
  const list = /** @type {HTMLElement} */ (box.querySelector("ul"));
  const status = /** @type {HTMLElement} */ (box.querySelector("[role=status]"));
  /** @type {Promise<Entry[]> | undefined} */
  let index;
  let at = -1;
  box.hidden = false;

  const load = () => (index ??= fetch(box.dataset.index ?? "").then((response) => response.json()).catch(() => {
    index = undefined; // the next key tries again
    return [];
  }));

  function mark(place) {
    list.children[at]?.setAttribute("aria-selected", "false");
    at = place;
    const item = list.children[at];
    if (!item) return void field.removeAttribute("aria-activedescendant");
    item.setAttribute("aria-selected", "true");
    field.setAttribute("aria-activedescendant", item.id);
    item.scrollIntoView({ block: "nearest" });
  }

  function close() {
    list.hidden = true;
    field.setAttribute("aria-expanded", "false");
    mark(-1);
  }

  function go(item) {
    close();
    field.blur();
    location.assign(item.dataset.url);
  }

  async function search() {
    const typed = field.value;
    const words = plain(typed).split(/\s+/).filter(Boolean);
    if (!words.length) return close();
    const entries = await load();
    if (field.value !== typed) return; // another key was pressed meanwhile
    const found = entries.map((entry) => ({ entry, points: score(entry, words) })).filter((each) => each.points)
      .sort((one, other) => other.points - one.points).slice(0, MOST_FOUND);
    list.replaceChildren(...found.map(({ entry }, n) => {
      const item = made("li", { id: `found-${n}` }, ...marked(entry.title, words),
        made("small", {}, `${entry.page} · `, ...marked(excerpt(entry.text, words), words)));
      item.setAttribute("role", "option");
      item.setAttribute("aria-selected", "false");
      item.dataset.url = entry.url;
      item.addEventListener("pointerdown", (event) => event.preventDefault()); // the field keeps the focus
      item.addEventListener("click", () => go(item));
      return item;
    }));
    status.textContent = found.length ? `${found.length} found` : "Nothing was found";
    list.hidden = !found.length;
    field.setAttribute("aria-expanded", String(found.length > 0));
    at = -1;
    mark(found.length ? 0 : -1);
  }

  field.addEventListener("focus", load, { once: true });
  field.addEventListener("input", search);
  field.addEventListener("blur", close);
  field.addEventListener("keydown", (event) => {
    const count = list.hidden ? 0 : list.children.length;
    if (event.key === "Escape") { field.value = ""; close(); }
    if (!count) return;
    if (event.key === "ArrowDown") mark((at + 1) % count);
    else if (event.key === "ArrowUp") mark((at - 1 + count) % count);
    else if (event.key === "Enter") go(list.children[at]);
    else return;
    event.preventDefault();
  });
  addEventListener("keydown", (event) => {
    const isTyping = /** @type {Element} */ (event.target).matches("input, textarea, select");
    if (event.key !== "/" || isTyping || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    field.focus();
  });
}

// --- Requests that readers try ---------------------------------------------------------------------------------------

/** Ask before a request that changes something. @param {string} words @returns {Promise<boolean>} */
function confirmed(words) {
  const dialog = /** @type {HTMLDialogElement} */ (document.querySelector(".ask"));
  const code = /** @type {HTMLElement} */ (dialog.querySelector("code"));
  code.textContent = words;
  dialog.returnValue = "";
  dialog.showModal();
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => resolve(dialog.returnValue === "send"), { once: true });
  });
}

/** The address of a form: its path with the typed values, and its query. @param {HTMLFormElement} form */
function addressOf(form) {
  let path = form.dataset.path ?? "";
  const query = new URLSearchParams();
  for (const field of all(form, "input")) {
    const { name, value, dataset } = /** @type {HTMLInputElement} */ (field);
    if (dataset.place === "path") path = path.replace(`{${name}}`, encodeURIComponent(value));
    else if (value) query.append(name, value);
  }
  return path + (query.size ? `?${query}` : "");
}

function setUpTrying() {
  const key = /** @type {HTMLInputElement | null} */ (document.getElementById("key"));
  if (!key) return;
  const keyForm = /** @type {HTMLFormElement} */ (key.form);
  keyForm.hidden = false;
  keyForm.addEventListener("submit", (event) => event.preventDefault());
  key.addEventListener("change", async () => { // a key belongs to one community, whose id all addresses have
    const headers = { "X-API-Key": key.value };
    const response = await fetch("/v1/communities", { headers }).catch(() => null);
    const id = response?.ok && (await response.json()).data[0]?.id;
    for (const field of id ? all(document, "input[name=community_id]") : []) {
      /** @type {HTMLInputElement} */ (field).value = id;
    }
  });
  for (const box of all(document, ".try")) {
    box.hidden = false;
    const form = /** @type {HTMLFormElement} */ (box.querySelector("form"));
    const state = /** @type {HTMLElement} */ (form.querySelector(".state"));
    const shown = /** @type {HTMLElement} */ (form.querySelector("pre"));
    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      const method = form.dataset.method ?? "GET";
      const address = addressOf(form);
      if (!key.value) {
        state.textContent = "Type an API key at the top of the page first.";
        return key.focus();
      }
      if (method !== "GET" && !await confirmed(`${method} ${address}`)) return;
      const body = form.querySelector("textarea")?.value;
      /** @type {Record<string, string>} */
      const headers = { "X-API-Key": key.value };
      if (method !== "GET") headers["Idempotency-Key"] = crypto.randomUUID();
      if (body) headers["Content-Type"] = "application/json";
      state.textContent = "Sending …";
      try {
        const response = await fetch(address, { method, headers, body: body || undefined });
        const text = await response.text();
        state.textContent = `${response.status} ${response.statusText}`;
        shown.textContent = readable(text);
        shown.hidden = !text;
      } catch {
        state.textContent = "No response arrived. Check the connection, and send again.";
      }
    });
  }
}

function readable(text) {
  try { return JSON.stringify(JSON.parse(text), null, 2); } catch { return text; }
}

// --- Drawings --------------------------------------------------------------------------------------------------------

/** A drawing is as high as its content. */
function setUpDrawings() {
  for (const each of all(document, "iframe.drawn")) {
    const frame = /** @type {HTMLIFrameElement} */ (each);
    const fit = () => {
      const card = /** @type {HTMLElement | null | undefined} */ (frame.contentDocument?.querySelector(".card"));
      if (card) frame.style.blockSize = `${card.offsetHeight + 2 * AROUND}px`;
    };
    frame.addEventListener("load", fit);
    addEventListener("resize", fit);
    fit();
  }
}

setUpSamples();
setUpSearch();
setUpTrying();
setUpDrawings();
