/* Shows each time of a respondent's page in their own time zone, with its name. Without this script, times are UTC. */
const localTimes = (() => {
  "use strict";
  /* English, as the rest of the page, with the month's name and 24 hours, whatever the browser's language is: no
     reader can take the month for the day, or noon for midnight. */
  const written = new Intl.DateTimeFormat("en-GB", {
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
