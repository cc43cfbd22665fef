/* The fields of a statement or an action: how it continues, and the gift. */

import { h } from "./dom.js";
import { numberField, segmentField, selectField, textField } from "./field.js";

const SCOPES = [["respondent", "Once for each person"], ["session", "Once each time somebody completes it"]];
const KINDS = [["give_xp", "XP", "xp"], ["give_achievement", "An achievement", "medal"],
  ["give_role", "A role", "role"]];

/** How a content or action block continues. The default is a click on a button.
 *  @param {FormContext} cx */
export function continueFields(cx) {
  const holder = h("div", { class: "form-part" });
  const after = (block) => block.continue?.after ?? "click";
  const draw = (block) => {
    if (holder.dataset.after === after(block)) return;
    holder.dataset.after = after(block);
    cx.fields.delete("continue.pause");
    cx.fields.delete("continue.label");
    holder.replaceChildren(after(block) === "pause"
      ? numberField(cx, "continue.pause", { label: "Seconds to wait", contract: "pause", min: 1, max: 300,
        help: "Longer, if the text takes longer to read." })
      : textField(cx, "continue.label", { label: "Words on the button", contract: "label",
        placeholder: cx.store.vocabulary.acknowledged, maximum: 80 }));
  };
  const choice = segmentField(cx, "continue.after", {
    label: "Goes on", contract: "continue",
    choices: [["click", "When people press a button"], ["pause", "By itself, after a while"]], get: after,
    onChange: (value) => cx.change((block) => {
      block.continue = { label: null, pause: null, ...block.continue, after: value };
      if (value === "pause") block.continue.pause ??= 5;
    }, "Change how it goes on"),
  });
  cx.fields.set("#continue", { path: "#continue", element: holder, update: draw, focus: () => false });
  draw(cx.block);
  return h("div", { class: "form-part" }, choice, labelFirst(cx, holder));
}

/** A label written where nothing was chosen yet needs its `after`. One that is taken away again leaves nothing
 *  behind.
 *  @param {FormContext} cx */
function labelFirst(cx, holder) {
  holder.addEventListener("input", () => { // after the field has written its label
    const stored = cx.store.baseline.find((block) => block.key === cx.key);
    const { after = "click", pause = null, label = null } = cx.block.continue ?? {};
    const isNothing = after === "click" && pause === null && label === null && !stored?.continue;
    cx.change((block) => { block.continue = isNothing ? null : { after, pause, label }; }, "Change words on the button",
      "continue.label");
  });
  return holder;
}

/** The gift of an action block, with only the fields of that kind.
 *  @param {FormContext} cx */
export function actionFields(cx) {
  const holder = h("div", { class: "form-part" });
  const parts = () => ({ give_xp: xpFields, give_achievement: achievementFields,
    give_role: roleFields })[cx.block.action_kind]?.(cx) ?? [];
  const draw = (block) => {
    const shown = `${block.action_kind} ${isFromScore(block)}`;
    if (holder.dataset.shown === shown) return;
    holder.dataset.shown = shown;
    for (const path of [...cx.fields.keys()]) if (path.startsWith("action_config.")) cx.fields.delete(path);
    holder.replaceChildren(...parts(), selectField(cx, "action_config.fire_scope", {
      label: "Given", contract: "fire_scope", choices: SCOPES,
      onChange: (value) => configure(cx, { fire_scope: value }),
    }));
    standardScope(cx);
  };
  const kind = segmentField(cx, "action_kind", {
    label: "Gives", choices: KINDS.map(([value, words]) => [value, words]), onChange: (value) => cx.change((block) => {
      block.action_kind = value;
      block.action_config = { fire_scope: block.action_config?.fire_scope ?? null,
        ...(value === "give_xp" ? { xp_amount: 10 } : {}) };
    }, "Change what is given"),
  });
  cx.fields.set("#action", { path: "#action", element: holder, update: draw, focus: () => false });
  draw(cx.block);
  return h("div", { class: "form-part" }, kind, holder);
}

/** Without a scope it is given once for each person.
 *  @param {FormContext} cx */
function standardScope(cx) {
  const field = /** @type {Field} */ (cx.fields.get("action_config.fire_scope"));
  const control = /** @type {HTMLSelectElement} */ (field.element?.querySelector("select"));
  for (const empty of control.querySelectorAll("option[value='']")) empty.remove();
  field.update = (block) => { control.value = block.action_config?.fire_scope ?? "respondent"; };
  field.update(cx.block);
}

/** @param {FormContext} cx */
function configure(cx, values) {
  cx.change((block) => { block.action_config = { ...block.action_config, ...values }; }, "Change what is given");
}

/** @param {Block} block */
function isFromScore(block) {
  return Boolean(block.action_config?.source_key);
}

/** @param {FormContext} cx */
function xpFields(cx) {
  const scores = scoreVariables(cx.store);
  const choice = segmentField(cx, "#xp", {
    label: "How much", contract: "xp_amount, source_key",
    choices: [[false, "Always the same"], [true, "As much as a score"]], get: isFromScore,
    onChange: (value) => configure(cx, value ? { xp_amount: null, source_key: scores[0]?.name ?? "score" }
      : { xp_amount: 10, source_key: null }),
  });
  const amount = isFromScore(cx.block)
    ? selectField(cx, "action_config.source_key", { label: "Score", contract: "source_key",
      choices: scores.map(({ name, meaning }) => [name, meaning ? `${name}: ${meaning}` : name]) })
    : numberField(cx, "action_config.xp_amount", { label: "XP", contract: "xp_amount", min: 0, max: 1_000_000 });
  return [choice, amount];
}

/** The variables that count points.
 *  @param {Store} store */
function scoreVariables(store) {
  const known = (store.vocabulary.variables ?? []).filter(({ name }) => /score|correct_answers/.test(name));
  return known.length ? known : [{ name: "score", meaning: "all points" }];
}

/** @param {FormContext} cx */
function achievementFields(cx) {
  const known = (cx.store.vocabulary.achievements ?? []).map((each) => [Number(each.number ?? each.id), each.name]);
  const isKnown = known.some(([number]) => number === cx.block.action_config?.xp_role_id);
  const picker = selectField(cx, "action_config.xp_role_id", {
    label: "Achievement", contract: "xp_role_id", choices: [[null, "Choose one"], ...known],
    help: known.length ? null : "This community has no achievements yet. Add one under Achievements first.",
    onChange: (number) => configure(cx, { xp_role_id: number }),
  });
  if (cx.block.action_config?.xp_role_id && !isKnown) {
    picker.append(h("p", { class: "help" }, "This achievement has no name and picture yet."));
  }
  return [picker];
}

/** @param {FormContext} cx */
function roleFields(cx) {
  return [textField(cx, "action_config.role_id", { label: "Role", contract: "role_id", maximum: 20,
    placeholder: "1187…", help: "The role's id on the chat platform: a number of up to 20 digits." })];
}
