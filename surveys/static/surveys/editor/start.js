/* “Start from…”: a sentence from which AI writes a script, a template of the library, a file, another project's
   script, or an earlier version of this one. The result replaces the draft or is added at its end, as one step that
   can be undone. “Change by AI” is another way: AI changes the draft by an instruction, and the author reviews the
   changes by block.

     mountStart(element, store, { request, keeping, announce })   answers { open(), openAsAsked() } */

import { Disconnected, SignedOut } from "./api.js";
import { freeName, title, toWire, withKeys, wordsOf } from "./document.js";
import { afterPause, attribute, h, icon, inWords, plural, text } from "./dom.js";
import { previewFrame } from "./preview.js";
import { plainText } from "./reach.js";
import { carryName } from "./renaming.js";

const GOES_ON = "AI goes on writing. The button says when it is ready.";
const WAYS = { sentence: "A sentence", change: "A change by AI", template: "A template", file: "A file or text",
  project: "Another project", version: "An earlier version" };
const IS_LIVE = "While the project is open, its script cannot be replaced. Close the project first.";
const WORDS = { sentence: "Start from…", change: "Change by AI…" };
/** The two ways of using AI, with the words of their forms and messages. */
const ASKED = {
  sentence: { field: "intent", label: "What do you want to ask, and whom?", action: "Write the script",
    running: "The script is being written", ready: "Your script is ready", cost: costOf },
  change: { field: "instruction",
    label: "What shall AI change? For example “shorter”, “in German”, or “add a question on prices”.",
    action: "Change the draft", running: "The draft is being changed", ready: "Your changes are ready",
    cost: costOfChange },
};
const EVERY = 1_000; // milliseconds between two looks at a job
const MOST_MISSED = 30; // looks in a row without an answer, after which a job counts as lost
const MOST_BYTES = 900_000;
const MOST_BYTES_CONVERTED = 6_000_000; // of a questionnaire, which is sent as base64 within 8 MiB
/** Formats of other systems, with their names; none is guessed from the content. */
const FORMATS = { "": "What it seems to be", xlsform: "XLSForm (ODK, Kobo)", surveyjs: "SurveyJS", typeform: "Typeform",
  formbricks: "Formbricks", limesurvey: "LimeSurvey (.lss)", qualtrics: "Qualtrics (.qsf)", redcap: "REDCap dictionary",
  csv: "A table (CSV)", text: "Text: numbered questions" };

/** @typedef {{ request: Send, keeping: Keeping, announce: Announce }} StartOptions */

/** @param {HTMLElement} element @param {Store} store @param {StartOptions} options */
export function mountStart(element, store, options) {
  return new Start(element, store, options);
}

/** A job of AI: the way, the request, the draft at that time, and the result.
 *  @typedef {{ id: number, way: string, words: string, base: Block[], says: string,
 *    found: Record<string, any> | null }} Job */

class Start {
  /** @type {HTMLButtonElement[]} */ ways = [];
  /** @type {HTMLHeadingElement} */ heading;
  /** @type {HTMLDivElement} */ panel;
  /** @type {HTMLParagraphElement} */ status;
  /** @type {HTMLDivElement} */ result;
  /** @type {HTMLDialogElement} */ dialog;
  /** @type {HTMLTextAreaElement} */ intent;
  /** @type {HTMLButtonElement} */ write;
  /** @type {Job | null} */ #job = null; // also while the dialog is closed
  #visit = 0; // grows when the dialog opens or closes, so that late answers are not taken

  /** @param {HTMLElement} element @param {Store} store @param {StartOptions} options */
  constructor(element, store, options) {
    this.store = store;
    this.options = options;
    const { urls } = store;
    this.urls = { generate: urls.generate ?? "generate/", convert: urls.convert ?? "convert/",
      templates: urls.templates ?? "templates/", projects: urls.projects ?? "projects/",
      versions: urls.versions ?? "versions/", preview: urls.preview ?? "preview/" };
    const mayStart = store.mayEdit && !store.isLive;
    this.words = { sentence: h("span", {}, WORDS.sentence), change: h("span", {}, WORDS.change) };
    const tool = (way, drawing) => h("button", { type: "button", class: "quiet", disabled: !mayStart,
      onclick: () => this.open(way) }, icon(drawing), this.words[way]);
    element.append(h("div", { class: "start-tools" }, tool("sentence", "paste"),
      store.hasModel ? tool("change", "edit") : null,
      store.mayEdit && store.isLive ? h("p", { class: "help" }, IS_LIVE) : null));
    if (mayStart) this.#build();
  }

