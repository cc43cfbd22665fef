// Sends a file with responses or people as soon as it is chosen. Without this script its rows can be pasted.

const MOST_BYTES = 8_388_608;

/** @param {string} address @param {File} file @returns {Promise<{address?: string, rows?: string, note?: string}>} */
async function sent(address, file) {
  const token = document.querySelector("[name=csrfmiddlewaretoken]")?.getAttribute("value") ?? "";
  try {
    const response = await fetch(address, {
      method: "POST", body: file,
      headers: {
        Accept: "application/json", "Content-Type": "application/octet-stream", "X-CSRFToken": token,
        "X-File-Name": encodeURIComponent(file.name),
      },
    });
    const isJson = (response.headers.get("Content-Type") ?? "").includes("json");
    const answer = isJson ? await response.json() : {};
    if (response.ok && (answer.address || answer.rows)) return answer;
    return { note: answer.message ?? "The file could not be sent. Load the page again and retry." };
  } catch {
    return { note: "The file could not be sent, because there is no connection." };
  }
}

/** @type {NodeListOf<HTMLElement>} */
const boxes = document.querySelectorAll("[data-import]");
for (const box of boxes) {
  const input = /** @type {HTMLInputElement} */ (box.querySelector("input[type=file]"));
  const note = /** @type {HTMLElement} */ (box.querySelector("[role=status]"));
  box.hidden = false;
  input.addEventListener("change", async () => {
    const file = input.files?.[0];
    if (!file) return;
    note.classList.remove("error");
    const isLarge = file.size > MOST_BYTES;
    note.textContent = isLarge ? "" : "The file is being sent and read.";
    const answer = isLarge ? { note: "The file is larger than 8 MiB. Divide it into several files." }
      : await sent(box.dataset.import ?? "", file);
    if (answer.address) window.location.assign(answer.address);
    if (answer.rows) {
      const rows = /** @type {HTMLTextAreaElement} */ (document.querySelector("textarea[name=rows]"));
      rows.value = answer.rows;
      /** @type {HTMLButtonElement | null} */ (rows.form?.querySelector("button[value=check]") ?? null)?.click();
    }
    note.textContent = answer.note ?? "";
    note.classList.toggle("error", Boolean(answer.note));
    input.value = ""; // so that the same file may be chosen again
  });
}
