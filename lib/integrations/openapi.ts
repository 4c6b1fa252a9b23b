/**
 * Operations of an OpenAPI document as tools: with results made up from their schemas, or of a real service.
 * @module
 */

import { z } from "zod";
import { parseWith } from "../base/input.ts";
import { cannot, InputError, networkReason, reasonOf } from "../base/errors.ts";
import { type JsonObject, jsonText, listText, printable } from "../base/json.ts";
import { countText } from "../base/numbers.ts";
import { loadOptional } from "../base/optional_package.ts";
import { registerSecrets, requestSecrets } from "../base/secrets.ts";
import { InfrastructureError } from "../models/model.ts";
import { tool } from "../tools/define_tool.ts";
import { FRESH, RESULT, ROUTE, SERVED, type StoppableTool } from "../tools/tool.ts";
import {
  chooseOperations,
  type ChosenOperation,
  placeOf,
  readDocument,
} from "./openapi/_document.ts";
import { type MakeMock, mocksOf } from "../tools/schema/mock.ts";
import { isJsonType, type Operation, OperationReader } from "./openapi/_operation.ts";
import { assertSendable, type CallRequest, requestOf } from "./openapi/_request.ts";
import { subDocument } from "./openapi/_sub_document.ts";
import { inTime } from "../base/deadline.ts";
import { redact } from "../base/redact.ts";
import { readBody } from "../base/request_body.ts";
import { httpClient } from "../base/proxy.ts";
import { ToolError } from "../tools/tool_error.ts";

/** Options of {@linkcode openApiTools}. */
export interface OpenApiToolsOptions {
  /**
   * The operations that become tools: each by its `operationId`, or by method and path, as `GET /pets/{id}`; or those
   * that have one of some tags. Default: all, if there are at most 128, as a model takes no more; with `all` there may be
   * more, as for `toolGraph()`, whose tasks offer some of them.
   */
  readonly operations?: readonly string[] | { readonly tags: readonly string[] } | "all";
  /** The seed of results that are made up, with which each call with the same arguments has the same. Default: 1. */
  readonly seed?: number;
  /**
   * The address of a service, which answers calls in place of results that are made up; its query is sent with each
   * call, and models are not asked for parameters of its names. The `servers` of the document are never called.
   */
  readonly baseURL?: string | URL;
  /**
   * Headers of each request to the service, such as `authorization`. Models are not asked for parameters of these
   * names. Their values count as secrets: they are taken out of everything that is shown or written.
   */
  readonly headers?: Readonly<Record<string, string>>;
  /** Seconds within which the service must answer a call. Default: 60. */
  readonly seconds?: number;
  /**
   * Whether patterns that no linear engine can express are run nevertheless. A text can then block the process for
   * minutes. Default: operations whose arguments have one make no tools.
   */
  readonly unsafePatterns?: boolean;
}

/** The options of {@linkcode openApiTools}. No error shows a header or an address, which may hold a key. */
const OPTIONS = z.strictObject(
  {
    operations: z.union([
      z.array(z.string()).min(1),
      z.strictObject({ tags: z.array(z.string()).min(1) }),
      z.literal("all"),
    ]).optional(),
    seed: z.int().default(1),
    baseURL: z.union([z.string(), z.instanceof(URL)]).transform((url) => URL.parse(url)).refine(
      (url) => url !== null && /^https?:$/.test(url.protocol),
      { error: "must be an address that begins with http:// or https://", abort: true },
    ).refine((url) => url!.username + url!.password === "", {
      error: "must have no user or password: give it as the header authorization",
    }).optional(),
    headers: z.record(z.string(), z.string()).default({}).transform((given, context) => {
      try {
        return new Headers(given);
      } catch {
        context.addIssue("must have names and texts that HTTP allows");
        return z.NEVER;
      }
    }),
    seconds: z.number().gt(0).default(60),
    unsafePatterns: z.boolean().optional(),
  } satisfies Record<keyof OpenApiToolsOptions, z.ZodType>,
).refine(
  ({ baseURL, headers }) => baseURL !== undefined || headers.keys().next().done,
  {
    path: ["headers"],
    error: "need a baseURL to be sent to",
  },
);

