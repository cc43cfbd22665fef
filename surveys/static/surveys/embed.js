/* Put a survey into any page:
   <script src="https://surveys.example/static/surveys/embed.js" data-survey="https://surveys.example/s/abc" async></script> */
(() => {
  "use strict";
  const script = document.currentScript;
  const given = script && script.dataset.survey;
  if (!given) return;
  const home = new URL(script.src).origin;
  const address = new URL(given.includes("/") ? given : `/s/${given}`, home);
  if (address.origin !== home) return; // the frame comes from where this script comes from
  address.searchParams.set("embed", "1");

  const frame = document.createElement("iframe");
  frame.src = address.href;
  frame.title = script.dataset.title || "Survey";
  frame.loading = "lazy";
  Object.assign(frame.style, { display: "block", inlineSize: "100%", blockSize: "480px", border: "0" });
  script.after(frame);

  addEventListener("message", (event) => {
    if (event.origin !== home || event.source !== frame.contentWindow) return;
    const told = event.data;
    if (!told || told.type !== "colloquy:height" || !Number.isFinite(told.height)) return;
    frame.style.blockSize = `${Math.min(Math.max(told.height, 120), 20000)}px`;
  });
})();
