/* Embeds a survey in any page:
   <script src="https://surveys.example/static/surveys/embed.js" data-survey="https://surveys.example/s/abc"
     async></script>

   `data-survey` is the survey's URL or its slug; `data-title` names the frame for screen readers. `data-theme`, from 1
   to 8, and `data-accent`, such as #0a7d5a, take the place of the survey's own.
   The frame has the class `colloquy`. Under a sticky header, give it room: .colloquy { scroll-margin-top: 4rem }
   It is as tall as its content and no taller than the window, so that its button is always in view.

   Events on the frame, which bubble; none says what was answered:
   colloquy:started    the first answer is stored
   colloquy:answered   a question was answered or skipped
   colloquy:completed  the last one was

   Messages from the frame, all with the origin of the survey's site:
   { type: "colloquy:ready" }          its page has loaded
   { type: "colloquy:height", height } it needs so many pixels
   { type: "colloquy:step", height }   the next step is shown
   { type: "colloquy:started" }        and `answered` and `completed`, to the page that answered `ready` alone
   { type: "colloquy:visit", token, until }  keep this token until then (seconds of the epoch); null: forget it
   and to the frame, in answer to `ready`:
   { type: "colloquy:host", token }    what is kept, or null */
(() => {
  "use strict";
  const MIN_HEIGHT = 120; // pixels
  const LEAST_ROOM = 360; // in a lower window the frame reaches out of it
  const MAX_TOKEN = 1000; // characters
  const LONGEST = 366 * 24 * 3600; // seconds
  const PREFIX = "colloquy:";
  const VISIT = "colloquy-visit"; // in the frame's address
  const script = /** @type {HTMLScriptElement | null} */ (document.currentScript);
  const survey = script && script.dataset.survey;
  if (!survey) return;
  const origin = new URL(script.src).origin;
  const url = new URL(survey.includes("/") ? survey : `/s/${survey}`, origin);
  if (url.origin !== origin) return; // only surveys of the site that serves this script
  url.searchParams.set("embed", "1");
  ["theme", "accent"].forEach((look) => {
    if (script.dataset[look]) url.searchParams.set(`colloquy-${look}`, script.dataset[look].replace("#", ""));
  });

  /* If the browser stores no cookie for the frame, this script stores an encrypted token, which only the survey's
     site can read. The token lasts as long as the cookie would; without storage, as long as this page. */

  const SITE = `${PREFIX}${origin}/`;
  const name = `${PREFIX}${origin}${url.pathname}`;
  const now = () => Date.now() / 1000;
  let inMemory = null;
  let storage = null;
  try {
    storage = localStorage;
    removeExpired();
  } catch { /* blocked */ }

  function removeExpired() {
    Object.keys(storage).filter((each) => each.startsWith(SITE)).forEach((each) => {
      if (!isCurrent(parse(storage.getItem(each)))) storage.removeItem(each);
    });
  }

  function parse(text) {
    try { return JSON.parse(text); } catch { return null; }
  }

  function isCurrent(visit) {
    return typeof visit?.token === "string" && visit.until > now();
  }

  function keptToken() {
    let kept = inMemory;
    try { kept = parse(storage.getItem(name)) || inMemory; } catch { /* blocked */ }
    return isCurrent(kept) ? kept.token : null;
  }

  function forgetStored() {
    try { storage.removeItem(name); } catch { /* blocked */ }
  }

  function keep({ token, until }) {
    if (token === null) {
      inMemory = null;
      forgetStored();
      return;
    }
    if (typeof token !== "string" || token.length > MAX_TOKEN || !Number.isFinite(until)) return;
    inMemory = { token, until: Math.min(until, now() + LONGEST) };
    try { storage.setItem(name, JSON.stringify(inMemory)); } catch { forgetStored(); } // an old one would be used first
  }

  const token = keptToken();
  if (token) url.searchParams.set(VISIT, token);

  const frame = document.createElement("iframe");
  frame.src = url.href;
  frame.className = "colloquy";
  frame.title = script.dataset.title || "Survey";
  frame.loading = "lazy";
  frame.allow = "autoplay; fullscreen; picture-in-picture"; // for the videos of a survey
  Object.assign(frame.style, { display: "block", inlineSize: "100%", blockSize: "480px", border: "0" });
  script.after(frame);

  let wanted = 0; // the height of the content

  function fit(height) {
    if (!Number.isFinite(height)) return;
    wanted = height;
    const { top, bottom } = room();
    const most = Math.max(bottom - top - pixels(getComputedStyle(frame).scrollMarginTop), LEAST_ROOM);
    frame.style.blockSize = `${Math.min(Math.max(height, MIN_HEIGHT), most)}px`;
  }

  addEventListener("resize", () => { if (wanted) fit(wanted); });

  /* After a step the frame comes into view: its top may be far above after a long question. */

  const reducedMotion = matchMedia("(prefers-reduced-motion: reduce)");
  const pixels = (length) => parseFloat(length) || 0; // "auto" is none

  function room() { // what the page and the boxes around the frame leave
    const root = getComputedStyle(document.documentElement);
    let [top, bottom] = [pixels(root.scrollPaddingTop), innerHeight];
    for (let box = frame.parentElement; box && box !== document.body; box = box.parentElement) {
      const style = getComputedStyle(box);
      if (box !== document.documentElement && /auto|scroll/.test(style.overflowY)) {
        const edges = box.getBoundingClientRect();
        top = Math.max(top, edges.top + pixels(style.scrollPaddingTop));
        bottom = Math.min(bottom, edges.bottom);
      }
    }
    return { top, bottom };
  }

  function isInView() { // all of it, since it is no taller than what is left
    const { top, bottom } = room();
    const box = frame.getBoundingClientRect();
    const margin = pixels(getComputedStyle(frame).scrollMarginTop);
    return box.top + 1 >= top + margin && box.bottom - 1 <= bottom;
  }

  function bringIntoView() {
    if (isInView()) return;
    const block = frame.getBoundingClientRect().top < room().top ? "start" : "nearest";
    frame.scrollIntoView({ block, behavior: reducedMotion.matches ? "instant" : "smooth" });
  }

  let hasScript = false; // in the frame; without it, a step is a page
  let loads = 0;
  frame.addEventListener("load", () => {
    loads += 1;
    if (loads > 1 && !hasScript) bringIntoView();
  });

  const ACTS = {
    ready() {
      hasScript = true;
      frame.contentWindow?.postMessage({ type: "colloquy:host", token: keptToken() }, origin);
    },
    height: ({ height }) => fit(height),
    step({ height }) {
      fit(height);
      bringIntoView();
    },
    visit: keep,
    started: () => announce("started"),
    answered: () => announce("answered"),
    completed: () => announce("completed"),
  };

  function announce(event) {
    frame.dispatchEvent(new CustomEvent(PREFIX + event, { bubbles: true }));
  }

  addEventListener("message", (event) => {
    if (event.origin !== origin || event.source !== frame.contentWindow) return;
    const message = event.data;
    if (typeof message?.type !== "string" || !message.type.startsWith(PREFIX)) return;
    const act = message.type.slice(PREFIX.length);
    if (Object.hasOwn(ACTS, act)) ACTS[act](message);
  });
})();
