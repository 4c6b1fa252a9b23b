/**
 * A collector of OpenTelemetry on the loopback interface, which keeps what it is sent.
 */

import { assertEquals } from "@std/assert";

/** A span, as far as tests look at it. */
export interface Span {
  readonly id: string;
  readonly trace: string;
  /** The span above it; empty at the root of a trace. */
  readonly parent: string;
  readonly name: string;
  /** 1 is internal, 2 a server's, 3 a client's. */
  readonly kind: number;
  /** Whether its status is an error. */
  readonly isError: boolean;
  /** The description of its status. */
  readonly message: string;
  readonly attributes: Readonly<Record<string, unknown>>;
}

/** A running collector. */
export interface Collector extends AsyncDisposable {
  /** The variables of a process that sends its spans there. */
  readonly env: Readonly<Record<string, string>>;
  /** The paths of the requests so far. */
  readonly paths: readonly string[];
  /** The bodies of spans as they came, for what must not be in them. */
  readonly bodies: readonly string[];
  /** The spans of toolgate, by their start. */
  spans(): Span[];
  /** The spans of the runtime. */
  denoSpans(): Span[];
}

/** Whole numbers come as texts, so that they differ from others. */
type Value = Record<string, unknown> & { readonly arrayValue?: { readonly values: Value[] } };

interface SentSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string;
  readonly name: string;
  readonly kind: number;
  readonly startTimeUnixNano: string;
  readonly status: { readonly code: number; readonly message: string };
  readonly attributes: readonly { readonly key: string; readonly value: Value }[];
}

/** Starts a collector. */
export function startCollector(): Collector {
  const bodies: string[] = [];
  const paths: string[] = [];
  const server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen: () => {} },
    async (request) => {
      const { pathname } = new URL(request.url);
      const body = await request.text();
      paths.push(pathname);
      if (pathname === "/v1/traces") bodies.push(body);
      return Response.json({});
    },
  );
  const spansOf = (isWanted: (scope: string) => boolean) => {
    const sent = bodies.flatMap((body) =>
      JSON.parse(body).resourceSpans.flatMap(
        ({ scopeSpans }: { scopeSpans: { scope: { name: string }; spans: SentSpan[] }[] }) =>
          scopeSpans.flatMap(({ scope, spans }) => isWanted(scope.name) ? spans : []),
      ) as SentSpan[]
    );
    const start = ({ startTimeUnixNano }: SentSpan) => BigInt(startTimeUnixNano);
    return sent.sort((one, other) => Number(start(one) - start(other))).map(readSpan);
  };
  return {
    env: envFor(`http://127.0.0.1:${server.addr.port}`),
    bodies,
    paths,
    spans: () => spansOf((scope) => scope === "toolgate"),
    denoSpans: () => spansOf((scope) => scope === "deno"),
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
}

/** The variables of a process that sends its spans to an address. */
export function envFor(endpoint: string): Record<string, string> {
  return {
    OTEL_DENO: "true",
    OTEL_EXPORTER_OTLP_PROTOCOL: "http/json",
    OTEL_EXPORTER_OTLP_ENDPOINT: endpoint,
  };
}

function readSpan(
  { traceId, spanId, parentSpanId, name, kind, status, attributes }: SentSpan,
): Span {
  const keys = attributes.map(({ key }) => key);
  // OTLP demands it, and backends take any one of several values.
  assertEquals(keys, [...new Set(keys)], `attributes of ${name} are there twice`);
  return {
    ...{ id: spanId, trace: traceId, parent: parentSpanId, name, kind },
    isError: status.code === 2,
    message: status.message,
    attributes: Object.fromEntries(attributes.map(({ key, value }) => [key, plain(value)])),
  };
}

function plain(value: Value): unknown {
  if (value.arrayValue !== undefined) return value.arrayValue.values.map(plain);
  const [[type, inner] = ["", undefined]] = Object.entries(value);
  return type === "intValue" ? Number(inner) : type === "doubleValue" ? `double ${inner}` : inner;
}
