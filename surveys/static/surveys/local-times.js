/* Shows each time of a respondent's page in their own time zone, with its name. Without this script, times are UTC. */
const localTimes = (() => {
  "use strict";
  /* In the language of the page's own texts, with the month's name and 24 hours: no reader can take the month for the
     day, or noon for midnight. */
  const { lang } = document.documentElement;
  const written = new Intl.DateTimeFormat(lang === "en" ? "en-GB" : lang, {
    weekday: "long", day: "numeric", month: "long", year: "numeric",
    hour: "2-digit", minute: "2-digit", timeZoneName: "short",
  });

  function show(part) {
    part.querySelectorAll("time[data-local]").forEach((time) => {
      time.textContent = written.format(new Date(time.dateTime));
    });
  }

  show(document);
  return { show };
})();
