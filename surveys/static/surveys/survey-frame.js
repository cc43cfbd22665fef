/* The page in a frame of another site: sends its height and its steps to the script around it (embed.js), what happens
   (started, answered, completed; no answers), and the visitor's token if cookies are blocked. Without that script
   nothing answers, and the page works all the same. */
(() => {
  "use strict";
  if (parent === window) return;
  const VISIT = "colloquy-visit";
  /** @param {string} id */
  const byId = (id) => /** @type {HTMLElement} */ (document.getElementById(id));
  const height = () => Math.ceil(document.body.getBoundingClientRect().height);
  const tell = (message) => parent.postMessage(message, "*"); // nothing in it is a secret

  new ResizeObserver(() => tell({ type: "colloquy:height", height: height() })).observe(document.body);

  let step = byId("step");
  document.addEventListener("htmx:afterSettle", () => {
    takeToken();
    handOver();
    if (byId("step") === step) return;
    step = byId("step");
    scrollTo({ top: step.getBoundingClientRect().top + scrollY - 16, behavior: "instant" }); // where the frame scrolls
    step.querySelector(".error")?.scrollIntoView({ block: "nearest", behavior: "instant" });
    tell({ type: "colloquy:step", height: height() });
  });

  /* The visitor's token is sent only to the site that answers, not to a site that replaces it meanwhile */

  const address = new URL(location.href);
  const wasHandedOver = address.searchParams.has(VISIT);
  if (wasHandedOver) { // remove it from the address
    address.searchParams.delete(VISIT);
    history.replaceState(null, "", address);
  }

  const { knownBy } = byId("frame-visit").dataset;
  let host = ""; // the origin of the site around, once its script has answered
  let visit = null; // a token for that site, not sent yet
  /** @type {string[]} */
  let events = []; // what has happened, not sent yet
  takeToken();

  function takeToken() { // once: htmx settles each part of a step
    const { dataset } = byId("frame-visit");
    if (dataset.token) visit = { token: dataset.token, until: Number(dataset.until) };
    events.push(...(dataset.events || "").split(" ").filter(Boolean));
    delete dataset.token;
    delete dataset.events;
  }

  function handOver() {
    if (!host) return;
    if (visit) parent.postMessage({ type: "colloquy:visit", ...visit }, host);
    events.forEach((name) => parent.postMessage({ type: `colloquy:${name}` }, host));
    visit = null;
    events = [];
  }

  addEventListener("message", (event) => {
    if (event.source !== parent || event.data?.type !== "colloquy:host" || event.origin === "null") return;
    const isFirst = !host;
    host = event.origin;
    document.documentElement.classList.add("fitted");
    const { token } = event.data;
    if (isFirst && token && !knownBy && !wasHandedOver && step === byId("step")) { // the frame alone was loaded anew
      address.searchParams.set(VISIT, token);
      location.replace(address);
      return;
    }
    if (token && knownBy === "cookie") visit = { token: null, until: 0 };
    handOver();
  });

  tell({ type: "colloquy:ready" });
})();
