// Forms of a project: what is typed shows at once in the previews, and is not lost without a question.

const DELAY = 400; // milliseconds after the last key, before the page in the frame is drawn anew

/** Words of a preview: what is typed, else what stands there by itself. */
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

function showInvitation(form) {
  const preview = form.querySelector("[data-invitation-preview]");
  if (!preview) return;
  const draw = () => {
    for (const element of preview.querySelectorAll("[data-invitation-text]")) {
      showWords(element, form.elements[element.dataset.invitationText]?.value ?? "");
    }
    const colour = form.elements.border_color.value.trim().replace(/^#/, "");
    if (/^[0-9a-f]{6}$/i.test(colour)) {
      preview.querySelector("[data-invitation-colour]").setAttribute("fill", `#${colour}`);
    }
  };
  draw();
  form.addEventListener("input", draw);
}

function showBadge(form) {
  const name = form.querySelector("[data-badge-name]");
  if (!name) return;
  const draw = () => showWords(name, form.elements.achievement_name.value);
  draw();
  form.addEventListener("input", draw);
}

function showLook(form) {
  const frame = document.querySelector("[data-look-preview]");
  if (!frame) return;
  let timer;
  const draw = () => {
    const query = new URLSearchParams();
    for (const name of ["theme_id", "interviewer_id", "branding", "name"]) {
      if (form.elements[name]) query.set(name, form.elements[name].value);
    }
    frame.contentWindow.location.replace(`${frame.dataset.lookPreview}?${query}`);
  };
  form.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(draw, DELAY);
  });
}

for (const form of document.querySelectorAll("[data-project-form]")) {
  watchUnsaved(form);
  showInvitation(form);
  showBadge(form);
  showLook(form);
}
