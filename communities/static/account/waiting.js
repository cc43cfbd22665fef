// A part with data-waiting is fetched each second until it no longer has data-waiting. Without scripts there is a link.

const SECOND = 1000;

async function look() {
  const part = document.querySelector("[data-waiting]");
  if (!part) return;
  try {
    const answer = await fetch(location.href);
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    const now = page.getElementById(part.id);
    if (answer.ok && now && !now.hasAttribute("data-waiting")) {
      part.replaceChildren(...now.childNodes); // the same element, so screen readers announce the change
      part.removeAttribute("data-waiting");
      return;
    }
  } catch {
    // offline for a moment
  }
  setTimeout(look, SECOND);
}

setTimeout(look, SECOND);
