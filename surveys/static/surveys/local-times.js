/* Shows each time of a visitor's page in the visitor's own zone, which is named. Without this it is in UTC. */
const localTimes = (() => {
  "use strict";
  const options = {
    weekday: "long", day: "numeric", month: "long", year: "numeric",
    hour: "numeric", minute: "2-digit", timeZoneName: "short",
  };

  function show(part) {
    part.querySelectorAll("time[data-local]").forEach((time) => {
      try {
        const written = new Intl.DateTimeFormat(document.documentElement.lang || "en", options);
        time.textContent = written.format(new Date(time.dateTime));
      } catch { /* keep the time in UTC */ }
    });
  }

  show(document);
  return { show };
})();
