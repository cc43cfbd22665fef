/* Choosing an emoji: a grid that can be searched by English words and walked by arrow keys, in one dialog for the page.
   Any other emoji can be typed or pasted into its field. */

import { h, icon } from "./dom.js";

const NAMES = `
😀 grin happy smile|😄 smile happy joy|😂 laugh tears joy|🙂 slight smile|😉 wink|😊 blush smile|😍 heart eyes love
🥰 love hearts|😎 cool sunglasses|🤩 star eyes wow|🤔 think hmm|😐 neutral|😑 expressionless|😶 silent|🙄 eyes roll
😏 smirk|😕 confused|🙁 sad slight frown|☹️ sad frown|😢 cry sad tear|😭 sob cry|😤 annoyed|😠 angry|😡 very angry
🤬 swear|😱 scream fear|😨 fear|😰 anxious sweat|😴 sleep tired|🥱 yawn bored|🤒 ill sick|🤯 mind blown
🥳 party celebrate|😇 angel|🤗 hug|🤷 shrug do not know|🙌 hooray hands|👏 clap applause|👍 thumbs up yes good like
👎 thumbs down no bad dislike|👌 ok|✌️ victory peace|🤞 fingers crossed hope|👋 wave hello bye|🙏 thanks please pray
💪 strong muscle|🤝 handshake deal|👀 eyes look|🧠 brain|❤️ heart love red|🧡 heart orange|💛 heart yellow
💚 heart green|💙 heart blue|💜 heart purple|🖤 heart black|💔 broken heart|⭐ star|🌟 star glow|✨ sparkles|🔥 fire hot
💯 hundred perfect|✅ check yes done|❌ cross no wrong|❓ question|❗ exclamation important|➕ plus more|➖ minus less
🔴 red circle|🟠 orange circle|🟡 yellow circle|🟢 green circle|🔵 blue circle|🟣 purple circle|⚪ white circle
⚫ black circle|1️⃣ one 1 number|2️⃣ two 2 number|3️⃣ three 3 number|4️⃣ four 4 number|5️⃣ five 5 number
6️⃣ six 6 number|7️⃣ seven 7 number|8️⃣ eight 8 number|9️⃣ nine 9 number|🔟 ten 10 number|🥇 gold first medal
🥈 silver second medal|🥉 bronze third medal|🏆 trophy winner|🎯 target goal|🎉 party celebrate|🎁 gift present
🎂 cake birthday|🎮 game video controller|🕹️ joystick arcade|🎲 dice board game|♟️ chess pawn|♞ chess knight
🃏 cards joker|🧩 puzzle|🎵 music note|🎸 guitar music|🎧 headphones|🎤 microphone sing|🎬 film movie|🍿 popcorn
📺 television|📷 camera photo|🎨 art paint|📚 books read|✏️ pencil write|💻 laptop computer|📱 phone mobile
🖥️ computer desktop|⌨️ keyboard|🖱️ mouse computer|💡 idea light|🔧 tool fix wrench|🐛 bug insect
🚀 rocket launch fast|⚙️ settings gear|🔒 lock safe|🔑 key|💰 money bag|💵 money dollar|💶 money euro|💳 card payment
🛒 shop cart|📈 chart up growth|📉 chart down|📅 calendar date|⏰ alarm time|⌛ time wait hourglass|📌 pin
📣 megaphone announce|✉️ mail letter|💬 chat talk speech|🗳️ vote ballot|🏠 home house|🏢 office work|🏫 school
🏥 hospital|🌍 world earth europe|🌎 world earth america|🌏 world earth asia|✈️ plane travel|🚗 car|🚌 bus|🚆 train
🚲 bicycle|🚶 walk|🏃 run|⚽ football soccer|🏀 basketball|🏈 american football|⚾ baseball|🎾 tennis|🏐 volleyball
🏓 table tennis|🏊 swim|🧘 yoga calm|🏋️ gym weights|☀️ sun morning day|🌤️ sun cloud|☁️ cloud|🌧️ rain|⛈️ storm
❄️ snow cold winter|🌈 rainbow|🌙 moon night evening|🌸 blossom spring|🌻 sunflower summer|🍂 autumn leaf|🌳 tree
🌱 plant seedling|🐶 dog|🐱 cat|🐭 mouse animal|🐰 rabbit|🦊 fox|🐻 bear|🐼 panda|🐯 tiger|🦁 lion|🐸 frog|🐵 monkey
🐔 chicken|🐧 penguin|🦄 unicorn|🐉 dragon|🐢 turtle|🐟 fish|🐙 octopus|🦋 butterfly|🍎 apple|🍌 banana|🍓 strawberry
🥑 avocado|🥗 salad vegetables|🥦 broccoli vegetables vegan|🍞 bread|🧀 cheese|🥩 meat|🍔 burger|🍕 pizza|🌮 taco|🍣 sushi
🍜 noodles soup|🍝 pasta|🍰 cake|🍦 ice cream|🍫 chocolate|🍪 cookie|☕ coffee|🍵 tea|🥤 drink soda|🍺 beer|🍷 wine|💧 water
⚔️ swords fight|🛡️ shield defence|🏹 bow archer|🧙 wizard mage|🧝 elf|🧟 zombie|👻 ghost|👾 monster alien game|🤖 robot
👑 crown king queen|💎 gem diamond|🗡️ dagger|⚡ lightning fast energy|💥 boom|💤 sleep|👶 baby child|🧒 child
🧑 person adult|👵 old woman|👴 old man|👪 family|🇬🇧 flag britain english|🇺🇸 flag america|🇩🇪 flag germany
🇫🇷 flag france|🇪🇸 flag spain|🇮🇹 flag italy|🇯🇵 flag japan|🏳️‍🌈 flag rainbow pride`;

