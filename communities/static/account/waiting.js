// A part with data-waiting is fetched again each second until it waits no more. Without scripts there is a link.

const SECOND = 1000;

async function look() {
  const part = document.querySelector("[data-waiting]");
  if (!part) return;
  try {
    const answer = await fetch(location.href);
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    const now = page.getElementById(part.id);
    if (answer.ok && now && !now.hasAttribute("data-waiting")) {
      part.replaceChildren(...now.childNodes); // the same part, so that screen readers tell what is new
      part.removeAttribute("data-waiting");
      return;
    }
  } catch {
    // offline for a moment
  }
  setTimeout(look, SECOND);
}

setTimeout(look, SECOND);
