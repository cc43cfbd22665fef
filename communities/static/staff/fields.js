// What is typed into some fields of forms is shown beside them: `data-colour` gets a picker, `data-picture` the picture.

const COLOUR = /^#?([0-9a-f]{6})$/i;
const UNCHOSEN = "#ffffff";

/** Puts a picker beside a text of six digits. Returns a function that shows the text's colour in it. */
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

/** Puts the picture below its address. Returns a function that shows the present picture, unless one is typing. */
export function addPicture(input) {
  const picture = document.createElement("img");
  Object.assign(picture, { className: "thumbnail", alt: "", referrerPolicy: "no-referrer", hidden: true });
  picture.addEventListener("load", () => { picture.hidden = false; });
  picture.addEventListener("error", () => { picture.hidden = true; });
  const show = () => {
    const address = input.value.trim();
    if (address === (picture.getAttribute("src") ?? "")) return;
    picture.hidden = true;
    if (/^https:\/\/./.test(address)) picture.src = address;
    else picture.removeAttribute("src");
  };
  input.addEventListener("change", show); // not at every key: half an address is another one
  input.after(picture);
  show();
  return () => { if (document.activeElement !== input) show(); };
}

for (const input of document.querySelectorAll("[data-colour]")) addPicker(input, input.labels[0]?.firstChild.textContent.trim());
for (const input of document.querySelectorAll("[data-picture]")) addPicture(input);
