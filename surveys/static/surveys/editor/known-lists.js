/* Lists to reuse as options: countries and languages by the browser's own CLDR data, in any of its languages, and
   common answers in English. Countries and languages keep their code as the stored value. */

/** @typedef {{ value: string, label: string | null }} Known an option of a list */

const LETTERS = [..."ABCDEFGHIJKLMNOPQRSTUVWXYZ"];
// Regions that CLDR names and ISO 3166 does not list as countries.
const NO_COUNTRIES = new Set(["AC", "CP", "CQ", "DG", "EA", "EU", "EZ", "IC", "QO", "TA", "UN", "XA", "XB", "ZZ"]);
/** @type {Record<string, string[]>} */
const ANSWERS = {
  "Yes or no": ["Yes", "No"],
  "Yes, no, not sure": ["Yes", "No", "Not sure"],
  "Agreement (5)": ["Strongly disagree", "Disagree", "Neither agree nor disagree", "Agree", "Strongly agree"],
  "Agreement (7)": ["Strongly disagree", "Disagree", "Somewhat disagree", "Neither agree nor disagree",
    "Somewhat agree", "Agree", "Strongly agree"],
  "Satisfaction": ["Very dissatisfied", "Dissatisfied", "Neither satisfied nor dissatisfied", "Satisfied",
    "Very satisfied"],
  "Frequency": ["Never", "Rarely", "Sometimes", "Often", "Always"],
  "Importance": ["Not important", "Slightly important", "Moderately important", "Important", "Very important"],
  "Likelihood": ["Very unlikely", "Unlikely", "Neither likely nor unlikely", "Likely", "Very likely"],
  "Quality": ["Very poor", "Poor", "Fair", "Good", "Excellent"],
  "Age groups": ["Under 18", "18–24", "25–34", "35–44", "45–54", "55–64", "65 or older"],
  "Gender": ["Woman", "Man", "Non-binary", "Prefer not to say"],
};

/** The lists, by their titles. @type {Record<string, (locale: string) => Known[]>} */
export const LISTS = {
  "Countries": (locale) => named("region", locale).filter(({ value }) => !NO_COUNTRIES.has(value)),
  "Languages": (locale) => named("language", locale),
  "Months": (locale) => parts(locale, { month: "long" }, 12, (n) => Date.UTC(2024, n, 15)),
  "Days of the week": (locale) => parts(locale, { weekday: "long" }, 7, (n) => Date.UTC(2024, 0, 1 + n)),
  ...Object.fromEntries(Object.entries(ANSWERS).map(([title, texts]) => [title, () => texts.map(plain)])),
};

/** Whether a list is written in the chosen language. @param {string} title */
export const isTranslated = (title) => !(title in ANSWERS);

/** Languages in which lists can be written, with their names in themselves. @returns {[string, string][]} */
export function languages() {
  const own = ["en", "ar", "bg", "cs", "da", "de", "el", "es", "et", "fa", "fi", "fr", "he", "hi", "hr", "hu", "id",
    "it", "ja", "ko", "lt", "lv", "nb", "nl", "pl", "pt", "ro", "ru", "sk", "sl", "sr", "sv", "th", "tr", "uk", "ur",
    "vi", "zh-Hans", "zh-Hant"];
  return Intl.DisplayNames.supportedLocalesOf(own)
    .map((tag) => [tag, new Intl.DisplayNames([tag], { type: "language" }).of(tag) ?? tag]);
}

/** @param {string} text @returns {Known} */
const plain = (text) => ({ value: text, label: null });

/** All codes of two letters that have a name, in the order of the names. Withdrawn codes share the name of another.
 *  @param {"region" | "language"} type @param {string} locale @returns {Known[]} */
function named(type, locale) {
  const names = new Intl.DisplayNames([locale], { type, fallback: "none" });
  /** @type {Map<string, string>} */
  const codes = new Map();
  for (const first of LETTERS) {
    for (const second of LETTERS) {
      const code = type === "language" ? (first + second).toLowerCase() : first + second;
      const [own] = Intl.getCanonicalLocales(type === "language" ? code : `und-${code}`);
      const name = (own.replace("und-", "") === code && names.of(code)) || "";
      if (name && !codes.has(name)) codes.set(name, code);
    }
  }
  const order = new Intl.Collator(locale).compare;
  return [...codes].sort(([a], [b]) => order(a, b)).map(([label, value]) => ({ value, label }));
}

/** @param {string} locale @param {Intl.DateTimeFormatOptions} options @param {number} count
 *  @param {(n: number) => number} at @returns {Known[]} */
function parts(locale, options, count, at) {
  const format = new Intl.DateTimeFormat(locale, { ...options, timeZone: "UTC" });
  return Array.from({ length: count }, (_, n) => plain(format.format(at(n))));
}
