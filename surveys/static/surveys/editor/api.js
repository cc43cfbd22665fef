/* Requests to the editor's own addresses. An answer is `{status, data}`. Without an answer, a request throws
   `Disconnected` (no network, or a fault of the server) or `SignedOut`. */

export class Disconnected extends Error {}
export class SignedOut extends Error {}

const TROUBLE = new Set([429, 500, 502, 503, 504]);

/** `request(method, url, body)` for the page in `document`, whose form holds the token against forgery.
 *  @param {string} pageUrl */
export function createRequest(pageUrl) {
  let token = tokenIn(document);

  async function send(method, url, body, options) {
    try {
      return await fetch(url, {
        method, credentials: "same-origin", ...options,
        headers: { Accept: "application/json", "X-CSRFToken": token,
          ...(body === undefined ? {} : { "Content-Type": "application/json" }) },
        body: body === undefined ? undefined : JSON.stringify(body),
      });
    } catch {
      throw new Disconnected();
    }
  }

  return async function request(method, url, body, options = {}) {
    let response = await send(method, url, body, options);
    if (response.status === 403) { // the token changes with each sign-in
      token = await freshToken(pageUrl);
      response = await send(method, url, body, options);
    }
    if (response.status === 401 || isSignIn(response)) throw new SignedOut();
    if (TROUBLE.has(response.status)) throw new Disconnected();
    return { status: response.status, data: await parsed(response) };
  };
}

function tokenIn(page) {
  return page.querySelector("[name=csrfmiddlewaretoken]")?.value ?? "";
}

async function freshToken(pageUrl) {
  return tokenIn(await readPage(pageUrl));
}

/** The present state from the page; null if the page cannot be opened any more. Throws as a request does.
 *  @param {string} pageUrl @returns {Promise<PageState | null>} */
export async function readState(pageUrl) {
  return JSON.parse((await readPage(pageUrl)).getElementById("editor-state")?.textContent ?? "null");
}

async function readPage(pageUrl) {
  let response;
  let source;
  try {
    response = await fetch(pageUrl, { credentials: "same-origin", headers: { Accept: "text/html" } });
    source = await response.text();
  } catch {
    throw new Disconnected();
  }
  if (response.status === 401 || isSignIn(response)) throw new SignedOut();
  if (TROUBLE.has(response.status)) throw new Disconnected();
  return new DOMParser().parseFromString(source, "text/html");
}

/** Whether the response is a redirect to the page for signing in. */
function isSignIn(response) {
  return response.redirected && /login|sign-?in/.test(new URL(response.url).pathname);
}

async function parsed(response) {
  if (response.status === 204) return null;
  const isJson = (response.headers.get("Content-Type") ?? "").includes("json");
  return isJson ? response.json() : null;
}