  #build() {
    this.heading = h("h2", { id: "start-title", tabindex: "-1" }, "Start from…");
    const offered = Object.entries(WAYS).filter(([way]) => way !== "change" || this.store.hasModel);
    this.ways = offered.map(([way, name]) =>
      h("button", { type: "button", class: "quiet", "data-way": way, onclick: () => this.#show(way) }, name));
    this.panel = h("div", { class: "start-panel" });
    this.status = h("p", { role: "status", class: "help" });
    this.result = h("div", { class: "start-result" });
    this.dialog = h("dialog", { class: "sheet start", "aria-labelledby": "start-title", onclose: () => this.#closed() },
      h("div", { class: "sheet-body" },
        h("div", { class: "sheet-head" }, this.heading,
          h("button", { type: "button", class: "icon-button", "aria-label": "Close",
            onclick: () => this.dialog.close() }, icon("close"))),
        h("div", { class: "start-ways", role: "group", "aria-label": "Start from" }, this.ways),
        this.panel, this.status, this.result));
  }

  /** `way`: one of WAYS. A running or finished job of AI is shown first. */
  open(way = "sentence") {
    this.#visit += 1;
    document.body.append(this.dialog);
    this.dialog.showModal();
    this.#show(this.#job?.way ?? way);
  }

  /** Open the way in the page's address, as after the form of a new project. A reload does not open it again. */
  openAsAsked() {
    const address = new URL(location.href);
    const way = address.searchParams.get("start") ?? "";
    if (!Object.hasOwn(WAYS, way) || !this.dialog) return;
    address.searchParams.delete("start");
    history.replaceState(history.state, "", address);
    this.open(way);
  }

  #closed() {
    this.#visit += 1;
    this.dialog.remove();
    if (this.#job && !this.#job.found) this.options.announce?.(GOES_ON);
    this.#label();
  }

  /** The buttons show the state of the job. */
  #label() {
    for (const [way, words] of Object.entries(this.words)) {
      const job = this.#job?.way === way ? this.#job : null;
      text(words, !job ? WORDS[way] : job.found ? ASKED[way].ready : "Being written…");
    }
  }

  #show(way) {
    this.#visit += 1;
    this.way = way;
    for (const button of this.ways) attribute(button, "aria-pressed", String(button.dataset.way === way));
    text(this.heading, way === "change" ? "Change by AI" : "Start from…");
    this.result.replaceChildren();
    this.#tell("");
    const draw = { sentence: () => this.#asking(), change: () => this.#asking(),
      template: () => this.#templates(), file: () => this.#file(),
      project: () => this.#projects(), version: () => this.#versions() };
    this.panel.replaceChildren(...draw[way]());
    /** @type {HTMLElement | null} */ (this.panel.querySelector("textarea, input"))?.focus();
    if (ASKED[way]) this.#drawJob();
  }

  /* A sentence, and a change */

  #asking() {
    const asked = ASKED[this.way];
    const cost = h("p", { class: "help", id: "start-cost" }, "…");
    this.intent = h("textarea", { id: "start-intent", class: "entry", rows: "4", maxlength: "4000",
      "aria-describedby": "start-cost" });
    this.write = h("button", { type: "button", class: "button", onclick: () => this.#generate() }, asked.action);
    const elements = [h("label", { for: "start-intent" }, asked.label), this.intent, cost, this.write];
    const visit = this.#visit;
    this.#ask("GET", this.urls.templates).then((data) => {
      if (!data || visit !== this.#visit) return;
      if (asked === ASKED.change && data.why_no_change) this.panel.replaceChildren(h("p", {}, data.why_no_change));
      else text(cost, asked.cost(data.credits));
    });
    return elements;
  }

  async #generate() {
    const { way, intent: { value: words }, write } = this;
    write.disabled = true;
    this.result.replaceChildren();
    this.#tell("Waiting for a worker…");
    const isKept = way !== "change" || await this.options.keeping.flush(); // AI changes the draft as it is kept
    const base = toWire(structuredClone(this.store.blocks), this.store.known);
    const begun = isKept ? await this.#ask("POST", this.urls.generate, { [ASKED[way].field]: words }) : null;
    write.disabled = false;
    if (!isKept) this.#tell("The last changes could not be sent to the server. Try again in a moment.");
    if (!begun) return;
    this.#job = { id: begun.id, way, words, base, found: null, says: "Waiting for a worker…" };
    this.#drawJob();
    await this.#follow(this.#job, begun);
  }

  /** Wait for a job to end, also while the dialog is closed. */
  async #follow(job, begun) {
    let now = begun;
    let missed = 0;
    while (["pending", "running"].includes(now.status)) {
      await new Promise((resolve) => { setTimeout(resolve, EVERY); });
      if (job !== this.#job) return; // cancelled
      const answer = await this.#ask("GET", `${this.urls.generate}${job.id}/`);
      missed = answer ? 0 : missed + 1;
      if (!answer && missed < MOST_MISSED) continue;
      now = answer ?? { status: "failed", error: this.status.textContent };
      const seconds = Math.round(now.seconds);
      if (now.status === "running") job.says = `${ASKED[job.way].running}, for ${seconds} seconds now…`;
      if (this.#isShown && ["pending", "running"].includes(now.status)) this.#tell(job.says);
    }
    if (job !== this.#job) return;
    job.found = now.status === "completed" ? now
      : { error: now.error || "This could not be done. No credits were charged." };
    this.#label();
    if (this.#isShown) this.#drawJob();
    else this.options.announce?.(job.found.error
      ?? `What you asked for is ready. “${ASKED[job.way].ready}” shows it.`);
  }

  get #isShown() {
    return this.dialog.open && this.way === this.#job?.way;
  }

  /** The progress of the job, or its result. */
  #drawJob() {
    const job = this.#job;
    if (!job) return;
    if (job.way !== this.way) {
      this.write.disabled = !job.found; // one at a time
      return;
    }
    this.intent.value = job.words;
    this.write.disabled = !job.found;
    if (!job.found) {
      this.#tell(job.says);
      this.result.replaceChildren(h("progress", { "aria-label": ASKED[job.way].running }),
        h("button", { type: "button", class: "button second", onclick: () => this.#cancel() }, "Cancel"));
      return;
    }
    if (job.found.error) this.#job = null; // a script stays until it is used, or another is asked for
    this.#label();
    this.result.replaceChildren();
    if (job.found.error) this.#tell(job.found.error);
    else if (job.way === "change") this.#offerReview(job);
    else this.#offer(job.found, "Start from a sentence");
  }

  #cancel() {
    const url = `${this.urls.generate}${this.#job?.id}/`;
    this.#job = null;
    this.options.request("DELETE", url).catch(() => {}); // the server gives it up after ten minutes anyway
    this.result.replaceChildren();
    this.write.disabled = false;
    this.#label();
    this.#tell("Cancelled. No credits were charged.");
  }

  /** The text of AI about its changes, and a button to review them by block.
   *  @param {Job} job */
  #offerReview({ base, found: all }) {
    const found = all ?? {};
    this.#tell("Nothing has changed yet: look at the changes first.");
    this.result.replaceChildren(
      ...sentences(found.understood, "What AI proposes"), ...sentences(found.unmet, "What it could not do"),
      h("div", { class: "sheet-foot" },
        h("button", { type: "button", class: "button", onclick: () => this.#review(base, found) },
          "Review the changes")));
    /** @type {HTMLElement | null} */ (this.result.querySelector("button"))?.focus();
  }

  /** @param {Block[]} base */
  async #review(base, found) {
    const { mountReview } = await import("./collision.js");
    this.dialog.close();
    mountReview(document.body, this.store, { base, theirs: found.blocks, announce: this.options.announce,
      used: () => {
        this.#job = null;
        this.#label();
      } });
  }

  /* A template */

  #templates() {
    return this.#searchable("Search the library", this.urls.templates, "templates", "No template contains these words.",
      (each) => [each.name, describedTemplate(each)],
      (each) => {
        const url = `${this.urls.preview}?template=${encodeURIComponent(each.id)}`;
        return [h("div", { class: "start-frame" }, previewFrame(url, `Preview of ${each.name}`)),
          h("button", { type: "button", class: "button",
            onclick: () => this.#fetch({ template: each.id }, `Start from ${each.name}`) }, `Use ${each.name}`)];
      });
  }

  /* Another project */

  #projects() {
    return this.#searchable("Search the projects of this community", this.urls.projects, "projects",
      "No other project is called that.",
      (each) => [each.name, `${each.type === "poll" ? "Poll" : "Survey"}, ${plural(each.block_count, "block")}.`],
      (each) => [h("button", { type: "button", class: "button",
        onclick: () => this.#fetch({ project: Number(each.id) }, `Start from ${each.name}`) },
        `Copy the script of ${each.name}`)]);
  }

  /* An earlier version */

  #versions() {
    return this.#searchable("Search the changes by a person's name", this.urls.versions, "versions",
      "No change of this script was found.",
      (each) => [`The script until ${inWords(new Date(each.until))}`, describedChange(each)],
      (each) => [h("button", { type: "button", class: "button",
        onclick: () => this.#fetch({ version: each.id }, "Start from an earlier version") }, "Look at this version")]);
  }

  /** A search, its findings as a list of buttons, and what `chosen` draws for the one that was chosen.
   *  @param {string} label @param {string} url @param {string} kind @param {string} none
   *  @param {(each: any) => [string, string]} words @param {(each: any) => Node[]} chosen */
  #searchable(label, url, kind, none, words, chosen) {
    const detail = h("div", {});
    const list = h("ul", { class: "start-choices", "aria-label": "What was found" });
    const choose = (each, button) => {
      for (const other of list.querySelectorAll("button")) attribute(other, "aria-pressed", String(other === button));
      this.result.replaceChildren();
      detail.replaceChildren(...chosen(each));
    };
    const search = async () => {
      const data = await this.#ask("GET", `${url}?search=${encodeURIComponent(field.value)}`);
      if (!data) return;
      const items = data[kind].map((each) => {
        const [name, says] = words(each);
        const button = h("button", { type: "button", class: "quiet", "aria-pressed": "false",
          onclick: () => choose(each, button) }, h("b", {}, name), h("small", {}, says));
        return h("li", {}, button);
      });
      list.replaceChildren(...items);
      detail.replaceChildren();
      this.#tell(items.length ? `${items.length} found.` : none);
    };
    const field = h("input", { type: "search", class: "entry", "aria-label": label, placeholder: label,
      autocomplete: "off", oninput: afterPause(search, 250) });
    search();
    return [field, list, detail];
  }

  /* A file */

  #file() {
    const read = () => this.#read(field.files?.[0], format.value);
    const field = h("input", { type: "file", id: "start-file", "aria-describedby": "start-file-help", onchange: read });
    const pasted = h("textarea", { id: "start-text", class: "entry", rows: "6" });
    const format = h("select", { id: "start-format", class: "entry", onchange: read },
      Object.entries(FORMATS).map(([value, name]) => h("option", { value }, name)));
    return [
      h("div", { class: "start-file" },
        h("label", { for: "start-file" }, "A script that was exported here, or a questionnaire of another system"),
        h("p", { class: "help", id: "start-file-help" }, "XLSForm, SurveyJS, Typeform, Formbricks, LimeSurvey, "
          + "Qualtrics, REDCap, a table (CSV), or a text with numbered questions."), field),
      h("div", { class: "start-file" }, h("label", { for: "start-format" }, "Format"), format),
      h("div", { class: "start-file" },
        h("label", { for: "start-text" }, "Or paste numbered questions, with their options below them"), pasted,
        h("button", { type: "button", class: "button second", onclick: () => this.#readPasted(pasted.value) },
          "Read the text"))];
  }

  /** A script that was exported here is taken as it is; the server converts every other file.
   *  @param {File | undefined} file @param {string} format one of FORMATS */
  async #read(file, format) {
    this.#visit += 1; // another file or format: answers about the last one are not taken
    const visit = this.#visit;
    this.result.replaceChildren();
    if (!file) return;
    if (file.size > MOST_BYTES_CONVERTED) {
      this.#tell("The file is too large to be a script.");
      return;
    }
    const blocks = format || file.size > MOST_BYTES ? null : await blocksOf(file);
    if (visit !== this.#visit) return;
    if (blocks) await this.#fetch({ blocks }, `Import ${file.name}`);
    else await this.#convert(file, format);
  }

  /** @param {string} words */
  async #readPasted(words) {
    this.#visit += 1;
    this.result.replaceChildren();
    if (words.trim()) await this.#convert(new File([words], "the pasted text"), "text");
    else this.#tell("Paste the questions first.");
  }

  async #convert(file, format) {
    const visit = this.#visit;
    this.#tell("…");
    const content = await dataOf(file);
    if (visit !== this.#visit) return;
    const body = format ? { content, format } : { content };
    const found = await this.#ask("POST", this.urls.convert, body);
    if (!found || visit !== this.#visit) return;
    this.#offer(found, `Import ${file.name}`);
    this.#tell(`${FORMATS[found.format]}: ${this.status.textContent}`);
  }

  /* The result */

  async #fetch(body, label) {
    const visit = this.#visit;
    this.#tell("…");
    const found = await this.#ask("POST", this.urls.generate, body);
    if (found && visit === this.#visit) this.#offer(found, label);
  }

  #offer(found, label) {
    const blocks = found.blocks.filter((block) => block !== null && typeof block === "object" && !Array.isArray(block))
      .map(shown);
    const faults = found.violations;
    const lost = found.blocks.length - blocks.length;
    const hasOwn = this.store.blocks.some((block) => block.section !== "outro");
    const without = lost ? `; ${plural(lost, "entry", "entries")} that are no blocks are left out` : "";
    const faulty = faults.length ? plural(faults.length, "fault") : "no faults";
    this.#tell(`${plural(blocks.length, "block")}, ${faulty}${without}.`);
    const take = (isAppended) => h("button", { type: "button", class: isAppended ? "button second" : "button",
      disabled: !blocks.length, onclick: () => this.#take(blocks, isAppended, label) },
      isAppended ? "Add at the end" : hasOwn ? "Replace the draft" : "Use these blocks");
    const told = faults.slice(0, 50).map(({ field, message }) => `${placeOf(field)}${message.replaceAll("`", "")}`);
    const isTemplate = found.method === "template";
    this.result.replaceChildren(
      told.length ? h("ul", { class: "start-faults" }, told.map((words) => h("li", {}, words))) : "",
      ...(isTemplate ? [h("p", {}, h("b", {}, "A template fitted to your words"))] : []),
      ...sentences(found.understood ?? [], "What was understood"),
      ...sentences(found.unmet ?? [], found.format ? "What could not be taken over" : "What was not met"),
      ...(found.method || found.format || this.way === "version" ? [outlined(blocks)] : []),
      h("div", { class: "sheet-foot" }, hasOwn ? take(true) : null, take(false)));
    /** @type {HTMLElement | null} */ (this.result.querySelector("button:not(:disabled)"))?.focus();
  }

  /** @param {Block[]} blocks */
  #take(blocks, isAppended, label) {
    const added = withKeys(structuredClone(blocks));
    this.store.change((draft) => {
      const outro = draft.filter((block) => block.section === "outro");
      const own = isAppended ? draft.filter((block) => block.section !== "outro") : [];
      return [...own, ...(isAppended ? renamed(added, own) : added), ...outro];
    }, label, { select: added[0]?.key });
    if (this.way === "sentence") this.#job = null;
    this.#label();
    this.dialog.close();
    const says = `${plural(added.length, "block")} ${isAppended ? "added" : "in place of the draft"}`;
    this.options.announce?.(`${says}. Control Z takes it back.`);
  }

  /* Requests */

  /** The answer's data; null after a refusal, which is shown. */
  async #ask(method, url, body) {
    try {
      const { status, data } = await this.options.request(method, url, body);
      if (status < 300) return data;
      this.#tell(data?.message?.replaceAll("`", "") ?? "That did not work. Please try again.");
    } catch (error) {
      if (error instanceof SignedOut) this.#tell("You are signed out. Sign in again in another tab, then repeat this.");
      else if (error instanceof Disconnected) this.#tell("The server cannot be reached now. Please try again.");
      else throw error;
    }
    return null;
  }

  /** @param {string} words */
  #tell(words) {
    text(this.status, words);
  }
}

/** The blocks of a script that was exported here; null for every other file. A block has a type of ours; those of
 *  other systems have elements or questions instead. */
async function blocksOf(file) {
  try {
    const content = JSON.parse(await file.text());
    const blocks = Array.isArray(content) ? content : content?.blocks ?? content?.script?.blocks;
    return Array.isArray(blocks) && !blocks.some((block) => Array.isArray(block?.elements)) ? blocks : null;
  } catch {
    return null;
  }
}

/** @param {File} file @returns {Promise<string>} as an address that begins with `data:` */
function dataOf(file) {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(String(reader.result));
    reader.onerror = () => reject(reader.error);
    reader.readAsDataURL(file);
  });
}

