import type { components, paths } from "./schema.js";

/** The objects of the interface: `Schemas["Project"]`. */
export type Schemas = components["schemas"];
type Method = "get" | "post" | "put" | "patch" | "delete";

/** The operations by their paths, which are relative to the community unless they begin with `/v1`. */
type Relative<P> = P extends `/v1/communities/{community_id}${infer Rest}` ? Rest : P;
type Routes = { [P in keyof paths as Relative<P>]: paths[P] };
type Operation<P extends keyof Routes, M> = M extends keyof Routes[P] ? Routes[P][M] : never;
type PathOf<M extends Method> = {
  [P in keyof Routes]: Operation<P, M> extends { responses: unknown } ? P : never;
}[keyof Routes];

type Json<T> = T extends { content: { "application/json": infer Body } } ? Body : never;
type Success<O> = O extends { responses: infer R } ? R[keyof R & (200 | 201 | 202)] : never;
type Parameters<O> = O extends { parameters: infer P } ? P : never;
type Query<O> = Parameters<O> extends { query?: infer Q } ? NonNullable<Q> : never;
type Ids<O> = Parameters<O> extends { path: infer P } ? Omit<P, "community_id"> : object;
type Body<O> = O extends { requestBody?: infer B } ? Json<NonNullable<B>> : never;

/** What an operation answers. */
export type Answer<P extends keyof Routes, M extends Method> = [Success<Operation<P, M>>] extends [never]
  ? undefined
  : Json<Success<Operation<P, M>>>;

export type Options<O> = {
  query?: Omit<Query<O>, "field.name"> & Record<`field.${string}`, string>;
  /** Refuses the write if the object has changed since it had this `ETag`. */
  ifMatch?: string;
  /** Repeats a write safely after a crash. Without it each call has a key of its own, for all its attempts. */
  idempotencyKey?: string;
} & ([keyof Ids<O>] extends [never] ? object : { path: Ids<O> }) &
  ([Body<O>] extends [never] ? object : O extends { requestBody: object } ? { body: Body<O> } : { body?: Body<O> });
type Arguments<O> = object extends Options<O> ? [options?: Options<O>] : [options: Options<O>];
type Sent = {
  path?: Record<string, string>;
  query?: Record<string, unknown>;
  body?: unknown;
  ifMatch?: string;
  idempotencyKey?: string;
};

type Paging = { page: number | null; has_more: boolean };
type List = { data: { id?: unknown }[] } & ({ pagination: Paging } | { cursor: string; has_more: boolean });
type ListPath = { [P in PathOf<"get">]: Answer<P, "get"> extends List ? P : never }[PathOf<"get">];
type Item<P extends ListPath> = Answer<P, "get"> extends { data: (infer I)[] } ? I : never;
type ById = { [P in ListPath]: "after" extends keyof Query<Operation<P, "get">> ? P : never }[ListPath];
/** The lists that take `after`. The compiler notices a list that is missing. */
const BY_ID: Record<ById, true> = {
  "/audit": true,
  "/events": true,
  "/members": true,
  "/projects": true,
  "/projects/{project_id}/responses": true,
  "/webhooks/{webhook_id}/deliveries": true,
};

const PASSING = [408, 429, 502, 503, 504]; // A later attempt may succeed.
const PATIENCE = 60; // In seconds. A server that asks for more is not waited for.

/** A refusal, or another response that is no success. */
export class ApiError extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    readonly violations: Schemas["Violation"][],
    readonly requestId: string | null,
    readonly retryAfter: number,
  ) {
    super(message);
  }

  static async of(response: Response): Promise<ApiError> {
    const body: Partial<Schemas["Error"]> = (await response.json().catch(() => null)) ?? {};
    return new ApiError(
      response.status,
      body.error ?? "unexpected_response",
      body.message ?? `${response.status} ${response.statusText}`,
      body.violations ?? [],
      response.headers.get("x-request-id"),
      Number(response.headers.get("retry-after")) || 0,
    );
  }
}

/** A client for one community. */
export class Colloquy {
  readonly #base: string;
  readonly #key: string;
  readonly #attempts: number;
  readonly #fetch: typeof fetch;

  constructor(place: { url: string; key: string; community: string; attempts?: number; fetch?: typeof fetch }) {
    this.#base = `${place.url.replace(/\/$/, "")}/v1/communities/${place.community}`;
    this.#key = place.key;
    this.#attempts = place.attempts ?? 5;
    this.#fetch = place.fetch ?? ((...request) => fetch(...request));
  }

  /** Sends a request and returns its answer. Throws an ApiError if it is refused, and the error of `fetch`. */
  async send<M extends Method, P extends PathOf<M>>(
    method: M,
    path: P,
    ...[options]: Arguments<Operation<P, M>>
  ): Promise<Answer<P, M>> {
    const text = await this.#read(method, path, (options ?? {}) as Sent, (response) => response.text());
    return (text ? JSON.parse(text) : undefined) as Answer<P, M>;
  }

