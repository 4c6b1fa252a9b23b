/**
 * Tracing: runs work within spans of OpenTelemetry, if there is an API that makes them: Deno registers one where
 * `OTEL_DENO=true`, and a program may register another. Nothing is loaded for it, and without it nothing is done.
 *
 * Whatever the API does or throws, the work runs once, and ends as it does without.
 * @module
 */

import { environmentVariable } from "./environment.ts";
import { attempt } from "./errors.ts";
import { defined } from "./json.ts";

/** Attributes; undefined ones are left out. Whole numbers are made by {@linkcode TrialSpans.whole}. */
export type Attributes = Readonly<
  Record<string, string | number | bigint | boolean | readonly string[] | undefined>
>;

/** What is used of the API (`@opentelemetry/api` 1). */
interface Api {
  readonly version?: string;
  readonly trace?: { getTracer(name: string): Tracer };
  readonly context?: {
    active(): Context;
    with(context: Context, work: () => void): unknown;
  };
}

interface Context {
  getValue(key: symbol): unknown;
  setValue(key: symbol, value: unknown): Context;
}

interface Tracer {
  startActiveSpan(
    name: string,
    options: { readonly kind: number; readonly root: boolean; readonly attributes: Attributes },
    work: (span: Span) => void,
  ): unknown;
}

interface Span {
  setAttributes(attributes: Attributes): unknown;
  setStatus(status: { readonly code: number; readonly message?: string }): unknown;
  updateName(name: string): unknown;
  isRecording(): boolean;
  end(): void;
}

const KINDS = { internal: 0, client: 2 };
const ERROR = 2;

/** The version that Deno's own API gives itself. */
const DENO = "1.999.999";

/** The variable by which the conventions send messages, arguments and results, and its values that do. */
const CONTENT = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT";
const WANTED = /^(true|span_only|span_and_event)$/i;

/** The key of a trial's spans in the context. */
const TRIAL = Symbol("toolgate trial");

/** How work ended. */
export type WorkResult<T> = { readonly value: Awaited<T> } | { readonly error: unknown };

/** What a span says of work once it has ended. */
export interface SpanEnd {
  /** Its name, if another one than at its start. */
  readonly name?: string;
  /** What is known by then. */
  readonly attributes: Attributes;
  /** What is sent where content is. */
  readonly content?: (() => Attributes) | undefined;
  /** Why the work failed; the message is content. */
  readonly error?: { readonly type: string; readonly message: string } | undefined;
}

/** A span to run work within. */
export interface SpanOptions<T> {
  /** `client` where the work is a request to another program. */
  readonly kind: keyof typeof KINDS;
  /** Says what is known at its start. */
  readonly start: () => Required<Pick<SpanEnd, "name" | "attributes">>;
  /** Says the rest. */
  readonly describe: (ended: WorkResult<T>) => SpanEnd;
}

/** The spans of a trial. */
export class TrialSpans {
  /** The trial's id, which it has whenever it is run. */
  readonly trial: string;
  /** What distinguishes its conversation from any other. */
  readonly conversation: string = crypto.randomUUID();
  /** Whether messages, arguments and results are sent. */
  readonly hasContent: boolean = WANTED.test(environmentVariable(CONTENT) ?? "");
  /** The keys found in what is sent so far. */
  readonly keys: Set<string> = new Set();
  /** What a model was asked with first, where content is sent. */
  opening: Attributes | undefined;

  /** What ends the spans of work that still runs. */
  readonly #open: Set<() => void> = new Set();
  readonly #api: Required<Api>;
  readonly #isDeno: boolean;
  readonly #tracer: Tracer;

  /** Begins a trial; its own span is the first. */
  constructor(api: Required<Api>, trial: string) {
    this.trial = trial;
    this.#api = api;
    this.#isDeno = api.version === DENO;
    this.#tracer = api.trace.getTracer("toolgate");
  }

  /** Returns a whole number as one: Deno sends all numbers but bigints with a fraction, others know no bigints. */
  whole(value: number): number | bigint {
    return this.#isDeno && Number.isSafeInteger(value) ? BigInt(value) : value;
  }