/** A block that the editor can show, with values of the right types whatever the file contains. */
function shown({ key: _, ...block }) {
  const options = Array.isArray(block.options) ? block.options.filter((option) => option && typeof option === "object")
    : [];
  return {
    ...block,
    type: typeof block.type === "string" ? block.type : "",
    name: typeof block.name === "string" ? block.name : null,
    section: block.section === "intro" ? "intro" : "main",
    prompt: typeof block.prompt === "string" ? block.prompt : "",
    description: typeof block.description === "string" ? block.description : null,
    options: options.length
      ? options.map(({ key: __, ...option }) => ({ ...option, value: String(option.value ?? "") })) : null,
  };
}

function isPosition(name) {
  return /^q\d+$/i.test(name);
}

/** Rename added blocks whose names are taken or look like positions, and update the references among the added
 *  blocks. */
function renamed(added, own) {
  for (const block of added) {
    block.id = null; // what is added is new, also if the file came from this script
    for (const option of block.options ?? []) option.id = null;
    block.correct_answer_ids = null;
    const others = [...own, ...added.filter((each) => each !== block)];
    const before = block.name;
    if (!before || (!isPosition(before) && !own.some((each) => title(each.name ?? "") === title(before)))) continue;
    const after = freeName(others, isPosition(before) ? wordsOf(block.prompt) : before);
    block.name = after;
    carryName(added.filter((each) => each !== block), before, after);
  }
  return withKeys(added.map((block) => ({ ...block, key: undefined })));
}

