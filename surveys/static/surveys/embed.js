/* Embeds a survey in any page:
   <script src="https://surveys.example/static/surveys/embed.js" data-survey="https://surveys.example/s/abc"
     async></script>

   `data-survey` is the survey's URL or its slug; `data-title` names the frame for screen readers. */
(() => {
  "use strict";
  const MIN_HEIGHT = 120; // pixels
  const MAX_HEIGHT = 20000;
  const script = document.currentScript;
  const survey = script && script.dataset.survey;
  if (!survey) return;
  const origin = new URL(script.src).origin;
  const url = new URL(survey.includes("/") ? survey : `/s/${survey}`, origin);
  if (url.origin !== origin) return; // only surveys of the site that serves this script
  url.searchParams.set("embed", "1");

  const frame = document.createElement("iframe");
  frame.src = url.href;
  frame.title = script.dataset.title || "Survey";
  frame.loading = "lazy";
  Object.assign(frame.style, { display: "block", inlineSize: "100%", blockSize: "480px", border: "0" });
  script.after(frame);

  addEventListener("message", (event) => {
    if (event.origin !== origin || event.source !== frame.contentWindow) return;
    const message = event.data;
    if (!message || message.type !== "colloquy:height" || !Number.isFinite(message.height)) return;
    frame.style.blockSize = `${Math.min(Math.max(message.height, MIN_HEIGHT), MAX_HEIGHT)}px`;
  });
})();