/**
 * Returns operations of a document of OpenAPI 3.0 or 3.1 as tools: for `toolTest()`, perturbations and faults, in the
 * order of `operations`. Only what these operations need of the document is read.
 *
 * A tool is named as its `operationId`, else by method and path, in characters that providers accept. Its arguments
 * are the parameters and, where they are plain properties, those of the body; other bodies are one argument `body`.
 * Of two with one name the second ends with its place, as in `id_query`.
 *
 * Without `baseURL` a call returns a value that fits the schema of the operation's success, drawn from `seed` and the
 * arguments; its properties with the names of arguments have their values where these fit. With it, the service is called: a response that is no success is an error of the tool, and a service that
 * cannot be reached throws an `InfrastructureError`.
 *
 * An operation that is not valid, refers to another file, or whose request a model cannot write, is left out: a line
 * on stderr names it, and why.
 *
 * @param document The document: a parsed object, its text in JSON or YAML, or the URL of either (`file:`, `https:`).
 * @throws {InputError} If it cannot be read, an operation is unknown, or one that `operations` names, or each there
 * is, would be left out.
 *
 * @example Usage
 * ```ts
 * import { openApiTools } from "@toolgate/toolgate/integrations/openapi";
 * import { assertEquals } from "@std/assert";
 *
 * const document = {
 *   openapi: "3.1.0",
 *   info: { title: "Pets", version: "1" },
 *   paths: {
 *     "/pets/{id}": {
 *       get: {
 *         operationId: "pets.get",
 *         summary: "Returns a pet",
 *         parameters: [{ name: "id", in: "path", required: true, schema: { type: "integer" } }],
 *         responses: {
 *           200: {
 *             description: "A pet",
 *             content: {
 *               "application/json": { schema: { enum: ["cat", "dog"] } },
 *             },
 *           },
 *         },
 *       },
 *     },
 *   },
 * };
 * const [pet] = await openApiTools(document, { operations: ["pets.get"] });
 * assertEquals([pet!.name, pet!.description], ["pets_get", "Returns a pet"]);
 * assertEquals(await pet!.execute({ id: 7 }), await pet!.execute({ id: 7 }));
 * ```
 */
export async function openApiTools(
  document: object | string | URL,
  options: OpenApiToolsOptions = {},
): Promise<StoppableTool[]> {
  const { operations, seed, baseURL, headers, seconds, unsafePatterns } = parseWith(
    OPTIONS,
    options,
    "the options of openApiTools",
  );
  const service = baseURL && { base: baseURL, headers, seconds };
  if (service) registerSecrets(requestSecrets(headers, service.base));
  const source = await readDocument(document);
  const chosen = chooseOperations(source, operations);
  const faults = new Map<string, InputError>();
  const part = subDocument(source, chosen, faults);
  // Loaded here, as it takes a while: the rest of this module is of use to those who import its types alone.
  const { parsedDocument } = await loadOptional(
    "read documents of OpenAPI",
    ["@scalar/openapi-upgrader", "@scalar/openapi-validator"],
    () => import("./openapi/_parser.ts"),
  );
  const reader = new OperationReader(parsedDocument(part, source.source, faults), source.source, {
    headers: new Set(service?.headers.keys()),
    query: new Set(service?.base.searchParams.keys()),
  });
  const toolOf = (one: ChosenOperation): StoppableTool => {
    const fault = faults.get(placeOf(one));
    if (fault !== undefined) throw fault;
    const operation = reader.read(one);
    const { name, description, parameters, method, path, places, result } = operation;
    const inPath = [...places].filter(([, place]) => place.in === "path");
    const known = {
      ...(result && isJsonType(result.type) ? { [RESULT]: result.schema } : {}),
      [ROUTE]: {
        ...{ method, path },
        parameters: Object.fromEntries(inPath.map(([name, place]) => [place.name, name])),
      },
    };
    const shared = { ...{ name, description, parameters }, unsafePatterns };
    // The schema of the result is no `output`: it would be shown to the model, and those of large services are
    // longer than everything else that it reads.
    if (service) {
      assertSendable(operation, service, source.source);
      const own = tool<JsonObject>({
        ...shared,
        execute: (input, { signal }) => callService(operation, input, service, signal),
      });
      return Object.assign(own, known, { [SERVED]: true as const });
    }
    const execute = mock(operation, seed, unsafePatterns);
    const made = Object.assign(tool<JsonObject>({ ...shared, execute }), known);
    // It has no state, so that runs beside each other may share it. A copy with another execute may have one.
    return Object.defineProperty(made, FRESH, { value: () => made, enumerable: false });
  };
  const left = new Map<string, InputError>();
  const tools = chosen.flatMap((one) => {
    try {
      return [toolOf(one)];
    } catch (error) {
      // Who names an operation wants that one.
      if (!(error instanceof InputError) || Array.isArray(operations)) throw error;
      left.set(placeOf(one), error);
      return [];
    }
  });
  if (tools.length === 0) throw [...left.values()][0];
  if (left.size > 0) tellLeftOut(source.source, left);
  return tools;
}

/** Notices of operations that are left out: each once, as tools may be made for each trial. */
const told = new Set<string>();

/** Prints which operations make no tools, and why. */
function tellLeftOut(source: string, left: ReadonlyMap<string, InputError>): void {
  const reasons = [...left].map(([place, { message }]) =>
    `\n  ${printable(place, 100)}: ${printable(message, 500)}`
  );
  const text = `Left out of ${source}: ${countText(left.size, "operation")}:${
    listText(reasons, 5)
  }`;
  if (!told.has(text)) console.error(text);
  told.add(text);
}

