/* The client as it is built. SERVER has the place of a server that runs, and CASES signed webhooks. */
import assert from "node:assert/strict";
import { webcrypto } from "node:crypto";
import { test } from "node:test";

import { ApiError, Colloquy, verify } from "../dist/index.js";
import { bot, sync } from "../dist/for-tests/test/integrations.js";

globalThis.crypto ??= webcrypto; // Node 18
const place = JSON.parse(process.env.SERVER);
const { secret, webhook } = JSON.parse(process.env.CASES);
const QUESTIONS = [
  { type: "content_block", prompt: "Hello [UserName]!" },
  { type: "single_punch", prompt: "Tea or coffee?", options: [{ value: "tea" }, { value: "coffee" }], required: true },
  { type: "open_numeric", prompt: "How many cups?", min: 1, max: 9, required: true },
  { type: "open_text", prompt: "Why?" },
];

test("a bot and a sync run on the types alone", async () => {
  const colloquy = new Colloquy(place);
  const body = {
    name: "Cups",
    type: "convo",
    script: { blocks: QUESTIONS },
    delivery: { audience: { participation: "open_web" } },
  };
  const project = await colloquy.send("post", "/projects", { body });
  await colloquy.send("post", "/projects/{project_id}/open", { path: { project_id: project.id } });

  assert.deepEqual(await bot(colloquy, project.id), ["Hello Kim!", "Tea or coffee?", "How many cups?", "Why?"]);

  const table = new Map();
  const cursor = await sync(colloquy, table, undefined);
  const response = [...table.values()].find((each) => each.project_id === project.id);
  assert.deepEqual(response.answers.map((each) => each.value), ["tea", "1"]);
  const path = { response_id: response.id };
  assert.equal(await colloquy.send("delete", "/responses/{response_id}", { path }), undefined);
  await sync(colloquy, table, cursor);
  assert.ok(!table.has(response.id));
});

test("lists are read to their end, and files are opened", async () => {
  const colloquy = new Colloquy(place);
  for (const name of ["b", "a"]) await colloquy.send("post", "/projects", { body: { name, type: "convo" } });
  const names = async (query) => {
    const found = [];
    for await (const each of colloquy.each("/projects", { query })) found.push(each.name);
    return found.filter((name) => name.length === 1);
  };

  assert.deepEqual(await names({ per_page: 1 }), ["b", "a"]);
  assert.deepEqual(await names({ per_page: 1, sort: "name" }), ["a", "b"]);

  const [project] = (await colloquy.send("get", "/projects", { query: { search: "Cups" } })).data;
  const options = { path: { project_id: project.id }, query: { format: "csv" } };
  const file = await colloquy.open("/projects/{project_id}/responses/export", options);
  assert.match(await file.text(), /Tea or coffee/);
});

test("a refusal has a code, violations and the id of its request", async () => {
  const failed = new Colloquy(place).send("post", "/projects", { body: { name: "", type: "convo" } });

  await assert.rejects(failed, (error) => {
    assert.ok(error instanceof ApiError);
    assert.deepEqual([error.status, error.code, error.violations[0].field], [400, "invalid_request", "name"]);
    assert.ok(error.requestId);
    return true;
  });
});

/** A client of a server that gives these answers in turn, and its requests. */
function scripted(...answers) {
  const requests = [];
  const fetch = async (address, request) => {
    requests.push({ address, ...request });
    const answer = answers.shift();
    if (answer instanceof Error) throw answer;
    return answer;
  };
  return [new Colloquy({ ...place, fetch, attempts: 3 }), requests];
}

const refused = (status, seconds) =>
  new Response('{"error": "unavailable", "message": "Later."}', { status, headers: { "Retry-After": `${seconds}` } });

test("a write is sent again under one key until it succeeds", async () => {
  const [colloquy, requests] = scripted(new TypeError("fetch failed"), refused(503, 0), Response.json({ id: "7" }));

  const answer = await colloquy.send("post", "/projects/{project_id}/close", { path: { project_id: "7" } });

  assert.deepEqual(answer, { id: "7" });
  assert.equal(requests.length, 3);
  assert.equal(new Set(requests.map((each) => each.headers["Idempotency-Key"])).size, 1);
});

for (const [status, seconds, sent] of [[400, 0, 1], [500, 0, 1], [503, 61, 1], [429, 0, 3]]) {
  test(`${status} with ${seconds} seconds to wait is thrown after ${sent}`, async () => {
    const [colloquy, requests] = scripted(...Array.from({ length: 9 }, () => refused(status, seconds)));

    await assert.rejects(colloquy.send("get", "/projects"), { status, code: "unavailable", retryAfter: seconds });

    assert.equal(requests.length, sent);
  });
}

test("an id never leads to another operation", async () => {
  const [colloquy, requests] = scripted();

  await assert.rejects(colloquy.send("delete", "/projects/{project_id}", { path: { project_id: ".." } }), TypeError);

  assert.equal(requests.length, 0);
});

test("a webhook is believed by its signature and its time alone", async () => {
  const { body, headers, at } = webhook;

  assert.equal((await verify(body, headers, secret, at + 299)).type, "member.erased");
  for (const [sent, stamped, key, time] of [
    [`${body} `, headers, secret, at],
    [body, { ...headers, "webhook-id": "other" }, secret, at],
    [body, { ...headers, "webhook-signature": "v1,é" }, secret, at],
    [body, {}, secret, at],
    [body, headers, "whsec_AAAA", at],
    [body, headers, secret, at + 301],
    [body, headers, secret, at - 301],
  ]) {
    await assert.rejects(verify(sent, stamped, key, time), Error);
  }
});