/** A heading and a list, or nothing. */
function sentences(words, kind) {
  return words.length
    ? [h("h3", {}, kind), h("ul", { class: "start-faults" }, words.map((each) => h("li", {}, each)))] : [];
}

/** The texts of blocks and their options, to look at before they are used. */
function outlined(blocks) {
  const lines = blocks.filter((block) => block.prompt).map((block) => {
    const options = (block.options ?? []).map(({ value, label }) => label ?? value).join(" · ");
    return h("li", {}, plainText(block.prompt), options ? h("div", { class: "help" }, options) : null);
  });
  return h("ol", { class: "start-blocks", tabindex: "0", "aria-label": "The blocks" }, lines);
}

function costOf({ cost, left }) {
  if (!cost) return "There is no AI here: you get the template that suits your words best. This takes no credits.";
  return `AI writes a script from your words. This takes ${plural(cost, "credit")}; the community has `
    + `${plural(left, "credit")} left. If it fails or you cancel it, nothing is charged.`;
}

function costOfChange({ cost, left }) {
  return `AI changes the draft as you say. This takes ${plural(cost, "credit")}; the community has `
    + `${plural(left, "credit")} left. You choose which changes are taken over. If it fails or you cancel it, `
    + "nothing is charged.";
}

function describedTemplate(template) {
  const counts = `${plural(template.question_count, "question")}, ${plural(template.block_count, "block")}`;
  return `${template.description} ${counts}, about ${plural(template.estimated_minutes, "minute")}.`;
}

/** What ended a version: “Then Ada added 2 blocks and changed 1.” */
function describedChange({ by, added, removed, changed }) {
  const parts = Object.entries({ added, removed, changed }).filter(([, count]) => count)
    .map(([verb, count]) => `${verb} ${plural(count, "block")}`);
  const last = parts.pop() ?? "moved blocks, or changed how they are scored";
  return `Then ${by} ${parts.length ? `${parts.join(", ")} and ${last}` : last}.`;
}

function placeOf(field) {
  const [, at] = /^(?:script\.)?blocks\[(\d+)\]/.exec(field ?? "") ?? [];
  return at === undefined ? "" : `Block ${Number(at) + 1}: `;
}
