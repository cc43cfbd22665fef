/* The eleven types of blocks: their names, their purposes, and the fields of a new block. */

export const CHOICES = new Set(["single_punch", "multi_punch"]);
export const SCALES = new Set(["rating", "opinion_scale", "nps"]);
export const WITH_ITEMS = new Set([...CHOICES, "ranking"]);
export const STATEMENTS = new Set(["content_block", "action_block"]);
export const QUESTIONS = new Set([...WITH_ITEMS, ...SCALES, "open_text", "open_numeric"]);
export const IN_POLLS = new Set([...CHOICES, ...SCALES, "content_block"]);
export const MAX_BLOCKS = 200;
export const MAX_OPTIONS = 100;
export const MAX_MENU_OPTIONS = 1000; // of a single punch that is drawn as a menu
export const MAX_LABEL = 500; // characters of an option
export const MAX_ITEMS = 20; // of a ranking

/** What an answer to an open question may have to be. */
export const FORMATS = /** @type {[string, string][]} */ ([
  ["line", "One line"], ["name", "A name"], ["email", "An e-mail address"], ["url", "A link"],
  ["phone", "A telephone number"], ["date", "A date"],
]);

/** Where a scale may start, and its fewest and most points. */
/** @typedef {{ starts: number[], fewest: number, most: number, points: [number, number], icon: string }} Range */
/** @type {Record<string, Range>} */
export const RANGES = {
  rating: { starts: [1], fewest: 2, most: 10, points: [1, 5], icon: "stars" },
  opinion_scale: { starts: [0, 1], fewest: 2, most: 11, points: [0, 10], icon: "numbers" },
  nps: { starts: [0], fewest: 11, most: 11, points: [0, 10], icon: "numbers" },
};

const twoOptions = () => ({ options: [{ value: "" }, { value: "" }] }); // to be filled in; empty ones are not sent

/** The data of a type. `words` are search terms.
 * @typedef {object} AboutType
 * @property {string} name
 * @property {string} group
 * @property {string} words
 * @property {string} says
 * @property {() => Record<string, any>} start
 */

/** @type {Record<string, AboutType>} */
export const TYPES = {
  single_punch: {
    name: "One choice", group: "Choices", words: "radio single select pick yes no poll dropdown menu quiz",
    says: "People pick exactly one of the options.", start: twoOptions,
  },
  multi_punch: {
    name: "Several choices", group: "Choices", words: "checkbox multiple select many all that apply tick",
    says: "People tick as many options as fit, within your limits.", start: twoOptions,
  },
  rating: {
    name: "Rating", group: "Scales", words: "stars score emoji faces satisfaction",
    says: "Stars, faces or numbers from 1 up to 10.", start: () => ({}),
  },
  opinion_scale: {
    name: "Opinion scale", group: "Scales", words: "likert agree disagree numbers slider linear matrix grid table",
    says: "A line of numbers with words at both ends, or a word on every point.", start: () => ({}),
  },
  nps: {
    name: "Net Promoter Score", group: "Scales", words: "nps recommend loyalty 0 10",
    says: "How likely people are to recommend you, from 0 to 10, with the standard ends.", start: () => ({}),
  },
  open_text: {
    name: "Text", group: "Text & numbers",
    words: "open comment long short answer write name email e mail contact feedback website url link phone "
      + "telephone date calendar time birthday address file upload attachment",
    says: "People write in their own words.", start: () => ({}),
  },
  open_numeric: {
    name: "Number", group: "Text & numbers", words: "numeric age amount count quantity integer",
    says: "People type a number; you may set the least and the greatest.", start: () => ({}),
  },
  ranking: {
    name: "Ranking", group: "Ranking", words: "order sort priority rank top",
    says: "People put 2 to 20 items in order, or only their top few.", start: twoOptions,
  },
  content_block: {
    name: "Statement", group: "Statements",
    words: "content message intro welcome text information picture page image video "
      + "thank thanks you goodbye bye end ending close finish screen section break consent legal terms privacy",
    says: "Something to read: a welcome, an explanation, a result.", start: () => ({}),
  },
  calculated_block: {
    name: "Calculation", group: "Calculations & actions", words: "formula compute variable score result hidden",
    says: "Works out a value from answers and scores. Respondents never see it.",
    start: () => ({ calculated_formula: "" }),
  },
  action_block: {
    name: "Action", group: "Calculations & actions", words: "xp achievement role reward give award",
    says: "Gives XP, an achievement or a role when it is reached.",
    start: () => ({ action_kind: "give_xp", action_config: { xp_amount: 10 } }),
  },
};

/** Search terms that are no type's name, each with the type to use instead and a sentence about it. */
export const INSTEAD = [
  { words: ["file", "upload", "attachment"], type: "open_text",
    says: "Files cannot be sent. Ask for a link to the file in a Text question." },
  { words: ["matrix", "grid", "table"], type: "opinion_scale",
    says: "Give one question for each row the same title under “More › Group”: pages show them on one screen." },
  { words: ["date", "calendar", "time"], type: "open_text",
    says: "Use a Text question whose answers are “A date”. To let people choose from a few dates, use One choice or "
      + "Several choices." },
  { words: ["consent", "legal", "terms", "privacy"], type: "content_block",
    says: "A box that people tick before they begin is under Delivery › Consent and keeping." },
  { words: ["email", "phone", "telephone", "website", "url"], type: "open_text",
    says: "Use a Text question, and choose what its answers are: an e-mail address, a link or a telephone number." },
];

export const GROUPS = [...new Set(Object.values(TYPES).map((type) => type.group))];

/** The name of a block's type in words.
 *  @param {{ type: string }} block */
export function typeName(block) {
  return TYPES[block.type]?.name ?? block.type;
}

/** The fields of a block's pictures, each with the words for people who do not see it. */
export const PICTURES = ["image_url", "image_alt", "thumbnail_url", "thumbnail_alt"];

/** The fields that only change how a block reads. */
export const PRESENTATION = ["prompt", "description", ...PICTURES];

/** What may still change in a saved block while respondents are answering (rules 2.10 to 2.12). `options` stands for
 *  adding and reordering. The server refuses to switch `required` on. Outro blocks: `OUTRO`. */
const WORDING = new Set([
  "options", "required",
  ...PRESENTATION, "video_url", "group", "label", "emoji", "color", "when_correct", "when_incorrect",
  "scale.label_left", "scale.label_center", "scale.label_right", "continue",
]);
const OUTRO = new Set([...PRESENTATION, "continue.pause"]);

/** Whether a field may be changed now. `path` is that of a block; an option's field is its last name.
 *  @param {{ mayEdit: boolean, isLive: boolean }} store @param {Block} block @param {string} path */
export function isOpenForChange(store, block, path) {
  if (!store.mayEdit) return false;
  const [, key] = /^options[.[]([^.\]]*)\]?\./.exec(path) ?? [];
  const field = path.replace(/^options[.[][^.\]]*\]?\./, "");
  if (block.section === "outro") return OUTRO.has(field);
  const isNew = !block.id || (key !== undefined && block.options?.some((each) => each.key === key && !each.id));
  return !store.isLive || isNew || WORDING.has(field) || field.startsWith("continue.");
}

/** Whether a block may be archived now.
 *  @param {{ mayEdit: boolean, isLive: boolean }} store @param {Block | undefined} block
 *  @returns {block is Block} */
export function mayArchive(store, block) {
  return block !== undefined && block.section !== "outro" && store.mayEdit && !(store.isLive && block.id);
}