const EMOJI = NAMES.trim().split(/[|\n]/).map((line) => {
  const at = line.indexOf(" ");
  return { sign: line.slice(0, at), words: line.slice(at + 1) };
});

let dialog = null;
let search, grid, none, give;

/** Ask for an emoji. Calls `take(sign)`, with null for no emoji; calls nothing if the dialog is closed.
 *  @param {(sign: string | null) => void} take @param {{ current?: string | null }} [options] */
export function pickEmoji(take, { current = null } = {}) {
  dialog ??= build();
  give = take;
  search.value = "";
  none.hidden = !current;
  draw();
  dialog.showModal();
  search.focus();
}

function build() {
  search = h("input", { type: "search", class: "entry", "aria-label": "Search emoji",
    placeholder: "Search: star, happy, pizza…", oninput: draw, onkeydown: fromSearch });
  grid = h("div", { class: "emoji-grid", role: "group", "aria-label": "Emoji", onkeydown: walk,
    onclick: (event) => choose(event.target.closest("button")?.dataset.sign) });
  none = h("button", { type: "button", class: "quiet", onclick: () => choose(null) }, "No emoji");
  const element = h("dialog", { class: "sheet emoji-sheet", "aria-label": "Choose an emoji",
    onclick: (event) => { if (event.target === element) element.close(); } },
    h("div", { class: "sheet-body" },
      h("div", { class: "sheet-head" }, search,
        h("button", { type: "button", class: "icon-button", "aria-label": "Close", onclick: () => element.close() },
          icon("close"))),
      grid,
      h("div", { class: "sheet-foot" }, none, h("p", { class: "help" },
        "Not here? Open your computer's own picker in the field: Windows key and full stop, or ⌃⌘Space on a Mac."))));
  document.body.append(element);
  return element;
}

function draw() {
  const words = search.value.toLowerCase().trim();
  const found = words ? EMOJI.filter((emoji) => emoji.words.includes(words) || emoji.sign === words) : EMOJI;
  const typed = !found.length && /\p{Extended_Pictographic}/u.test(words)
    ? [{ sign: search.value.trim(), words: "the one you typed" }] : [];
  const shown = [...found, ...typed];
  grid.replaceChildren(...shown.map(({ sign, words: name }, n) => h("button",
    { type: "button", "data-sign": sign, "aria-label": name, title: name, tabindex: n ? "-1" : "0" }, sign)));
  if (!shown.length) grid.append(h("p", { class: "help" }, "Nothing found. Type or paste any emoji here to use it."));
}

function choose(sign) {
  if (sign === undefined) return;
  dialog.close();
  give(sign);
}

function fromSearch(event) {
  const first = grid.querySelector("button");
  if (event.key === "Enter" && first) choose(first.dataset.sign);
  else if (event.key === "ArrowDown" && first) first.focus();
  else return;
  event.preventDefault();
}

function walk(event) {
  const buttons = [...grid.querySelectorAll("button")];
  const at = buttons.indexOf(document.activeElement);
  const row = buttons.filter((button) => button.offsetTop === buttons[0].offsetTop).length;
  const step = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: row, ArrowUp: -row, Home: -at,
    End: buttons.length - 1 - at }[event.key];
  if (step === undefined) return;
  event.preventDefault();
  if (at + step < 0) search.focus();
  else buttons[Math.min(at + step, buttons.length - 1)]?.focus();
}
