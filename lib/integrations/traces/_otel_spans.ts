/**
 * Spans of OpenTelemetry in the forms in which exporters write them: OTLP as JSON, and lists of spans.
 * @module
 */

import { assertShallow } from "../../base/input.ts";
import { isJsonObject, parseJson } from "../../base/json.ts";
import type { Part } from "./_part.ts";
import { getOrInsertComputed } from "../../base/get_or_insert.ts";

/** A span, as far as it is read. */
export interface TraceSpan {
  readonly id: string;
  readonly parent: string;
  readonly trace: string;
  /** Nanoseconds; `undefined` where unknown. */
  readonly start: bigint | undefined;
  readonly end: bigint | undefined;
  /** Whether its status or `error.type` says that it failed. */
  readonly hasFailed: boolean;
  readonly at: Part;
  /** The value of an attribute, from text of JSON where it is one; `undefined` without it. */
  readonly attribute: (name: string) => Part | undefined;
}

/** Whether a value looks like spans. */
export function isSpans(part: Part): boolean {
  if (resourcesOf(part) !== undefined) return true;
  const list = Array.isArray(part.value) ? part : part.get("spans");
  if (!Array.isArray(list?.value)) return isSpan(part);
  const [first] = list.items();
  return first !== undefined && (isSpan(first) || resourcesOf(first) !== undefined);
}

const resourcesOf = (part: Part) => part.first("resourceSpans", "resource_spans");

function isSpan(part: Part): boolean {
  return part.has("name", "attributes") &&
    part.first("spanId", "span_id", "id", "context", "spanContext") !== undefined;
}

/** Returns all spans in a value. */
export function spansIn(part: Part): TraceSpan[] {
  const resources = resourcesOf(part);
  if (resources !== undefined) {
    return resources.items().flatMap((resource) =>
      resource.first("scopeSpans", "scope_spans", "instrumentationLibrarySpans")?.items()
        .flatMap((scope) => scope.need("spans").items().map(readSpan)) ?? []
    );
  }
  const list = Array.isArray(part.value) ? part : part.get("spans");
  if (list === undefined) return [readSpan(part)];
  return list.items().flatMap((one) =>
    resourcesOf(one) === undefined ? [readSpan(one)] : spansIn(one)
  );
}

/** More spans within spans than any trace has: parents may be a circle. */
const MAX_LEVELS = 500;

/** Returns what finds the spans that a span is within, the nearest first. */
export function above(spans: readonly TraceSpan[]): (span: TraceSpan) => TraceSpan[] {
  const keyOf = (trace: string, id: string) => JSON.stringify([trace, id]);
  const byId = new Map(spans.map((span) => [keyOf(span.trace, span.id), span]));
  return ({ trace, parent }) => {
    const found: TraceSpan[] = [];
    let next = parent === "" ? undefined : byId.get(keyOf(trace, parent));
    while (next !== undefined && found.length < MAX_LEVELS && !found.includes(next)) {
      found.push(next);
      next = next.parent === "" ? undefined : byId.get(keyOf(trace, next.parent));
    }
    return found;
  };
}

/** The conversation that a span is of: by its own id, else that of a span that it is within, else the trace. */
export function keyed(spans: readonly TraceSpan[]): (span: TraceSpan) => string {
  const idOf = (span: TraceSpan) => textOfAttribute(span, "gen_ai.conversation.id");
  const aboveOf = above(spans);
  const ids = new Map<string, Set<string>>();
  for (const span of spans) {
    const id = idOf(span);
    if (id !== undefined) getOrInsertComputed(ids, span.trace, () => new Set()).add(id);
  }
  return (span) => {
    const [only, other] = ids.get(span.trace) ?? [];
    const own = only === undefined || other === undefined
      ? only
      : [span, ...aboveOf(span)].map(idOf).find((id) => id !== undefined);
    // Spans without a trace are those of one line.
    return own === undefined ? `trace ${span.trace || span.at.source}` : `conversation ${own}`;
  };
}

/**
 * Requests without those that stand for others: where a framework and a provider both tell of a request, one is within the
 * other. The inner one is nearest to the model; an outer one may stand for several.
 */
export function nestedOnce(
  asked: readonly TraceSpan[],
  told: ReadonlySet<TraceSpan>,
  aboveOf: (span: TraceSpan) => TraceSpan[],
): TraceSpan[] {
  const all = new Set(asked);
  const left = new Set<TraceSpan>();
  for (const span of asked) {
    for (const outer of aboveOf(span).filter((one) => all.has(one))) {
      left.add(told.has(span) ? outer : span);
    }
  }
  return asked.filter((span) => !left.has(span));
}

/** What a span does. */
export function operationOf(span: TraceSpan): string | undefined {
  return textOfAttribute(span, "gen_ai.operation.name");
}

/**
 * The text of an attribute; `undefined` without it.
 *
 * @throws {InputError} If it is of another type.
 */
export function textOfAttribute({ attribute }: TraceSpan, name: string): string | undefined {
  const found = attribute(name);
  if (found === undefined || typeof found.value === "string") return found?.value as undefined;
  return found.fail(`the attribute ${name} must be a text`);
}

