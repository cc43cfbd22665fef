"use strict";
// A client of the loopback platform: draws what the platform holds, and sends what is pressed.

const $ = (id) => document.getElementById(id);
let state = null;
let version = "";
let channel = sessionStorage.getItem("channel") || "";
let me = sessionStorage.getItem("me") || "";

function make(tag, fields = {}, ...children) {
  const node = Object.assign(document.createElement(tag), fields);
  node.append(...children);
  return node;
}

function formatted(text) {
  const holder = make("div");
  for (const line of text.split("\n")) {
    const sub = line.startsWith("-# ");
    const quote = line.startsWith("> ");
    const part = make("div", { className: sub ? "sub" : quote ? "quote" : "" });
    inline(part, sub ? line.slice(3) : quote ? line.slice(2) : line);
    if (!line) part.append(make("br"));
    holder.append(part);
  }
  return holder;
}

function inline(node, text) {
  const pattern = /\\(.)|\*\*(.+?)\*\*|_(.+?)_(?=\W|$)|<@&(\d+)>|<t:(\d+):R>|<a?:(\w+):\d+>/g;
  let last = 0;
  for (const match of text.matchAll(pattern)) {
    node.append(text.slice(last, match.index));
    last = match.index + match[0].length;
    if (match[1]) node.append(match[1]);
    else if (match[2]) node.append(inlineIn(make("strong"), match[2]));
    else if (match[3]) node.append(inlineIn(make("em"), match[3]));
    else if (match[4]) node.append(make("span", { className: "mention", textContent: `@${roleName(match[4])}` }));
    else if (match[5]) node.append(new Date(match[5] * 1000).toLocaleString());
    else node.append(`:${match[6]}:`);
  }
  node.append(text.slice(last));
}

function inlineIn(node, text) {
  inline(node, text);
  return node;
}

const roleName = (id) => (state.roles.find((role) => role.id === id) || { name: "role" }).name;

function drawn(message, own) {
  const item = make("li", { className: own ? "message own" : "message" });
  item.append(make("div", { className: "who" }, "Colloquy ", make("small", { textContent: "APP" })));
  if (message.content) item.append(formatted(message.content));
  for (const embed of message.embeds) item.append(drawnEmbed(embed));
  for (const file of message.attachments || []) {
    const shown = message.embeds.some((embed) => (embed.image || {}).url === `attachment://${file.filename}`);
    if (!shown) item.append(make("img", { src: file.url, alt: file.filename }));
  }
  for (const row of message.components) item.append(drawnRow(row, message));
  if (own) {
    const dismiss = make("button", { textContent: "Dismiss" });
    dismiss.onclick = () => act({ kind: "dismiss", message: message.id });
    item.append(make("div", { className: "private" }, "Only you can see this · ", dismiss));
  }
  return item;
}

function drawnEmbed(embed) {
  const box = make("div", { className: "embed" });
  if (embed.color !== undefined) box.style.borderLeftColor = `#${embed.color.toString(16).padStart(6, "0")}`;
  if (embed.thumbnail) box.append(make("img", { className: "thumbnail", src: embed.thumbnail.url, alt: "" }));
  if (embed.author) box.append(make("div", { className: "author", textContent: embed.author.name }));
  if (embed.title) box.append(inlineIn(make("div", { className: "title" }), embed.title));
  if (embed.description) box.append(formatted(embed.description));
  if (embed.image) {
    const name = embed.image.url.replace("attachment://", "");
    const file = (state.files || []).find((each) => each.filename === name && embed.image.url !== name);
    box.append(make("img", { src: file ? file.url : embed.image.url, alt: "" }));
  }
  if (embed.footer) box.append(make("div", { className: "footer", textContent: embed.footer.text }));
  return box;
}

function drawnRow(row, message) {
  const line = make("div", { className: "row" });
  for (const part of row.components) line.append(part.type === 2 ? drawnButton(part, message)
    : drawnMenu(part, message));
  return line;
}

const sign = (emoji) => (emoji ? (emoji.id ? `:${emoji.name}:` : emoji.name) : "");

function drawnButton(part, message) {
  const text = [sign(part.emoji), part.label].filter(Boolean).join(" ");
  if (part.url) return make("a", { href: part.url, target: "_blank", rel: "noopener", textContent: `${text} ↗` });
  const button = make("button", { className: `style${part.style}`, disabled: Boolean(part.disabled),
    textContent: text });
  button.onclick = () => act({ kind: "press", message: message.id, custom_id: part.custom_id });
  return button;
}

function drawnMenu(part, message) {
  const many = part.max_values > 1;
  const menu = make("select", { multiple: many, ariaLabel: part.placeholder || "Choose" });
  if (many) menu.size = Math.min(part.options.length, 6);
  else menu.append(make("option", { value: "", textContent: part.placeholder || "Choose" }));
  for (const option of part.options) {
    const text = [sign(option.emoji), option.label].filter(Boolean).join(" ");
    menu.append(make("option", { value: option.value, textContent: text, selected: Boolean(option.default) }));
  }
  const send = () => {
    const values = [...menu.selectedOptions].map((option) => option.value).filter(Boolean);
    if (values.length < part.min_values || values.length > part.max_values) return alertWith(
      "Choose as many as asked.");
    act({ kind: "choose", message: message.id, custom_id: part.custom_id, values });
  };
  if (!many) {
    menu.onchange = send;
    return menu;
  }
  const button = make("button", { textContent: "Choose", onclick: send });
  return make("div", {}, menu, button);
}

