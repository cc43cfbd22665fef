// Shows the progress of a long download. The page contains the number of rows. Without this script, the browser's
// own list of downloads shows the progress.

const EVERY = 1000; // milliseconds
const PATIENCE = 30; // looks without news, after which the download has probably been stopped

async function rowsSoFar(address, watch) {
  try {
    const response = await fetch(`${address}?watch=${watch}`, { headers: { Accept: "application/json" } });
    return response.ok ? (await response.json()).rows : null;
  } catch {
    return null; // looked at again in a second
  }
}

function follow(section, watch) {
  const total = Number(section.dataset.rows);
  const text = section.querySelector("#export-progress");
  const bar = section.querySelector("progress");
  section.querySelector("[data-progress]").hidden = false;
  const format = new Intl.NumberFormat(document.documentElement.lang);
  bar.value = 0;
  text.textContent = "The file is being written.";
  let last = 0;
  let looks = 0;
  const timer = setInterval(async () => {
    const rows = (await rowsSoFar(section.dataset.watch, watch)) ?? last;
    looks = rows > last ? 0 : looks + 1;
    last = rows;
    bar.value = Math.min(1, rows / total);
    if (rows) text.textContent = `${format.format(rows)} of ${format.format(total)} rows are written.`;
    if (rows >= total || looks > PATIENCE) clearInterval(timer);
    if (rows >= total) text.textContent = "All rows are written.";
  }, EVERY);
}

function watchForm(section, form) {
  const watch = crypto.randomUUID();
  const field = form.elements.watch
    ?? form.appendChild(Object.assign(document.createElement("input"), { type: "hidden", name: "watch" }));
  field.value = watch;
  follow(section, watch);
}

for (const section of document.querySelectorAll("[data-exports][data-watch]")) {
  section.addEventListener("submit", (event) => {
    if ("randomUUID" in crypto) watchForm(section, event.target);
  });
  section.addEventListener("click", (event) => {
    const link = /** @type {Element} */ (event.target).closest("a");
    if (!link || !("randomUUID" in crypto)) return; // absent on pages without encryption
    const watch = crypto.randomUUID();
    const address = new URL(link.href);
    address.searchParams.set("watch", watch);
    link.href = address.href;
    follow(section, watch);
  });
}
