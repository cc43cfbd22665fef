// Forms of a project, and the brand on a community's page: the previews show typed text at once, and leaving the page
// of a project asks before it is lost.

const LOOK = ["theme_id", "interviewer_id", "branding", "name",
  "logo_url", "accent_color", "background_color", "background_url", "font", "corners"];
const DELAY = 400; // milliseconds after the last key, before the page in the frame is drawn anew

/** The text of a preview: the typed text, else the default. */
function showWords(element, text) {
  element.textContent = text.trim() || element.dataset.default;
}

function watchUnsaved(form) {
  const note = form.querySelector("[data-unsaved]");
  const ask = (event) => event.preventDefault();
  form.addEventListener("input", () => {
    if (!note?.hidden) return;
    note.hidden = false;
    window.addEventListener("beforeunload", ask);
  });
  form.addEventListener("submit", () => window.removeEventListener("beforeunload", ask));
}

/** The post in the chat. The server draws it from the form's values, like the post itself. */
function showPost(form) {
  const preview = form.querySelector("[data-post-preview]");
  if (!preview) return;
  let timer, newest = 0;
  const draw = async () => {
    const number = ++newest;
    try {
      const response = await fetch(preview.dataset.postPreview,
        { method: "POST", body: new URLSearchParams(/** @type {any} */ (new FormData(form))) });
      if (response.ok && !response.redirected && number === newest) preview.innerHTML = await response.text();
    } catch {
      // no connection: the last drawing stays
    }
  };
  form.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(draw, DELAY);
  });
}

function showBadge(form) {
  const name = form.querySelector("[data-badge-name]");
  if (!name) return;
  const draw = () => showWords(name, form.elements.achievement_name.value);
  draw();
  form.addEventListener("input", draw);
}

/** What is corrected in the chosen colours, in sentences. */
async function notesOn(address) {
  try {
    const response = await fetch(address, { headers: { Accept: "application/json" } });
    return response.ok ? (await response.json()).notes : [];
  } catch {
    return []; // no connection: saving says it too
  }
}

const DARK = /prefers-color-scheme:\s*dark/;

/** Draws the page in the frame by day or by night, as chosen: its rules for the night hold or not. */
function showScheme(frame, scheme) {
  const shown = frame.contentDocument;
  if (!shown?.documentElement) return; // its load draws it
  for (const rule of [...shown.styleSheets].flatMap((sheet) => [...sheet.cssRules])) {
    if (!(rule instanceof shown.defaultView.CSSMediaRule)) continue;
    const own = nightRules.get(rule) ?? DARK.test(rule.media.mediaText);
    nightRules.set(rule, own);
    if (own) rule.media.mediaText = scheme === "dark" ? "all" : "not all";
  }
  shown.documentElement.style.colorScheme = scheme;
}

/** @type {WeakMap<CSSRule, boolean>} whether a rule was for the night as it was loaded */
const nightRules = new WeakMap();

/** The buttons Day and Night. */
function chooseScheme(frame) {
  const group = /** @type {HTMLElement | null} */ (document.querySelector("[data-scheme]"));
  if (!group) return;
  let chosen = "light";
  frame.addEventListener("load", () => showScheme(frame, chosen));
  const choose = (scheme) => {
    chosen = scheme;
    showScheme(frame, scheme);
    for (const button of group.querySelectorAll("button")) {
      button.setAttribute("aria-pressed", String(button.value === scheme));
    }
  };
  group.hidden = false;
  group.addEventListener("click", (event) => {
    if (event.target instanceof HTMLButtonElement) choose(event.target.value);
  });
  choose(matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
}

function showLook(form) {
  const frame = /** @type {HTMLIFrameElement | null} */ (document.querySelector("[data-look-preview]"));
  if (!frame) return;
  const notes = form.querySelector("[data-look-notes]");
  chooseScheme(frame);
  let timer, newest = 0;
  const draw = async () => {
    const number = ++newest;
    const query = new URLSearchParams();
    for (const name of LOOK) {
      if (form.elements[name]) query.set(name, form.elements[name].value);
    }
    frame.contentWindow?.location.replace(`${frame.dataset.lookPreview}?${query}`);
    const said = await notesOn(`${frame.dataset.lookPreview}?${query}&notes`);
    if (notes && number === newest) notes.replaceChildren(...said.map((words) =>
      Object.assign(document.createElement("p"), { textContent: words })));
  };
  draw();
  form.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(draw, DELAY);
  });
}

/** The menu of themes writes the theme into the line to paste. */
function chooseEmbedTheme() {
  const menu = document.querySelector("[data-embed-theme]");
  const line = /** @type {HTMLTextAreaElement | null} */ (document.getElementById("embed-lines"));
  if (!(menu instanceof HTMLElement) || !line) return;
  const plain = line.value;
  menu.hidden = false;
  menu.querySelector("select")?.addEventListener("change", (event) => {
    const chosen = /** @type {HTMLSelectElement} */ (event.target).value;
    line.value = chosen ? plain.replace(" async", ` data-theme="${chosen}" async`) : plain;
  });
}

/** Opens the folded section to which a link of the page, or its address, leads. */
function openTarget() {
  const section = document.getElementById(location.hash.slice(1));
  if (section instanceof HTMLDetailsElement) section.open = true;
}

chooseEmbedTheme();
openTarget();
window.addEventListener("hashchange", openTarget);
for (const form of document.querySelectorAll("[data-project-form]")) {
  watchUnsaved(form);
  showPost(form);
  showBadge(form);
}
for (const form of document.querySelectorAll("[data-project-form], [data-look-form]")) showLook(form);
