/* The integrations of tests/integrations, as somebody would write them who has the types alone. */
import type { Colloquy, Schemas } from "../src/index.js";

type Step = Schemas["Step"];

/** Answers a whole survey from its steps. Returns the prompts. */
export async function bot(colloquy: Colloquy, project_id: string): Promise<string[]> {
  const prompts: string[] = [];
  let conversation = await colloquy.send("post", "/projects/{project_id}/conversations", {
    path: { project_id },
    body: { external_id: "u-7", display_name: "Kim" },
  });
  while (conversation.step) {
    prompts.push(conversation.step.block.prompt);
    const path = { conversation_id: conversation.id };
    const body = answer(conversation.step);
    conversation = body
      ? await colloquy.send("post", "/conversations/{conversation_id}/answers", { path, body })
      : await colloquy.send("post", "/conversations/{conversation_id}/continue", { path });
  }
  return prompts;
}

function answer({ block, skip_label }: Step): Schemas["AnswerRequest"] | undefined {
  const block_id = block.id;
  if (skip_label) return { block_id, skip: true };
  switch (block.type) {
    case "single_punch": {
      const [first] = block.options;
      return first && { block_id, option_id: first.id };
    }
    case "multi_punch":
      return { block_id, option_ids: block.options.map((each) => each.id).slice(0, block.max ?? undefined) };
    case "ranking":
      return { block_id, ranking: block.options.map((each) => each.id).slice(0, block.rank_top_n ?? undefined) };
    case "rating":
    case "opinion_scale":
    case "nps":
      return { block_id, value: block.options.at(-1)?.value ?? "" };
    case "open_numeric":
      return { block_id, value: block.min ?? 0 };
    case "open_text":
      return { block_id, value: "Yes." };
    default:
      return undefined;
  }
}

/** Brings a copy of all responses up to date. Returns the cursor to go on with. */
export async function sync(
  colloquy: Colloquy,
  table: Map<string, Schemas["Response"]>,
  cursor: string | undefined,
): Promise<string | undefined> {
  const query = { per_page: 1, ...(cursor === undefined ? {} : { cursor }) };
  for await (const page of colloquy.pages("/responses/changes", { query })) {
    for (const change of page.data) {
      if ("deleted" in change) table.delete(change.id);
      else table.set(change.id, change);
    }
    cursor = page.cursor;
  }
  return cursor;
}
