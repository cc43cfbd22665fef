/* The pages work without this. With it: keys, focus, growing fields, rankings that move, timed steps, and
   answers that outlive a lost connection. Everything is found by data attributes; htmx does the sending. */
(() => {
  "use strict";
  const page = document.documentElement;
  const isFramed = page.classList.contains("framed");
  const lang = page.lang || "en";
  const byId = (id) => document.getElementById(id);
  const calm = matchMedia("(prefers-reduced-motion: reduce)");
  const desk = matchMedia("(hover: hover) and (pointer: fine)");
  let step = null;
  let timers = [];

  const say = (text) => { byId("live").textContent = text; };
  const fill = (text, values) => text.replace(/\{(\w+)\}/g, (whole, name) => values[name] ?? whole);
  const main = () => step.querySelector(".button.main");

  /* A step arrives: put everything in place that needs a script */

  function arrive(isFirst) {
    const now = byId("step");
    if (!now || now === step) return;
    step = now;
    step.tabIndex = -1;
    timers.forEach(clearTimeout);
    timers = [];
    tellTimes();
    step.querySelectorAll("[data-ranking]").forEach(makeSortable);
    step.querySelectorAll("textarea[data-longest]").forEach(grow);
    if (step.dataset.pause) waitAndGoOn(Number(step.dataset.pause) * 1000);
    place(isFirst);
    focus(isFirst);
    if (!isFirst) say(step.dataset.announce || "");
  }

  function place(isFirst) {
    const past = byId("past");
    if (!past || !past.children.length) return;
    if (isFramed) past.scrollTop = past.scrollHeight;
    else if (!isFirst || !location.hash) step.scrollIntoView({ block: "start" });
  }

  function focus(isFirst) {
    const entry = step.querySelector("textarea.entry:not([readonly]), input.entry");
    const target = byId("summary") || (desk.matches && entry) || byId("question");
    if (!target || (isFirst && isFramed)) return; // a frame must not take the focus of the page around it
    target.focus({ preventScroll: true });
    if (target === entry) entry.setSelectionRange(entry.value.length, entry.value.length);
  }

  function tellTimes() {
    const shape = { weekday: "long", day: "numeric", month: "long", year: "numeric", hour: "numeric", minute: "2-digit", timeZoneName: "short" };
    step.querySelectorAll("time[data-local]").forEach((time) => {
      try { time.textContent = new Intl.DateTimeFormat(lang, shape).format(new Date(time.dateTime)); } catch { /* UTC stays */ }
    });
  }

  function waitAndGoOn(pause) {
    const stay = step.querySelector("[data-stay]");
    const typing = step.querySelector(".typing");
    const goOn = () => {
      if (document.hidden) document.addEventListener("visibilitychange", goOn, { once: true });
      else main()?.click();
    };
    if (!calm.matches) timers.push(setTimeout(() => typing.classList.add("on"), Math.max(0, pause - 1200)));
    timers.push(setTimeout(goOn, pause));
    stay.hidden = false;
    stay.addEventListener("click", () => {
      timers.forEach(clearTimeout);
      document.removeEventListener("visibilitychange", goOn);
      typing.classList.remove("on");
      stay.hidden = true;
      main().focus();
    });
  }

  /* Text that grows, and counts when it is nearly too long */

  function grow(area) {
    const left = area.parentElement.querySelector(".left-over");
    const longest = Number(area.dataset.longest);
    const fit = () => {
      if (!CSS.supports("field-sizing", "content")) {
        area.style.blockSize = "auto";
        area.style.blockSize = `${area.scrollHeight + 2}px`;
      }
      const rest = longest - [...area.value.trim()].length;
      left.hidden = rest > longest / 10;
      if (!left.hidden) left.textContent = fill(rest < 0 ? left.dataset.over : left.dataset.left, { n: Math.abs(rest).toLocaleString(lang) });
    };
    area.addEventListener("input", fit);
    fit();
  }

  /* Rankings: the numbered menus stay in the form, buttons and dragging fill them */

  const ARROWS = { up: "M6 15l6-6 6 6", down: "M6 9l6 6 6-6" };

  function makeSortable(list) {
    const counted = Number(list.dataset.ranking);
    const rank = (item) => Number(item.querySelector("select").value) || Infinity;
    const items = [...list.children].sort((a, b) => (rank(a) === rank(b) ? 0 : rank(a) - rank(b)));
    const name = (item) => item.querySelector(".text").textContent;
    list.append(...items);
    list.classList.add("sorts");

    const number = () => [...list.children].forEach((item, n) => {
      const isCounted = n < counted;
      item.querySelector("select").value = isCounted ? String(n + 1) : "";
      item.querySelector(".place").textContent = isCounted ? n + 1 : "–";
      item.classList.toggle("uncounted", !isCounted);
      item.querySelector("[data-way=up]").setAttribute("aria-disabled", n === 0);
      item.querySelector("[data-way=down]").setAttribute("aria-disabled", n === list.children.length - 1);
    });
    const tell = (item) => say(fill(list.dataset.moved, { item: name(item), n: [...list.children].indexOf(item) + 1, all: list.children.length }));
    const move = (item, way, button) => {
      const other = way === "up" ? item.previousElementSibling : item.nextElementSibling;
      if (!other) return;
      if (way === "up") other.before(item); else other.after(item);
      number();
      button.focus();
      tell(item);
    };

    items.forEach((item) => {
      item.querySelector("label").removeAttribute("for");
      ["up", "down"].forEach((way) => {
        const button = document.createElement("button");
        Object.assign(button, { type: "button", className: "move" });
        button.dataset.way = way;
        button.setAttribute("aria-label", fill(list.dataset[way], { item: name(item) }));
        button.innerHTML = `<svg viewBox="0 0 24 24" aria-hidden="true"><path d="${ARROWS[way]}"/></svg>`;
        button.addEventListener("click", () => move(item, way, button));
        item.append(button);
      });
      item.addEventListener("pointerdown", (event) => {
        const isHandle = event.pointerType === "mouse" ? !event.target.closest("button") : event.target.closest(".place");
        if (isHandle && event.button === 0) drag(list, item, event, number, tell);
      });
    });
    number();
  }

  function drag(list, item, start, number, tell) {
    start.preventDefault();
    item.setPointerCapture(start.pointerId);
    item.classList.add("held");
    const over = (event) => {
      const others = [...list.children].filter((other) => other !== item);
      const next = others.find((other) => {
        const box = other.getBoundingClientRect();
        return event.clientY < box.top + box.height / 2;
      });
      const wanted = next ? others.indexOf(next) : others.length;
      const place = () => [...list.children].indexOf(item);
      if (place() === wanted) return;
      // The others move: an element that leaves its place in the document loses the pointer.
      while (place() > wanted) item.after(item.previousElementSibling);
      while (place() < wanted) item.before(item.nextElementSibling);
      number();
    };
    const drop = () => {
      item.classList.remove("held");
      item.removeEventListener("pointermove", over);
      tell(item);
    };
    item.addEventListener("pointermove", over);
    item.addEventListener("lostpointercapture", drop, { once: true });
  }

  /* Keys: only while the focus is in the step, so they surprise nobody who dictates or reads elsewhere */

  let lastKey = { key: "", at: 0 };

  document.addEventListener("keydown", (event) => {
    if (!step || event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    const target = event.target;
    if (!(target instanceof Element) || !step.contains(target)) return;
    if (event.key === "Enter") return enter(event, target);
    if (target.matches("textarea, select, input:not([type=radio]):not([type=checkbox])")) return;
    const key = event.key.toLowerCase();
    const joined = event.timeStamp - lastKey.at < 1000 ? lastKey.key + key : key;
    const input = chosenBy(joined) || chosenBy(key);
    lastKey = { key, at: event.timeStamp };
    if (!input) return;
    event.preventDefault();
    input.focus();
    input.click();
  });

  const chosenBy = (key) => (/^[a-z0-9]+$/.test(key) ? step.querySelector(`[data-key="${key}"]`) : null);

  function enter(event, target) {
    if (target.closest("button, a, select, summary, [readonly]")) return;
    if (target.matches("textarea") && (event.shiftKey || !desk.matches)) return;
    if (!main()) return;
    event.preventDefault();
    if (!event.repeat) main().click();
  }

  /* Sending: what could not be sent stays, and goes out again */

  const trouble = byId("trouble");
  const [words, again] = trouble ? trouble.children : [];
  let unsent = null;
  let wait = 0;
  let retry = 0;

  function keep(event, isOffline) {
    unsent = event.detail.requestConfig.triggeringEvent?.submitter || main();
    words.textContent = isOffline ? trouble.dataset.offline : trouble.dataset.fault;
    again.hidden = false;
    trouble.hidden = false;
    page.classList.remove("sending");
    clearTimeout(retry);
    if (isOffline) {
      wait = Math.min(wait ? wait * 2 : 2000, 30000);
      retry = setTimeout(resend, wait);
    }
  }

  function resend() {
    clearTimeout(retry);
    if (!unsent) return;
    (unsent.isConnected ? unsent : main())?.click(); // a click, so that htmx sends the button's value too
  }

  function settle() {
    unsent = null;
    wait = 0;
    clearTimeout(retry);
    trouble.hidden = true;
  }

  if (trouble) {
    again.addEventListener("click", resend);
    addEventListener("online", resend);
    document.addEventListener("htmx:sendError", (event) => keep(event, true));
    document.addEventListener("htmx:timeout", (event) => keep(event, true));
    document.addEventListener("htmx:responseError", (event) => keep(event, false));
  }
  document.addEventListener("htmx:beforeRequest", () => page.classList.add("sending"));
  let reached = "";
  document.addEventListener("htmx:beforeSwap", (event) => {
    reached = byId("reached")?.getAttribute("width");
    page.classList.add("swapped"); // the first page stands at once, those that follow slide in
    // Refusals that are not pages of ours (a proxy's, say) must not replace what was typed.
    if (event.detail.shouldSwap && !event.detail.xhr.responseText.includes('id="step"')) {
      event.detail.shouldSwap = false;
      keep(event, false);
    }
  });
  document.addEventListener("htmx:afterSettle", () => {
    page.classList.remove("sending");
    if (byId("step") === step) return;
    settle();
    slide(byId("reached"));
    const past = byId("past");
    past?.querySelectorAll("[id]").forEach((item) => { // an answer sent twice is said once
      const twins = past.querySelectorAll(`[id="${item.id}"]`);
      if (twins.length > 1) twins[0].remove();
    });
    arrive(false);
  });

  function slide(bar) { // from where the bar stood before
    if (!bar || !reached) return;
    const now = bar.getAttribute("width");
    bar.setAttribute("width", reached);
    bar.getBoundingClientRect();
    bar.setAttribute("width", now);
  }

  /* In a frame: tell the page around it how tall this one is */

  if (isFramed && parent !== window) {
    new ResizeObserver(() => {
      parent.postMessage({ type: "colloquy:height", height: Math.ceil(document.body.getBoundingClientRect().height) }, "*");
    }).observe(document.body);
  }

  arrive(true);
})();
