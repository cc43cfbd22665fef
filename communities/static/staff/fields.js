// Shows the value of some fields of forms beside them: `data-colour` gets a picker, `data-picture` the picture and
// a button that uploads one.

const COLOUR = /^#?([0-9a-f]{6})$/i;
const UNCHOSEN = "#ffffff";

/** Puts a picker beside a text of six digits. Returns a function that shows the text's colour in it.
 *  @param {HTMLInputElement} input @param {string} name */
export function addPicker(input, name) {
  const picker = document.createElement("input");
  Object.assign(picker, { type: "color", className: "swatch", title: "Choose a colour" });
  picker.setAttribute("aria-label", `${name}: choose a colour`);
  const show = () => {
    const found = COLOUR.exec(input.value.trim());
    picker.value = found ? `#${found[1].toLowerCase()}` : UNCHOSEN;
    picker.classList.toggle("is-empty", !found);
    picker.disabled = input.disabled;
  };
  picker.addEventListener("input", () => {
    input.value = picker.value.slice(1);
    input.dispatchEvent(new Event("input", { bubbles: true }));
  });
  input.addEventListener("input", show);
  const row = document.createElement("span");
  row.className = "with-swatch";
  input.replaceWith(row);
  row.append(input, picker);
  show();
  return show;
}

/**
 * Shows our copy of the picture below its address, and a note while there is no copy. Browsers never load the
 * address itself. Returns a function that shows the present picture, unless the person is typing.
 * @param {HTMLInputElement} input
 */
export function addPicture(input) {
  const picture = Object.assign(document.createElement("img"), { className: "thumbnail", alt: "", hidden: true });
  const note = Object.assign(document.createElement("p"), { className: "hint", hidden: true });
  note.setAttribute("role", "status");
  let shown = "";
  const show = async () => {
    const address = input.value.trim();
    if (address === shown) return;
    shown = address;
    const state = address ? await stateOf(address) : { note: "" };
    if (address !== shown) return; // another picture was requested meanwhile
    note.textContent = state.note;
    note.hidden = !state.note;
    picture.hidden = !state.picture;
    if (state.picture) Object.assign(picture, { src: state.picture, width: state.width, height: state.height });
    else picture.removeAttribute("src");
  };
  input.addEventListener("change", show); // not at every key, because half an address is a wrong address
  const upload = uploadButton(input, (words) => { note.textContent = words; note.hidden = !words; });
  input.after(upload, picture, note);
  show();
  nameUpload(upload, input);
  return () => {
    nameUpload(upload, input);
    if (document.activeElement !== input) show();
  };
}

/** @param {HTMLElement} upload @param {HTMLInputElement} input */
function nameUpload(upload, input) {
  const name = input.getAttribute("aria-label") ?? input.labels?.[0]?.firstChild?.textContent?.trim() ?? "";
  upload.querySelector("button")?.setAttribute("aria-label", `Upload a picture: ${name}`);
}

/** A button that uploads a picture, and writes its address into the input.
 *  @param {HTMLInputElement} input @param {(words: string) => void} say */
function uploadButton(input, say) {
  const file = Object.assign(document.createElement("input"),
    { type: "file", accept: "image/jpeg,image/png,image/gif,image/webp", hidden: true, disabled: input.disabled });
  const button = Object.assign(document.createElement("button"),
    { type: "button", className: "button second upload", textContent: "Upload…", disabled: input.disabled });
  button.addEventListener("click", () => file.click());
  file.addEventListener("change", async () => {
    if (!file.files?.length) return;
    say("Uploading…");
    button.disabled = true;
    const sent = await uploaded(file.files[0]);
    button.disabled = false;
    file.value = ""; // so that the same file may be chosen again
    say(sent.note ?? "");
    if (!sent.address) return;
    input.value = sent.address;
    for (const name of ["input", "change"]) input.dispatchEvent(new Event(name, { bubbles: true }));
  });
  const both = Object.assign(document.createElement("span"), { className: "uploading" });
  both.append(button, file);
  return both;
}

/** @param {File} file @returns {Promise<{address?: string, note?: string}>} */
async function uploaded(file) {
  const token = document.querySelector("[name=csrfmiddlewaretoken]")?.getAttribute("value") ?? "";
  try {
    const response = await fetch(document.body.dataset.pictureUpload ?? "", {
      method: "POST", body: file,
      headers: { Accept: "application/json", "Content-Type": "application/octet-stream", "X-CSRFToken": token },
    });
    const isJson = (response.headers.get("Content-Type") ?? "").includes("json");
    const answer = isJson ? await response.json() : {};
    if (response.ok && answer.address) return answer;
    const fault = "The picture could not be uploaded. Load the page again and retry.";
    return { note: answer.note ?? answer.message ?? fault };
  } catch {
    return { note: "The picture could not be uploaded, because there is no connection." };
  }
}

/** The state of the copy of a picture (`communities.staff.pictures`). */
async function stateOf(address) {
  try {
    const response = await fetch(`${document.body.dataset.pictureState}?${new URLSearchParams({ address })}`);
    return response.ok ? await response.json() : { note: "" };
  } catch {
    return { note: "" }; // without a connection, the form still keeps the address
  }
}

/** @param {string} selector @returns {NodeListOf<HTMLInputElement>} */
const inputs = (selector) => document.querySelectorAll(selector);

for (const input of inputs("[data-colour]")) addPicker(input, input.labels?.[0]?.firstChild?.textContent?.trim() ?? "");
for (const input of inputs("[data-picture]")) addPicture(input);