/** The time that a span took. */
export function millisecondsOf({ start, end }: TraceSpan): number | undefined {
  if (start === undefined || end === undefined || end < start) return undefined;
  return Number((end - start) / 1_000_000n);
}

function readSpan(at: Part): TraceSpan {
  const context = at.first("context", "spanContext");
  const id = idAt(at, "spanId", "span_id", "id") || idAt(context, "spanId", "span_id");
  const parent = idAt(at, "parentSpanId", "parent_span_id", "parentId", "parent_id") ||
    idAt(at.get("parentSpanContext"), "spanId", "span_id");
  const status = at.get("status");
  const code = status?.first("code", "status_code")?.value;
  const own = at.need("attributes");
  // Content may stand in an event of the span in place of its attributes.
  const lists = [
    own,
    ...at.get("events")?.items().flatMap((one) => one.get("attributes") ?? []) ?? [],
  ];
  const start = timeOf(
    at.first("startTimeUnixNano", "start_time_unix_nano", "startTime", "start_time", "timestamp"),
  );
  const attribute = (name: string) => {
    for (const list of lists) {
      const found = attributeIn(list, name);
      if (found !== undefined) return found;
    }
    return undefined;
  };
  return {
    ...{ id, parent, at, start, attribute },
    trace: idAt(at, "traceId", "trace_id") || idAt(context, "traceId", "trace_id"),
    end: timeOf(at.first("endTimeUnixNano", "end_time_unix_nano", "endTime", "end_time")) ??
      (start === undefined ? undefined : endOf(start, at.get("duration"))),
    hasFailed: code === 2 || code === "ERROR" || code === "STATUS_CODE_ERROR" ||
      attributeIn(own, "error.type") !== undefined,
  };
}

function idAt(part: Part | undefined, ...names: readonly string[]): string {
  const value = part?.first(...names)?.value;
  return typeof value === "string" ? value : "";
}

/** Nanoseconds of a time: of whole ones, of seconds and nanoseconds, of microseconds, or of a date. */
function timeOf(part: Part | undefined): bigint | undefined {
  const value = part?.value;
  if (typeof value === "string" && /^\d{1,30}$/.test(value)) return BigInt(value);
  if (typeof value === "string") {
    const milliseconds = Date.parse(value);
    return Number.isNaN(milliseconds) ? undefined : BigInt(milliseconds) * 1_000_000n;
  }
  if (Array.isArray(value)) {
    const [seconds, rest] = value;
    return Number.isSafeInteger(seconds) && Number.isSafeInteger(rest)
      ? BigInt(seconds) * 1_000_000_000n + BigInt(rest)
      : undefined;
  }
  if (typeof value !== "bigint" && !Number.isFinite(value)) return undefined;
  // A number this large is of nanoseconds; the console's exporter writes microseconds.
  const whole = typeof value === "bigint" ? value : BigInt(Math.round(value as number));
  return whole > 1e17 ? whole : whole * 1_000n;
}

/** The end of a span by its duration: of seconds and nanoseconds, or of microseconds. */
function endOf(start: bigint, duration: Part | undefined): bigint | undefined {
  const value = duration?.value;
  if (typeof value === "number" && Number.isFinite(value)) {
    return start + BigInt(Math.round(value)) * 1_000n;
  }
  const length = timeOf(duration);
  return length === undefined ? undefined : start + length;
}

function attributeIn(list: Part, name: string): Part | undefined {
  const found = Array.isArray(list.value)
    ? list.items().find((one) => one.textAt("key") === name)?.get("value")
    : list.get(name);
  if (found === undefined) return undefined;
  const value = Array.isArray(list.value) ? plainValue(found) : found.value;
  return found.as(value);
}

/** The value of an attribute of OTLP, whose type is the name of its field. */
function plainValue(part: Part): unknown {
  const { value } = part;
  if (!isJsonObject(value)) return value;
  const [[type, inner] = ["", undefined]] = Object.entries(value);
  switch (type.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase())) {
    case "stringValue":
    case "boolValue":
    case "doubleValue":
    case "bytesValue":
      return inner;
    case "intValue":
      return Number(inner);
    case "arrayValue":
      return part.get(type)?.get("values")?.items().map(plainValue) ?? [];
    case "kvlistValue":
      return Object.fromEntries(
        part.get(type)?.get("values")?.items().map((one) => {
          const held = one.get("value");
          return [one.need("key").text(), held === undefined ? null : plainValue(held)];
        }) ?? [],
      );
    case "":
      return null;
    default:
      return part.fail("must be a value of OTLP", `its field is ${type}`);
  }
}

/** The value that a text of JSON stands for, as attributes hold structured values; any other value as it is. */
export function structured(part: Part): Part {
  if (typeof part.value !== "string") return part;
  const value = parseJson(part.value);
  assertShallow(value, part.source);
  return value === undefined ? part.fail("must be JSON") : part.as(value);
}
