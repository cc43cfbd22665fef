// Passkeys: forms with data-passkey="get" or "create" ask the browser, and send its answer.
// The options are in data-options, or at the address in data-ask.

const bytes = (text) => {
  const plain = atob(text.replace(/-/g, "+").replace(/_/g, "/"));
  return Uint8Array.from(plain, (letter) => letter.charCodeAt(0));
};
const text = (buffer) =>
  btoa(String.fromCharCode(...new Uint8Array(buffer))).replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "");
const withBytes = (list) => (list ?? []).map((each) => ({ ...each, id: bytes(each.id) }));

/** @param {{ publicKey: any }} options */
async function create({ publicKey }) {
  const credential = await navigator.credentials.create({
    publicKey: {
      ...publicKey,
      challenge: bytes(publicKey.challenge),
      user: { ...publicKey.user, id: bytes(publicKey.user.id) },
      excludeCredentials: withBytes(publicKey.excludeCredentials),
      authenticatorSelection: {
        ...publicKey.authenticatorSelection,
        residentKey: "required",
        requireResidentKey: true,
        userVerification: "required",
      },
      extensions: { credProps: true },
    },
  });
  const { response } = /** @type {any} */ (credential);
  return asJson(credential, {
    attestationObject: text(response.attestationObject),
    transports: response.getTransports?.() ?? [],
  });
}

/** @param {{ publicKey: any }} options */
async function get({ publicKey }) {
  const credential = await navigator.credentials.get({
    publicKey: {
      ...publicKey,
      challenge: bytes(publicKey.challenge),
      allowCredentials: withBytes(publicKey.allowCredentials),
    },
  });
  const { authenticatorData, signature, userHandle } = /** @type {any} */ (credential).response;
  return asJson(credential, {
    authenticatorData: text(authenticatorData),
    signature: text(signature),
    userHandle: userHandle ? text(userHandle) : null,
  });
}

function asJson(credential, response) {
  return JSON.stringify({
    id: credential.id,
    rawId: text(credential.rawId),
    type: credential.type,
    authenticatorAttachment: credential.authenticatorAttachment ?? null,
    clientExtensionResults: credential.getClientExtensionResults(),
    response: { clientDataJSON: text(credential.response.clientDataJSON), ...response },
  });
}

async function optionsOf(form) {
  if (form.dataset.options) return JSON.parse(form.dataset.options);
  const answer = await fetch(form.dataset.ask, { headers: { Accept: "application/json" } });
  if (!answer.ok) throw new Error(`The options came with the status ${answer.status}.`);
  return (await answer.json()).request_options;
}

/** @type {NodeListOf<HTMLFormElement>} */
const forms = document.querySelectorAll("form[data-passkey]");
for (const form of window.PublicKeyCredential ? forms : []) {
  const failed = /** @type {HTMLElement} */ (form.querySelector("[role=alert]"));
  form.hidden = false;
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    failed.hidden = true;
    try {
      const ask = form.dataset.passkey === "create" ? create : get;
      const field = /** @type {HTMLInputElement} */ (form.elements.namedItem("credential"));
      field.value = await ask(await optionsOf(form));
      form.submit();
    } catch {
      failed.hidden = false; // also when the person cancels
    }
  });
}