function openWindow(raw) {
  const dialog = $("window");
  if (!raw) {
    if (dialog.open) dialog.close();
    return;
  }
  if (dialog.open && dialog.dataset.id === raw.custom_id) return;
  const form = make("form", { method: "dialog" });
  form.append(make("h3", { textContent: raw.title }));
  let field = null;
  for (const part of raw.components) {
    if (part.type === 10) form.append(formatted(part.content));
    else {
      const input = part.component;
      field = make(input.style === 2 ? "textarea" : "input", {
        value: input.value || "", maxLength: input.max_length, required: input.required, id: "field",
      });
      form.append(make("label", { htmlFor: "field" }, make("strong", { textContent: part.label })));
      if (part.description) form.append(make("div", { className: "sub", textContent: part.description }));
      form.append(field);
    }
  }
  const cancel = make("button", { type: "button", textContent: "Cancel", onclick: () => act({ kind: "cancel" }) });
  form.append(make("div", { className: "buttons" }, cancel,
    make("button", { className: "style1", textContent: "Submit" })));
  form.onsubmit = () => act({ kind: "submit", text: field.value });
  dialog.replaceChildren(form);
  dialog.dataset.id = raw.custom_id;
  dialog.oncancel = () => act({ kind: "cancel" });
  dialog.showModal();
  field.focus();
}

function draw() {
  $("guild").textContent = state.guild;
  if (!state.channels.some((each) => each.id === channel)) channel = (state.channels[0] || {}).id;
  $("channels").replaceChildren(...state.channels.map((each) => {
    const button = make("button", { textContent: each.name });
    if (each.id === channel) button.setAttribute("aria-current", "true");
    button.onclick = () => {
      channel = each.id;
      sessionStorage.setItem("channel", channel);
      draw();
    };
    return button;
  }));
  $("channel").textContent = `# ${(state.channels.find((each) => each.id === channel) || {}).name || ""}`;
  $("you").replaceChildren(...state.people.map(
    (each) => make("option", { value: each.id, textContent: each.name, selected: each.id === me })));
  $("members").replaceChildren(...state.people.map((each) => make("li", {}, each.name,
    make("div", { className: "roles" }, ...each.roles.map((role) => make("span", { textContent: role }))))));
  const messages = state.messages.filter((each) => each.channel_id === channel);
  const list = $("messages");
  const atEnd = list.scrollHeight - list.scrollTop - list.clientHeight < 80;
  list.replaceChildren(...messages.map((each) => drawn(each, Boolean(each.flags & 64))));
  if (!messages.length) list.append(
    make("li", { className: "sub",
      textContent: "Nothing was posted here yet. Open a project with this channel in Colloquy’s admin." }));
  if (atEnd) list.scrollTop = list.scrollHeight;
  openWindow(state.window);
}

function alertWith(text) {
  $("alert").textContent = text;
  $("alert").hidden = false;
  setTimeout(() => { $("alert").hidden = true; }, 4000);
}

async function load() {
  const response = await fetch(`state?as=${encodeURIComponent(me)}`);
  const text = await response.text();
  if (text === version) return;
  version = text;
  state = JSON.parse(text);
  if (!me) me = state.people[0].id;
  const focused = document.activeElement && document.activeElement.textContent;
  draw();
  if (focused) [...document.querySelectorAll("#messages button")].find((each) => each.textContent === focused)?.focus();
}

async function act(what) {
  const response = await fetch("act", { method: "POST", body: JSON.stringify({ as: me, channel, ...what }) });
  const answer = await response.json();
  if (answer.error) alertWith(answer.error);
  await load();
  const list = $("messages");
  if (what.kind !== "dismiss") list.scrollTop = list.scrollHeight;
}

$("you").onchange = (event) => {
  me = event.target.value;
  sessionStorage.setItem("me", me);
  load();
};
$("command").oninput = () => {
  const typed = $("command").value;
  const list = $("commands");
  const found = typed.startsWith("/")
    ? state.commands.filter((each) => each.name.startsWith(typed.slice(1).split(" ")[0])) : [];
  list.hidden = !found.length;
  $("command").setAttribute("aria-expanded", String(Boolean(found.length)));
  list.replaceChildren(...found.map((each) => {
    const button = make("button", { type: "button" }, `/${each.name}`,
      make("small", { textContent: each.description }));
    button.onclick = () => send(each.name);
    return make("li", { role: "option" }, button);
  }));
};
function send(name, options = {}) {
  $("command").value = "";
  $("commands").hidden = true;
  act({ kind: "command", name, options });
}
$("composer").onsubmit = (event) => {
  event.preventDefault();
  const [name, value] = $("command").value.replace(/^\//, "").trim().split(/\s+/);
  const known = state.commands.find((each) => each.name === name);
  if (known) send(name, value ? { period: value } : {});
  else alertWith("There is no such command. Type / to see all.");
};
load();
setInterval(load, 1000);
