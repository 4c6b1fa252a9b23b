/**
 * Runs of tools in spans of OpenTelemetry: which call each is of.
 * @module
 */

import type { Item, Result } from "./_conversation.ts";
import { millisecondsOf, type Span, textOfAttribute } from "./_otel_spans.ts";
import { textOf } from "./_part.ts";

/** The spans of tools, from which the results of one reply after the other are taken. */
export interface Runs {
  /** Takes the results of the calls of the last reply, of what ran before a time. */
  readonly take: (items: readonly Item[], before: bigint | undefined) => Result[];
  /** The number of runs that are of no call. */
  readonly lost: (items: readonly Item[]) => number;
}

/** Returns the runs of tools in spans, which are in order of time. */
export function runsOf(spans: readonly Span[]): Runs {
  let left = [...spans];
  const unmatched: Span[] = [];
  return {
    take: (items, before) => {
      const last = items.findLast((item) => item.kind === "reply");
      const isLater = ({ start }: Span) =>
        before !== undefined && start !== undefined && start >= before;
      const window = left.filter((span) => !isLater(span));
      const calls = last?.calls ?? [];
      const done = window.filter((span) => !isTriedAgain(span, window, calls));
      const places = placesOf(done, calls);
      // A run without a time may be of a reply that is still to come.
      left = left.filter((span) => isLater(span) || span.start === undefined && !places.has(span));
      unmatched.push(...window.filter((span) => span.start !== undefined && !places.has(span)));
      return [...places].flatMap(([span, call]) => resultOf(span, call, calls[call]!.id))
        .sort((one, other) => one.call! - other.call!);
    },
    lost: (items) => {
      const ids = new Set(
        items.flatMap((item) => item.kind === "reply" ? item.calls.map(({ id }) => id) : []),
      );
      // One span within another may be of the same call.
      return [...unmatched, ...left].filter((span) => {
        const id = textOfAttribute(span, "gen_ai.tool.call.id");
        return id === undefined || !ids.has(id);
      }).length;
    },
  };
}

interface Called {
  readonly id?: string;
  readonly name: string;
}

/** The place of the call that each span is of: by its id, else by its name, and by place only without a name. */
function placesOf(spans: readonly Span[], calls: readonly Called[]): Map<Span, number> {
  const places = new Map<Span, number>();
  const taken = new Set<number>();
  for (
    const fits of [
      (span: Span, { id }: Called) =>
        id !== undefined && id !== "" && id === textOfAttribute(span, "gen_ai.tool.call.id"),
      (span: Span, { name }: Called) => name === nameOf(span),
      (span: Span) => nameOf(span) === undefined,
    ]
  ) {
    for (const span of spans) {
      if (places.has(span)) continue;
      const place = calls.findIndex((call, at) => !taken.has(at) && fits(span, call));
      if (place < 0) continue;
      places.set(span, place);
      taken.add(place);
    }
  }
  return places;
}

/** Whether a span failed whose call, the only one of its id, another one carried out again. */
function isTriedAgain(
  { hasFailed, end, attribute }: Span,
  spans: readonly Span[],
  calls: readonly Called[],
): boolean {
  const id = attribute("gen_ai.tool.call.id")?.value;
  return hasFailed && end !== undefined && id !== undefined &&
    calls.filter((call) => call.id === id).length === 1 &&
    spans.some((other) =>
      other.start !== undefined && other.start >= end &&
      other.attribute("gen_ai.tool.call.id")?.value === id
    );
}

/** The name of the tool; the name of the span has it as well. */
function nameOf(span: Span): string | undefined {
  return textOfAttribute(span, "gen_ai.tool.name") ??
    /^execute_tool (\S+)$/.exec(span.at.textAt("name") ?? "")?.[1];
}

function resultOf(span: Span, call: number, id: string | undefined): Result[] {
  const result = span.attribute("gen_ai.tool.call.result");
  if (result === undefined && !span.hasFailed) return [];
  const text = textOf(
    result?.value ?? span.at.get("status")?.first("message", "description")?.value ??
      span.attribute("error.type")?.value ?? "",
  );
  return [{
    ...{ kind: "result", text, at: span.at, call },
    id,
    isError: span.hasFailed ? true as const : undefined,
    durationMs: millisecondsOf(span),
  }];
}
