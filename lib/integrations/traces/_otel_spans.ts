/**
 * Spans of OpenTelemetry in the forms in which exporters write them: OTLP as JSON, and lists of spans.
 * @module
 */

import { isJsonObject, parseJson } from "../../base/json.ts";
import type { Part } from "./_part.ts";

/** A span, as far as it is read. */
export interface Span {
  readonly id: string;
  readonly parent: string;
  readonly trace: string;
  /** Nanoseconds; `undefined` where unknown. */
  readonly start: bigint | undefined;
  readonly end: bigint | undefined;
  /** Whether its status says that it failed. */
  readonly isError: boolean;
  readonly at: Part;
  /** The value of an attribute, from text of JSON where it is one; `undefined` without it. */
  readonly attribute: (name: string) => Part | undefined;
}

/** Whether a value looks like spans. */
export function isSpans(part: Part): boolean {
  if (part.has("resourceSpans") || part.has("resource_spans")) return true;
  const list = Array.isArray(part.value) ? part : part.get("spans");
  if (!Array.isArray(list?.value)) return isSpan(part);
  const [first] = list.items();
  return first !== undefined && isSpan(first);
}

function isSpan(part: Part): boolean {
  return part.has("name", "attributes") &&
    part.first("spanId", "span_id", "id", "context", "spanContext") !== undefined;
}

/** Returns all spans in a value. */
export function spansIn(part: Part): Span[] {
  const resources = part.first("resourceSpans", "resource_spans");
  if (resources !== undefined) {
    return resources.items().flatMap((resource) =>
      resource.first("scopeSpans", "scope_spans", "instrumentationLibrarySpans")?.items()
        .flatMap((scope) => scope.need("spans").items().map(readSpan)) ?? []
    );
  }
  const list = Array.isArray(part.value) ? part : part.get("spans");
  return list === undefined ? [readSpan(part)] : list.items().map(readSpan);
}

function readSpan(at: Part): Span {
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
  return {
    ...{ id, parent, at, start },
    trace: idAt(at, "traceId", "trace_id") || idAt(context, "traceId", "trace_id"),
    end: timeOf(at.first("endTimeUnixNano", "end_time_unix_nano", "endTime", "end_time")) ??
      (start === undefined ? undefined : endOf(start, at.get("duration"))),
    isError: code === 2 || code === "ERROR" || code === "STATUS_CODE_ERROR",
    attribute: (name) => {
      for (const list of lists) {
        const found = attributeIn(list, name);
        if (found !== undefined) return found;
      }
      return undefined;
    },
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
  if (typeof value !== "number" || !Number.isFinite(value)) return undefined;
  // A number this large is of nanoseconds; the console's exporter writes microseconds.
  const whole = BigInt(Math.round(value));
  return value > 1e17 ? whole : whole * 1_000n;
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
  return value === undefined ? part.fail("must be JSON") : part.as(value);
}