  /** Runs all of the trial within a span that begins a trace: all that it leads to finds these spans. */
  run<T>(options: SpanOptions<T>, work: () => T): T {
    const { context } = this.#api;
    return this.#within(options, work, (run) => {
      context.with(context.active().setValue(TRIAL, this), run);
    });
  }

  /** Runs work within a span below the one that is active. */
  within<T>(options: SpanOptions<T>, work: () => T): T {
    return this.#within(options, work);
  }

  #within<T>(
    { kind, start, describe }: SpanOptions<T>,
    work: () => T,
    enter?: (run: () => void) => void,
  ): T {
    let span: Span | undefined;
    let first: Attributes = {};
    const leave = () => end({ error: new DOMException("the trial ended before", "AbortError") });
    const end = (ended: WorkResult<T>) => {
      if (span === undefined || !this.#open.delete(leave)) return;
      // What a trial leaves behind may never end, and spans that do not are never sent.
      if (enter !== undefined) this.#open.forEach((one) => one());
      attempt(() => this.#describe(span!, first, describe(ended)));
      attempt(() => span!.end());
    };
    let result: T;
    try {
      result = once((run) => {
        const { name, attributes: known } = start();
        const attributes = defined(known);
        // Deno sends both values of an attribute that is set twice.
        first = this.#isDeno ? attributes : {};
        const options = { kind: KINDS[kind], root: enter !== undefined };
        const now = this.#isDeno ? {} : attributes;
        this.#tracer.startActiveSpan(name, { ...options, attributes: now }, (started) => {
          span = started;
          this.#open.add(leave);
          if (enter === undefined) run();
          else attempt(() => enter(run));
        });
      }, work);
    } catch (error) {
      end({ error });
      throw error;
    }
    // The work's own promise is returned: nothing waits for a span, and what came at once comes no later.
    if (result instanceof Promise) {
      result.then((value) => end({ value }), (error) => end({ error }));
    } else end({ value: result as Awaited<T> });
    return result;
  }

  #describe(span: Span, first: Attributes, { name, attributes, content, error }: SpanEnd): void {
    if (name !== undefined) span.updateName(name);
    span.setAttributes({ ...first, ...defined(attributes) });
    if (error !== undefined) {
      const { type, message } = error;
      span.setAttributes({ "error.type": type });
      span.setStatus({ code: ERROR, ...(this.hasContent ? { message } : {}) });
    }
    // Spans that nobody samples need not be written.
    if (this.hasContent && content !== undefined && span.isRecording()) {
      span.setAttributes(defined(content()));
    }
  }
}

/** Returns the spans of a trial that begins; `undefined` where none are made. */
export function spansFor(trial: string): TrialSpans | undefined {
  const api = registeredApi();
  return api && attempt(() => new TrialSpans(api, trial));
}

/** Returns the spans of the trial that is running; `undefined` outside of trials, and where none are made. */
export function currentSpans(): TrialSpans | undefined {
  const api = registeredApi();
  return api && attempt(() => api.context.active().getValue(TRIAL) as TrialSpans | undefined);
}

/**
 * Returns a function that always runs in the present context: what comes to a trial by way of a server would
 * otherwise not be known to be of it.
 */
export function inThisContext<Given extends unknown[], T>(
  work: (...given: Given) => T,
): (...given: Given) => T {
  const api = registeredApi();
  const active = api && attempt(() => api.context.active());
  if (active === undefined) return work;
  return (...given) => once((run) => api!.context.with(active, run), () => work(...given));
}

function registeredApi(): Required<Api> | undefined {
  const key = Symbol.for("opentelemetry.js.api.1");
  return attempt(() => {
    const api = (globalThis as { readonly [key: symbol]: Api | undefined })[key];
    // It may be there for measurements alone.
    return api?.trace && api.context ? api as Required<Api> : undefined;
  });
}

/** Runs work by way of the API, or without it where that fails: once. */
function once<T>(by: (run: () => void) => unknown, work: () => T): T {
  let ended: { readonly value: T } | { readonly error: unknown } | undefined;
  const run = () => {
    if (ended !== undefined) return;
    try {
      ended = { value: work() };
    } catch (error) {
      ended = { error };
    }
  };
  attempt(() => by(run));
  run();
  if ("error" in ended!) throw ended.error;
  return ended!.value;
}