  /** The response to a read, whose body is not read yet: for files. */
  open<P extends PathOf<"get">>(path: P, ...[options]: Arguments<Operation<P, "get">>): Promise<Response> {
    return this.#read("get", path, (options ?? {}) as Sent, async (response) => response);
  }

  /** All pages of a list or feed: in the order of ids if the list has one and the caller does not sort. */
  async *pages<P extends ListPath>(
    path: P,
    ...[options]: Arguments<Operation<P, "get">>
  ): AsyncGenerator<Answer<P, "get">> {
    const sent = (options ?? {}) as Sent;
    const byId = path in BY_ID && !sent.query?.["page"] && (sent.query?.["sort"] ?? "id") === "id";
    let query: Record<string, unknown> = { per_page: 100, ...sent.query };
    for (;;) {
      const page: List = await this.#read("get", path, { ...sent, query }, (response) => response.json());
      yield page as Answer<P, "get">;
      const paging = "pagination" in page ? page.pagination : page;
      if (!paging.has_more) return;
      if ("cursor" in page) query = { ...query, cursor: page.cursor };
      else if (byId) query = { ...query, after: page.data.at(-1)?.id };
      else query = { ...query, page: Number(query["page"] ?? 1) + 1 };
    }
  }

  /** All objects of a list or feed. */
  async *each<P extends ListPath>(
    path: P,
    ...options: Arguments<Operation<P, "get">>
  ): AsyncGenerator<Item<P>> {
    for await (const page of this.pages(path, ...options)) yield* (page as List).data as Item<P>[];
  }

  async #read<T>(method: Method, path: string, options: Sent, read: (from: Response) => Promise<T>): Promise<T> {
    const request = this.#request(method, path, options);
    for (let attempt = 0; ; attempt += 1) {
      try {
        const response = await this.#fetch(...request);
        if (response.ok) return await read(response);
        throw await ApiError.of(response);
      } catch (failure) {
        const wait = failure instanceof ApiError ? failure.retryAfter : 0;
        const isFinal = failure instanceof ApiError && !(PASSING.includes(failure.status) && wait <= PATIENCE);
        if (isFinal || attempt + 1 >= this.#attempts) throw failure;
        const backoff = (0.5 + Math.random() / 2) * Math.min(0.5 * 2 ** attempt, PATIENCE);
        await new Promise((resume) => setTimeout(resume, Math.max(backoff, wait) * 1000));
      }
    }
  }

  #request(method: Method, path: string, options: Sent): [string, RequestInit] {
    const inside = path.replace(/\{(\w+)\}/g, (_, name: string) => segment(options.path?.[name]));
    const url = new URL(path.startsWith("/v1/") ? new URL(this.#base).origin + inside : this.#base + inside);
    for (const [name, value] of Object.entries(options.query ?? {})) {
      if (value !== undefined && value !== null) url.searchParams.set(name, String(value));
    }
    const headers: Record<string, string> = { "X-API-Key": this.#key };
    if (method !== "get") headers["Idempotency-Key"] = options.idempotencyKey ?? crypto.randomUUID();
    if (options.ifMatch !== undefined) headers["If-Match"] = options.ifMatch;
    if (options.body === undefined) return [url.href, { method: method.toUpperCase(), headers }];
    headers["Content-Type"] = "application/json";
    return [url.href, { method: method.toUpperCase(), headers, body: JSON.stringify(options.body) }];
  }
}

/** An id as a part of a path. Throws an error if the path would lead elsewhere. */
function segment(id: string | undefined): string {
  if (id === undefined || !/^[\w-]+$/.test(id)) throw new TypeError(`${id} is not an id.`);
  return id;
}

/**
 * Returns the event in the body of a webhook, exactly as received. Throws an error if no signature fits the secret, or
 * if its time differs from the clock by more than five minutes. The same event may arrive again: recognise it by its `id`.
 */
export async function verify(
  body: string,
  headers: Record<string, string | string[] | undefined>,
  secret: string,
  at = Date.now() / 1000,
): Promise<Schemas["WebhookEvent"]> {
  const sent = new Map(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), String(value)]));
  const [id, stamp, signatures] = ["id", "timestamp", "signature"].map((each) => sent.get(`webhook-${each}`) ?? "");
  const algorithm = { name: "HMAC", hash: "SHA-256" };
  const key = await crypto.subtle.importKey("raw", decoded(secret.replace(/^whsec_/, "")), algorithm, false, ["verify"]);
  const signed = new TextEncoder().encode(`${id}.${stamp}.${body}`);
  const fits = await Promise.all(
    (signatures ?? "")
      .split(" ")
      .filter((each) => /^v1,[A-Za-z0-9+/]+=*$/.test(each))
      .map((each) => crypto.subtle.verify("HMAC", key, decoded(each.slice(3)), signed)),
  );
  if (!fits.includes(true)) throw new Error("The webhook has no signature of this secret.");
  if (!(Math.abs(at - Number(stamp)) <= 300)) throw new Error("The time of the webhook differs from the clock by more than five minutes.");
  return JSON.parse(body) as Schemas["WebhookEvent"];
}

function decoded(base64: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(atob(base64), (each) => each.charCodeAt(0));
}
