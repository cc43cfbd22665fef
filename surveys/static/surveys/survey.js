/* Progressive enhancement for the respondent's page, which also works without it: keyboard shortcuts, focus,
   growing text fields, sortable rankings, timed statements, and answers that survive a reload or a lost connection
   (with survey-typed.js and local-times.js). Elements are found by id and data attributes; htmx sends the forms. */
(() => {
  "use strict";
  const root = document.documentElement;
  const isFramed = root.classList.contains("framed");
  const isInside = window.parent !== window; // also in the frame of a preview, which is no frame of another site
  const lang = root.lang || "en";
  const byId = (id) => document.getElementById(id);
  const reducedMotion = matchMedia("(prefers-reduced-motion: reduce)");
  const mouseAndKeyboard = matchMedia("(hover: hover) and (pointer: fine)");
  const LARGEST_PART = 0.3; // of the window, for the last exchange above a question
  const LARGEST_END = 0.45; // and for the texts above the end
  let step = null; // the current step's element
  let timers = [];
  let room = 0; // pixels of the window below the header

  const announce = (text) => { /** @type {HTMLElement} */ (byId("announcer")).textContent = text; };
  const format = (text, values) => text.replace(/\{(\w+)\}/g, (placeholder, name) => values[name] ?? placeholder);
  const mainButton = () => step.querySelector(".button.main");

  // A personal link that no cookie keeps is in the form. The address need not show it any longer.
  const query = new URLSearchParams(location.search);
  if (query.has("link")) {
    query.delete("link");
    query.delete("taken");
    history.replaceState(null, "", location.pathname + (query.size ? `?${query}` : "") + location.hash);
  }

  // A long title takes two lines. What is scrolled to stands below the whole header.
  function measureHeader() {
    const header = /** @type {HTMLElement | null} */ (document.querySelector(".top"));
    room = innerHeight - (header?.offsetHeight ?? 0);
    if (header) root.style.setProperty("--header", `${header.offsetHeight}px`);
  }

  addEventListener("resize", measureHeader);

  /* Set up a step that has just been loaded */

  function setUpStep(isFirst) {
    const current = byId("step");
    if (!current || current === step) return;
    step = current;
    step.tabIndex = -1;
    timers.forEach(clearTimeout);
    timers = [];
    measureHeader();
    localTimes.show(step);
    typedText.setUp(step);
    step.querySelectorAll("[data-ranked-count]").forEach(makeSortable);
    step.querySelectorAll("textarea[data-max-length]").forEach(setUpTextarea);
    step.querySelectorAll(".task").forEach(prove);
    step.querySelectorAll(".options:has([type=checkbox])").forEach(setUpTicks);
    step.querySelectorAll("[data-sign]").forEach(setUpSign);
    step.querySelectorAll("[data-print]").forEach((/** @type {any} */ button) => {
      button.hidden = false;
      button.addEventListener("click", () => print());
    });
    step.querySelectorAll("[data-share]").forEach(setUpShare);
    step.querySelectorAll("[data-own-text]").forEach(setUpOwnText);
    step.querySelectorAll("[data-search]").forEach((/** @type {any} */ menu) => { // few surveys have long menus
      import(menu.dataset.search).then((/** @type {any} */ module) => module.makeSearchable(menu)).catch(() => {});
    });
    if (step.dataset.pause) continueAfter(Number(step.dataset.pause) * 1000);
    scrollToStep(isFirst);
    focusStep(isFirst);
    if (!isFirst) announce(step.querySelector(".error") ? "" : step.dataset.announce || ""); // a field tells its error
    if (!isFirst && step.dataset.redirect) location.assign(step.dataset.redirect);
  }

  function scrollToStep(isFirst) {
    const history = byId("history");
    if (!history) return;
    if (!history.children.length) { // such as the review: it begins at its top, unless an error leads elsewhere
      if (!isFirst && !step.querySelector(".error")) scrollTo({ top: 0, behavior: "instant" });
      return;
    }
    const isOver = step.hasAttribute("data-is-over");
    const wanted = isOver ? closingText(history) : step.querySelector(".review") ? null : history.lastElementChild;
    const top = (element) => element?.getBoundingClientRect().top ?? 0;
    const above = wanted ? top(step) - top(wanted) : 0;
    const card = step.querySelector(".card")?.offsetHeight ?? 0;
    const hidesButton = card < room && card + above > room; // which is in view if the step stands alone
    const prompt = isOver ? null : byId("question");
    const isLow = prompt && above + top(prompt) - top(step) > room - innerHeight / 2; // below a picture
    const isShown =
      wanted && !hidesButton && !isLow && above < innerHeight * (isOver ? LARGEST_END : LARGEST_PART);
    const target = isShown ? wanted : step; // whole, or not at all
    step.classList.toggle("below-text", Boolean(isOver && isShown));
    root.style.setProperty("--above", isShown ? `calc(${above}px + 1rem)` : "0px");
    root.style.setProperty("--peek", isShown ? "" : "0rem"); // the style sheet's own, or nothing of the history
    if (isFramed) history.scrollTop = isOver && wanted ? wanted.offsetTop - history.offsetTop : history.scrollHeight;
    else if (isInside) scrollTo({ top: target.getBoundingClientRect().top + scrollY - 16 }); // not the page around it
    else if (!isFirst || !location.hash) {
      target.scrollIntoView({ block: "start" });
    }
  }

  // The first text after the last answer, such as the outcome of a quiz, is shown above the end.
  function closingText(history) {
    const steps = [...history.children];
    return steps[steps.findLastIndex((each) => each.querySelector(".from-respondent")) + 1];
  }

  function focusStep(isFirst) {
    const error = step.querySelector(".error");
    const entry = step.querySelector("textarea.entry:not([readonly]), input.entry:not([name=other], [name=email])");
    const note = step.querySelector(".note:has(~ .review)"); // what became of a mail
    const target = (error && controlOf(error)) || note || (mouseAndKeyboard.matches && entry) || byId("question");
    if (!target || (isFirst && isInside)) return; // a frame must not take the focus from the page around it
    if (isFirst && location.hash === "#history") return; // the respondent is reading other past steps
    target.focus({ preventScroll: true });
    error?.scrollIntoView({ block: "nearest" });
    if (target.id === "own-text") target.scrollIntoView({ block: "nearest" });
    if (target !== entry || entry.selectionStart === null) return; // an e-mail address or a date has no selection
    entry.setSelectionRange(entry.value.length, entry.value.length);
  }

  // The control that an error describes, which a screen reader reads with it; the error itself if none is visible.
  function controlOf(error) {
    const controls = [...step.querySelectorAll(`[aria-describedby~="${error.id}"]:is(input, select, textarea)`)]
      .filter((each) => each.checkVisibility?.() ?? each.offsetParent);
    const control = controls.find((each) => each.id === "own-text" && !each.value.trim()) || controls[0];
    if (!control) error.tabIndex = -1;
    return control || error;
  }

  /* An error is gone as soon as its answer changes, and is not said again. Its room stays: the options below must not
     move under a finger. */

  function mend(control) {
    const error = step.querySelector(`.error:is(${idsOf(control).map((id) => `#${id}`).join() || "a"})`);
    if (!error) return;
    error.classList.add("mended");
    step.querySelectorAll(`[aria-describedby~="${error.id}"]`).forEach((each) => {
      each.setAttribute("aria-describedby", idsOf(each).filter((id) => id !== error.id).join(" "));
      each.removeAttribute("aria-invalid");
    });
    if (!step.querySelector(".error:not(.mended)")) step.querySelector("fieldset")?.removeAttribute("aria-invalid");
  }

  const idsOf = (control) => (control.getAttribute("aria-describedby") ?? "").split(" ").filter(Boolean);

  ["input", "change"].forEach((name) => document.addEventListener(name, ({ target }) => {
    if (target instanceof Element && step?.contains(target)) mend(target);
  }));

  /* Sharing by the system's own dialog, else by copying the address; where neither is allowed, it is shown. */

  function setUpShare(box) {
    const { share: url, shared } = box.dataset;
    const status = box.querySelector("[role=status]");
    box.hidden = false;
    box.querySelector("button").addEventListener("click", () => {
      if (navigator.share) {
        navigator.share({ title: document.title, url }).catch(() => { /* the visitor closed the dialog */ });
        return;
      }
      Promise.resolve(navigator.clipboard?.writeText(url).then(() => shared))
        .catch(() => "").then((text) => { status.textContent = text || url; });
    });
  }

  /* A timed statement continues by itself, unless the respondent asks it to wait. */
  function continueAfter(pause) {
    const waitButton = step.querySelector("[data-wait-button]");
    const typing = step.querySelector(".typing");
    const proceed = () => {
      if (document.hidden) document.addEventListener("visibilitychange", proceed, { once: true });
      else mainButton()?.click();
    };
    if (!reducedMotion.matches) {
      timers.push(setTimeout(() => typing.classList.add("on"), Math.max(0, pause - 1200)));
    }
    timers.push(setTimeout(proceed, pause));
    if (!waitButton) return;
    waitButton.hidden = false;
    waitButton.addEventListener("click", () => {
      timers.forEach(clearTimeout);
      document.removeEventListener("visibilitychange", proceed);
      typing.classList.remove("on");
      waitButton.hidden = true;
      mainButton().focus();
    });
  }

  /* A video is loaded from its site once the respondent wants to see it. A timed statement waits for it. */
  document.addEventListener("click", ({ target }) => {
    const box = target instanceof Element ? target.closest(".play")?.parentElement : null;
    if (!box) return;
    /** @type {HTMLElement | null} */ (step.querySelector("[data-wait-button]:not([hidden])"))?.click();
    const frame = document.createElement("iframe");
    Object.assign(frame, { src: box.dataset.player, title: box.dataset.title, referrerPolicy: "strict-origin",
      allow: "autoplay; encrypted-media; fullscreen; picture-in-picture" }); // the site asks who shows its player
    frame.setAttribute("sandbox", "allow-scripts allow-same-origin allow-popups allow-popups-to-escape-sandbox "
      + "allow-presentation"); // so that it leads the survey's window nowhere
    box.replaceChildren(frame);
    frame.focus();
  });

  /* A proof of work: finds the number whose hash is known, and sends the form again. Browsers hash on https alone;
     elsewhere, and without scripts, the form asks a small question. */
  async function prove(task) {
    if (!window.crypto?.subtle) return;
    const { nonce, target, most, do: pressed } = task.dataset;
    const form = task.closest("form");
    const buttons = [...form.querySelectorAll("button[name=do]")];
    task.classList.add("is-solved-by-script");
    buttons.forEach((button) => { button.disabled = true; });
    form.setAttribute("aria-busy", "true");
    const wanted = target.match(/../g).map((pair) => parseInt(pair, 16));
    const encoder = new TextEncoder();
    for (let number = 0; number < Number(most) && task.isConnected; number += 1) {
      const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", encoder.encode(nonce + number)));
      if (wanted.every((byte, index) => byte === hash[index])) {
        form.elements.found.value = number;
        break;
      }
    }
    buttons.forEach((button) => { button.disabled = false; });
    form.removeAttribute("aria-busy");
    if (task.isConnected) buttons.find((button) => button.value === pressed)?.click();
  }

  /* Text fields grow with their text, and count the characters left when few remain */

  function setUpTextarea(area) {
    const counter = area.parentElement.querySelector(".characters-left");
    const maxLength = Number(area.dataset.maxLength);
    const update = () => {
      if (!CSS.supports("field-sizing", "content")) {
        area.style.blockSize = "auto";
        area.style.blockSize = `${area.scrollHeight + 2}px`;
      }
      const left = maxLength - [...area.value.trim()].length;
      counter.hidden = left > maxLength / 10;
      if (counter.hidden) return;
      const text = left < 0 ? counter.dataset.excess : counter.dataset.remaining;
      counter.textContent = format(text, { n: Math.abs(left).toLocaleString(lang) });
    };
    area.addEventListener("input", update);
    update();
  }

  /* The text for an option such as “Other” is asked for while the option is chosen. What was written waits for that
     option to be chosen again. A press leads on into the text; by keyboard, Tab does. */

  function setUpOwnText(box) {
    const entry = box.querySelector("input");
    const control = /** @type {HTMLInputElement | HTMLSelectElement} */ (step.querySelector("[name=option]"));
    const option = step.querySelector(`input[name=option][value="${box.dataset.ownText}"]`);
    let pressedAt = -Infinity;
    let waiting = "";
    const update = (leadsOn) => {
      const isChosen = option ? option.checked : control.value === box.dataset.ownText;
      if (isChosen === !box.hidden) return;
      box.hidden = !isChosen;
      [entry.value, waiting] = isChosen ? [waiting || entry.value, ""] : ["", entry.value];
      if (isChosen && leadsOn) entry.focus();
    };
    step.addEventListener("pointerdown", (event) => { pressedAt = event.timeStamp; });
    step.addEventListener("change", (event) => {
      if (event.target === entry) return;
      update(Boolean(option) && event.timeStamp - pressedAt < 1000);
      typedText.save();
    });
    update(false);
  }

  /* Number pads have no minus, so a button beside the field has it. */

  function setUpSign(entry) {
    if (!matchMedia("(pointer: coarse)").matches) return;
    const button = document.createElement("button");
    Object.assign(button, { type: "button", className: "sign", textContent: "±" });
    button.setAttribute("aria-label", entry.dataset.sign);
    button.addEventListener("click", () => {
      entry.value = entry.value.startsWith("-") ? entry.value.slice(1) : `-${entry.value}`;
      entry.dispatchEvent(new Event("input", { bubbles: true }));
      entry.focus();
    });
    entry.inputMode = entry.dataset.inputmode;
    entry.after(button);
  }

  /* An option such as “None of these” takes the ticks of all others away, and each of them takes its own. Once as many
     are ticked as the question takes, the others wait until one is taken away. */

  function setUpTicks(options) {
    const boxes = [...options.querySelectorAll("[type=checkbox]")];
    const together = boxes.filter((box) => !("exclusive" in box.dataset));
    const word = options.parentElement.querySelector(".full");
    const update = () => {
      if (!word) return;
      const isFull = together.filter((box) => box.checked).length >= Number(options.dataset.most);
      together.forEach((box) => { box.disabled = isFull && !box.checked; });
      word.textContent = isFull ? word.dataset.words : "";
    };
    options.addEventListener("change", ({ target: ticked }) => {
      const isAlone = "exclusive" in ticked.dataset;
      boxes.filter((box) => ticked.checked && box !== ticked && (isAlone || "exclusive" in box.dataset))
        .forEach((box) => { box.checked = false; });
      update();
      typedText.save();
    });
    update();
  }

  /* Rankings: the form keeps its numbered menus; buttons and dragging set their values. The initial order is not an
     answer: items get numbers when the respondent moves or chooses one, or confirms the order. If only the best
     items are ranked, the respondent chooses each; else all items are numbered at once. */

  const PATHS = { up: "M6 15l6-6 6 6", down: "M6 9l6 6 6-6", choose: "M12 5v14M5 12h14",
    remove: "M6 6l12 12M18 6L6 18" };

  function makeSortable(list) {
    const most = Number(list.dataset.rankedCount);
    const choosesBest = most < list.children.length;
    const openOrder = list.parentElement.querySelector("[data-order-is-open]");
    const confirm = openOrder?.querySelector("button");
    const nameOf = (item) => item.querySelector(".text").textContent;
    const indexOf = (item) => [...list.children].indexOf(item);
    const numberOf = (item) => Number(item.querySelector("select").value) || Infinity;
    const items = [...list.children].sort((a, b) => (numberOf(a) === numberOf(b) ? 0 : numberOf(a) - numberOf(b)));
    const numbered = items.filter((item) => numberOf(item) < Infinity).length;
    let ranked = choosesBest || numbered === items.length ? numbered : 0; // how many items from the top are ranked
    list.append(...items);
    list.classList.add("sortable");
    list.classList.toggle("of-the-best", choosesBest);

    const update = () => {
      [...list.children].forEach((item, index) => {
        const isRanked = index < ranked;
        item.querySelector("select").value = isRanked ? String(index + 1) : "";
        const position = item.querySelector(".position");
        position.textContent = isRanked ? index + 1 : "–";
        position.setAttribute("aria-hidden", !isRanked);
        item.classList.toggle("uncounted", !isRanked);
        item.querySelectorAll(".move").forEach((button) => {
          const { act } = button.dataset;
          button.hidden = choosesBest && (act === "choose" ? isRanked : !isRanked);
          const last = choosesBest ? ranked - 1 : list.children.length - 1;
          button.setAttribute("aria-disabled", (act === "up" && index === 0) || (act === "down" && index === last)
            || (act === "choose" && ranked === most));
        });
      });
      if (openOrder) openOrder.hidden = choosesBest || ranked > 0;
    };
    const say = (item) => {
      const index = indexOf(item);
      const text = index < ranked ? list.dataset.moved : list.dataset.unranked;
      announce(format(text, { item: nameOf(item), n: index + 1, all: choosesBest ? most : list.children.length }));
    };
    const changed = (item, count) => {
      ranked = choosesBest ? Math.min(most, count) : list.children.length;
      update();
      mend(list.querySelector("select"));
      typedText.save();
      onChanged();
      if (item) say(item);
    };
    const ACTS = {
      up: (item) => { item.previousElementSibling.before(item); changed(item, ranked); },
      down: (item) => { item.nextElementSibling.after(item); changed(item, ranked); },
      choose: (item) => { list.children[ranked].before(item); changed(item, ranked + 1); },
      remove: (item) => { list.children[ranked - 1].after(item); changed(item, ranked - 1); },
    };
    const focusNextChoice = () => {
      const next = ranked < most && list.children[ranked].querySelector("[data-act=choose]");
      (next || mainButton()).focus();
    };
    const addButton = (item, act) => {
      const button = document.createElement("button");
      Object.assign(button, { type: "button", className: "move" });
      button.dataset.act = act;
      button.setAttribute("aria-label", format(list.dataset[act], { item: nameOf(item) }));
      button.innerHTML = `<svg viewBox="0 0 24 24" aria-hidden="true"><path d="${PATHS[act]}"/></svg>`;
      button.addEventListener("click", () => {
        if (button.getAttribute("aria-disabled") === "true") return;
        ACTS[act](item);
        if (act === "choose") focusNextChoice();
        else (button.hidden ? item.querySelector(".move:not([hidden])") : button).focus();
      });
      item.querySelector(".moves").append(button);
    };
    // One item is in the order of Tab, so that it does not take 20 of them to pass a list; arrows lead to the others.
    const enter = (item) => {
      list.querySelectorAll(".move").forEach((button) => { button.tabIndex = item.contains(button) ? 0 : -1; });
    };
    list.addEventListener("focusin", (event) => enter(event.target.closest(".rank")));
    list.addEventListener("keydown", (event) => {
      const way = { ArrowUp: "previousElementSibling", ArrowDown: "nextElementSibling" }[event.key];
      const button = event.target.closest(".move");
      const next = way && button && button.closest(".rank")[way];
      if (!next) return;
      event.preventDefault();
      const same = next.querySelector(`.move[data-act=${button.dataset.act}]:not([hidden])`);
      (same || next.querySelector(".move:not([hidden])")).focus();
    });

    items.forEach((item) => {
      item.querySelector("label").removeAttribute("for");
      item.append(Object.assign(document.createElement("span"), { className: "moves" }));
      (choosesBest ? ["up", "down", "remove", "choose"] : ["up", "down"]).forEach((act) => addButton(item, act));
      let wasDragged = false;
      item.addEventListener("click", (event) => { // anywhere on an item that can be chosen
        const canChoose = choosesBest && ranked < most && indexOf(item) >= ranked;
        if (canChoose && !wasDragged && !event.target.closest("button")) ACTS.choose(item);
      });
      item.addEventListener("pointerdown", (event) => {
        wasDragged = false;
        // A mouse drags the whole item; a finger drags the number, so that it can scroll elsewhere.
        const isHandle = event.pointerType === "mouse"
          ? !event.target.closest("button")
          : event.target.closest(".position");
        if (!isHandle || event.button !== 0) return;
        const others = ranked - (indexOf(item) < ranked ? 1 : 0); // the other ranked items stay ranked
        const onMoved = () => {
          wasDragged = true;
          changed(null, others + (indexOf(item) <= others ? 1 : 0));
        };
        drag(list, item, event, onMoved, () => say(item));
      });
    });
    confirm?.addEventListener("click", () => {
      changed(null, list.children.length);
      announce(confirm.dataset.confirmed);
      mainButton().focus();
    });
    update();
    enter(list.children[0]);
    list.setAttribute("aria-description", list.dataset.arrows);
  }

  /** Moves an item with the pointer: `onMoved` after each change of the order, `onDropped` if there was one. */
  function drag(list, item, start, onMoved, onDropped) {
    let hasMoved = false;
    start.preventDefault();
    item.setPointerCapture(start.pointerId);
    item.classList.add("dragged");
    const onMove = (event) => {
      const others = [...list.children].filter((other) => other !== item);
      const next = others.find((other) => {
        const box = other.getBoundingClientRect();
        return event.clientY < box.top + box.height / 2;
      });
      const target = next ? others.indexOf(next) : others.length;
      const index = () => [...list.children].indexOf(item);
      if (index() === target) return;
      // Move the other items: an element that is moved in the document loses the pointer capture.
      while (index() > target) item.after(item.previousElementSibling);
      while (index() < target) item.before(item.nextElementSibling);
      hasMoved = true;
      onMoved();
    };
    const onDrop = () => {
      item.classList.remove("dragged");
      item.removeEventListener("pointermove", onMove);
      if (hasMoved) onDropped();
    };
    item.addEventListener("pointermove", onMove);
    item.addEventListener("lostpointercapture", onDrop, { once: true });
  }

  /* Keyboard shortcuts work only while the focus is in the step, so that dictation software and readers who are
     elsewhere on the page do not trigger them. */

  let lastKey = { key: "", at: 0 };

  document.addEventListener("keydown", (event) => {
    if (!step || event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    const target = event.target;
    if (!(target instanceof Element) || !step.contains(target)) return;
    if (event.key === "Enter") return onEnter(event, target);
    if (target.matches("textarea, select, input:not([type=radio]):not([type=checkbox])")) return;
    const key = event.key.toLowerCase();
    const twoKeys = event.timeStamp - lastKey.at < 1000 ? lastKey.key + key : key; // "1", "0" chooses 10
    const input = inputForKey(twoKeys) || inputForKey(key);
    lastKey = { key, at: event.timeStamp };
    if (!input) return;
    event.preventDefault();
    input.focus();
    input.click();
  });

  const inputForKey = (key) => (/^[a-z0-9]+$/.test(key) ? step.querySelector(`[data-key="${key}"]`) : null);

  function onEnter(event, target) {
    if (target.closest("button, a, select, summary, [readonly]")) return;
    if (target.matches("textarea") && (event.shiftKey || !mouseAndKeyboard.matches)) return;
    if (!mainButton()) return;
    event.preventDefault();
    if (!event.repeat) mainButton().click();
  }

  /* A choice by pointer goes on after a moment in which it can still be changed. By keyboard nothing goes on by
     itself: arrows choose each radio button that they pass. */

  const MOMENT = 600; // milliseconds
  let pressedAt = -Infinity; // a screen reader's click follows no press
  let moveTimer = 0;

  const stay = () => {
    clearTimeout(moveTimer);
    step?.querySelector(".moving-on")?.classList.remove("moving-on");
  };
  document.addEventListener("pointerdown", (event) => { pressedAt = event.timeStamp; stay(); }, true);
  document.addEventListener("keydown", () => { pressedAt = -Infinity; stay(); }, true);
  document.addEventListener("click", (event) => {
    const input = /** @type {HTMLInputElement} */ (event.target);
    const form = input instanceof HTMLInputElement && input.type === "radio" ? input.closest("[data-moves-on]") : null;
    stay();
    if (!form || event.timeStamp - pressedAt > 1000 || form.querySelector("#consent:not(:checked)")) return;
    if (form.querySelector("[data-own-text]")?.getAttribute("data-own-text") === input.value) return; // a text
    moveTimer = setTimeout(() => {
      stay();
      if (form.isConnected && input.checked) mainButton()?.click();
    }, MOMENT);
    timers.push(moveTimer);
    mainButton()?.classList.add("moving-on"); // fills meanwhile; a press anywhere keeps the question
  });

  /* Sending: an answer that could not be sent stays in the form and is sent again automatically, unless the respondent
     is changing it: half a sentence would be sent, and the next step would replace the text that they are typing. */

  const FIRST_DELAY = 2000; // milliseconds; doubled after each failed attempt
  const LONGEST_DELAY = 30000;
  const sendError = byId("send-error");
  const [errorText, retryButton] = /** @type {HTMLElement[]} */ ([...sendError?.children ?? []]);
  let unsentButton = null; // the button whose click has not reached the server
  let delay = 0;
  let retryTimer = 0;
  let isChanged = false; // since the click that failed

  function onSendFailed(event, isOffline) {
    if (!sendError) return;
    unsentButton = event.detail.requestConfig.triggeringEvent?.submitter || mainButton();
    errorText.textContent = (isOffline ? sendError.dataset.offline : sendError.dataset.fault) ?? "";
    retryButton.hidden = false;
    sendError.hidden = false;
    endSending();
    announce(""); // the alert says what happened
    clearTimeout(retryTimer);
    isChanged = false;
    if (isOffline) {
      delay = Math.min(delay ? delay * 2 : FIRST_DELAY, LONGEST_DELAY);
      retryTimer = setTimeout(resend, delay);
    }
  }

  function onChanged() {
    if (!sendError || !unsentButton || isChanged) return;
    isChanged = true;
    clearTimeout(retryTimer);
    errorText.textContent = sendError.dataset.changed ?? "";
  }

  function resend() {
    clearTimeout(retryTimer);
    if (!unsentButton) return;
    // Click the button, so that htmx sends its value too.
    (unsentButton.isConnected ? unsentButton : mainButton())?.click();
  }

  function clearSendError() {
    unsentButton = null;
    delay = 0;
    clearTimeout(retryTimer);
    if (sendError) sendError.hidden = true;
  }

  if (sendError) {
    retryButton.addEventListener("click", resend);
    addEventListener("online", () => { if (!isChanged) resend(); });
    document.addEventListener("input", (event) => { if (step.contains(event.target)) onChanged(); });
    addEventListener("beforeunload", (event) => { // an unsent answer is deleted with the tab
      if (unsentButton && !isInside) event.preventDefault();
    });
    document.addEventListener("htmx:sendError", (event) => onSendFailed(event, true));
    document.addEventListener("htmx:timeout", (event) => onSendFailed(event, true));
    document.addEventListener("htmx:responseError", (event) => onSendFailed(event, false));
  }
  let pressedButton = null;
  let slowTimer = 0;
  document.addEventListener("htmx:beforeRequest", (/** @type {any} */ event) => {
    pressedButton = event.detail.requestConfig.triggeringEvent?.submitter || mainButton();
    pressedButton?.form?.setAttribute("aria-busy", "true");
    slowTimer = setTimeout(() => { // most answers are sent before a message about it could be read
      pressedButton?.classList.add("busy");
      pressedButton?.setAttribute("data-sending", sendError?.dataset.sending ?? "");
      announce(sendError?.dataset.sending || "");
    }, 400);
    root.classList.add("sending");
    typedText.freeze();
  });
  function endSending() {
    clearTimeout(slowTimer);
    pressedButton?.classList.remove("busy");
    pressedButton?.form?.removeAttribute("aria-busy");
    root.classList.remove("sending");
    typedText.thaw();
  }
  let previousProgress = "";
  document.addEventListener("htmx:beforeSwap", (/** @type {any} */ event) => {
    previousProgress = byId("progress-bar")?.getAttribute("width") ?? "";
    root.classList.add("swapped"); // only steps after the first slide in
    // An error page that is not ours (a proxy's, for example) must not replace what was typed.
    if (event.detail.shouldSwap && !event.detail.xhr.responseText.includes('id="step"')) {
      event.detail.shouldSwap = false;
      onSendFailed(event, false);
    }
  });
  document.addEventListener("htmx:afterSettle", (/** @type {any} */ event) => {
    endSending();
    if (byId("step") === step) return;
    const before = typedText.name();
    clearSendError();
    animateProgress(byId("progress-bar"));
    const history = byId("history");
    history?.querySelectorAll("[id]").forEach((item) => { // an answer sent twice is shown once
      const twins = history.querySelectorAll(`[id="${item.id}"]`);
      if (twins.length > 1) twins[0].remove();
    });
    setUpStep(false);
    const sent = event.detail.requestConfig?.parameters;
    const does = sent?.get ? sent.get("do") : sent?.do;
    if (before !== typedText.name()) {
      document.querySelectorAll("[data-before-it-begins]").forEach((each) => each.remove());
      followInHistory(does);
    }
    typedText.settle(before, does);
  });

  /* The browser's Back steps back in the survey. Each step that was reached in this page has its own entry in the
     history, which knows how many steps are behind it; not in a frame, whose entries are those of the page around. */

  let depth = history.state?.depth ?? 0;
  if (!isInside) history.replaceState({ depth }, "");

  function followInHistory(does) {
    if (isInside || isSteppingBack) return;
    if (does !== "back") {
      if (!step.querySelector(".back")) return;
      depth += 1;
      history.pushState({ depth }, "");
    } else if (depth) {
      depth -= 1;
      history.back();
    }
  }

  let isSteppingBack = false;
  addEventListener("popstate", ({ state }) => {
    if (isInside) return;
    if (typeof state?.depth !== "number") history.replaceState({ depth }, ""); // a link to a part of the page
    else if (state.depth > depth) history.go(depth - state.depth); // an answer is sent by its button
    else if (state.depth < depth) stepBackTo(state.depth);
  });

  function stepBackTo(wanted) {
    const button = /** @type {HTMLElement | null} */ (step.querySelector(".back .button"));
    depth = wanted;
    if (!button) {
      history.go(-wanted - 1); // out of the survey
      return;
    }
    isSteppingBack = true;
    document.addEventListener("htmx:afterSettle", () => { isSteppingBack = false; }, { once: true });
    button.click();
  }

  function animateProgress(bar) { // from its previous width, since the element is new
    if (!bar || !previousProgress) return;
    const width = bar.getAttribute("width");
    bar.setAttribute("width", previousProgress);
    bar.getBoundingClientRect(); // forces a layout, so that the change of width is animated
    bar.setAttribute("width", width);
  }

  setUpStep(true);
})();
