// Shows the value of some fields of forms beside them: `data-colour` gets a picker, `data-picture` the picture.

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
  input.after(picture, note);
  show();
  return () => { if (document.activeElement !== input) show(); };
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
