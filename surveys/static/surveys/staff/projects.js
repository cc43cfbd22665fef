// Forms of a project: the previews show typed text at once, and leaving the page asks before it is lost.

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

function showLook(form) {
  const frame = /** @type {HTMLIFrameElement | null} */ (document.querySelector("[data-look-preview]"));
  if (!frame) return;
  const notes = form.querySelector("[data-look-notes]");
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

for (const form of document.querySelectorAll("[data-project-form]")) {
  watchUnsaved(form);
  showPost(form);
  showBadge(form);
  showLook(form);
}