/** Returns what makes up results: it throws an `InfrastructureError` if none fits, as no model is to blame. */
function mock(
  { place, places, result }: Operation,
  seed: number,
  unsafePatterns: boolean | undefined,
): (input: JsonObject) => unknown {
  if (result === undefined) return () => undefined;
  const action = `make up a result of ${printable(place)}`;
  let make: MakeMock | undefined;
  return (input) => {
    let state = "no value was found that does";
    try {
      make ??= mocksOf(result.schema(), unsafePatterns);
      const given = Object.entries(input).map(([name, value]) => [places.get(name)!.name, value]);
      const found = make(seed, Object.fromEntries(given), place);
      // As a service would send it: a text as such, JSON as the text of its value.
      if (found !== undefined) {
        return isJsonType(result.type) ? jsonText(found.value) : found.value;
      }
    } catch (error) {
      state = reasonOf(error);
    }
    throw new InfrastructureError(cannot(action, "it must fit its schema", state).message);
  };
}

/** The service that answers calls. */
interface Service {
  readonly base: URL;
  /** Sent with every request; not shown to models. */
  readonly headers: Headers;
  /** Seconds that a call may take. */
  readonly seconds: number;
}

/** Bytes of a response, at most: more than models read. */
const MAX_BYTES = 2 ** 20;
/** Characters of a failed response that its error quotes. */
const MAX_QUOTED = 500;
/**
 * The connections of calls that change something, none of which is kept: the runtime would send such a call again,
 * unseen, where a kept one closes. It is created with this module, as a test that is checked for leaks would be
 * blamed for creating it later.
 */
const NOT_KEPT = httpClient({ isKept: false });
/** The connections of questions. */
const KEPT = httpClient();
/** Redirects that are followed, at most. */
const MAX_REDIRECTS = 5;

/** A response that is no success. `toToolError()` reads its fields. */
class ResponseError extends Error {
  override name = "ResponseError";

  constructor(readonly status: number, readonly headers: Headers, text: string) {
    const body = text.trim() === "" ? "" : `: ${printable(redact(text), MAX_QUOTED)}`;
    super(`HTTP ${status}${body}`);
  }
}

/**
 * Calls an operation and returns the text of the response; `undefined` if it has none.
 *
 * @throws {InfrastructureError} If the service cannot be reached.
 * @throws {ToolError} If the arguments cannot be sent, or the response does not come in time.
 * @throws {Error} If the response is no success, with `status` and `headers`, or is too long.
 */
async function callService(
  operation: Operation,
  input: JsonObject,
  { base, headers, seconds }: Service,
  signal: AbortSignal | undefined,
): Promise<string | undefined> {
  const request = requestOf(operation, input, base, headers);
  return await inTime((stop) => respond(request, stop), {
    timeout: 1000 * seconds,
    outOfTime: () => new ToolError("timeout", `No response within ${seconds} seconds`),
    signal,
  });
}

async function respond(request: CallRequest, signal: AbortSignal): Promise<string | undefined> {
  const response = await send(request, signal);
  const text = await reached(request.url, () => readBody(response, MAX_BYTES));
  if (!response.ok) throw new ResponseError(response.status, response.headers, text ?? "");
  if (text !== undefined) return text === "" ? undefined : text;
  throw new Error(`The response must not exceed ${MAX_BYTES} bytes, and it is longer`);
}

/** Sends a request; redirects of a server to itself are followed where nothing is sent again but a question. */
async function send(request: CallRequest, signal: AbortSignal): Promise<Response> {
  let { url, method, body } = request;
  const headers = new Headers(request.headers);
  for (let redirects = 0;; redirects++) {
    const isQuestion = method === "GET" || method === "HEAD";
    const connections = isQuestion ? KEPT : NOT_KEPT;
    const init = { method, headers, signal, redirect: "manual", body, ...connections } as const;
    const response = await reached(url, () => fetch(url, init));
    const location = response.headers.get("location");
    if (location === null || ![301, 302, 303, 307, 308].includes(response.status)) return response;
    if (!isQuestion && response.status !== 303) return response;
    await response.body?.cancel();
    const next = URL.canParse(location, url) ? new URL(location, url) : undefined;
    // The headers may hold keys, and arguments may be secret too.
    const fault = next?.origin !== url.origin
      ? "to another one, which is not followed"
      : redirects >= MAX_REDIRECTS
      ? `more than ${MAX_REDIRECTS} times`
      : undefined;
    if (fault !== undefined || next === undefined) {
      throw new Error(`HTTP ${response.status}: the server redirects ${fault}`);
    }
    if (!isQuestion) {
      [method, body] = ["GET", undefined];
      headers.delete("content-type");
    }
    url = next;
  }
}

/**
 * Returns what comes of work with a server.
 *
 * @throws {InfrastructureError} If the server cannot be reached, which no model is to blame for.
 */
async function reached<T>({ host }: URL, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw new InfrastructureError(
      `No response from ${printable(host, 200)}: ${printable(redact(networkReason(error)), 300)}`,
      { retryable: true, cause: error },
    );
  }
}
