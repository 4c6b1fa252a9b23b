/**
 * What can become of a reply between a model and the code that asked for it: faults of network and server, and
 * replies that merely look odd. What may be wrong within a body of JSON is made by tests/fuzz/.
 */

// What a server answers is unmade here in every way there is: no type would hold.
// deno-lint-ignore no-explicit-any
type Wild = any;

/** One request, and the means to answer it: bytes on a socket. */
export interface Exchange {
  /** The sound reply; each fault changes a copy of its own. */
  reply(): Wild;
  /** Sends bytes or text. */
  send(bytes: Uint8Array | string): Promise<void>;
  /** Waits until the client has hung up, at most for `milliseconds`; returns whether it has. */
  left(milliseconds?: number): Promise<boolean>;
  /** Breaks the connection off with a reset, where `close` ends it in order. */
  reset(): void;
  close(): Promise<void>;
  /** Drops all connections, and refuses new ones for a while. */
  restart(): void;
  /** A host that nobody may ask. */
  readonly elsewhere: string;
  /** Seconds that a busy server asks to wait. */
  readonly retryAfter: string;
}

/** One kind of what can happen. */
export interface ChaosKind {
  readonly name: string;
  /** A reply that is right but odd: nothing is asked again. All other kinds are infrastructure's faults. */
  readonly sound: boolean;
  /** Whether the request is never answered in whole: a slow model could do that as well. */
  readonly silent: boolean;
  /** How often it is drawn for each time that a usual kind is. */
  readonly weight: number;
  readonly happen: (exchange: Exchange) => Promise<void> | void;
}

type Happen = ChaosKind["happen"];
type Details = Partial<Pick<ChaosKind, "sound" | "silent" | "weight">>;

function kind(name: string, happen: Happen, details: Details = {}): ChaosKind {
  return { name, happen, sound: false, silent: false, weight: 2, ...details };
}

function sound(name: string, happen: Happen, details: Details = {}): ChaosKind {
  return kind(name, happen, { sound: true, ...details });
}

const encoder = new TextEncoder();

interface Head {
  readonly status?: string;
  readonly type?: string;
  readonly headers?: Readonly<Record<string, string | number>>;
}

/** The head of a reply, with no length of its own. */
function headOf({ status = "200 OK", type = "application/json", headers = {} }: Head = {}): string {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  return `HTTP/1.1 ${status}\r\ncontent-type: ${type}\r\n${lines.join("")}`;
}

/** Sends a whole reply. */
async function answer(
  exchange: Exchange,
  body: string | Uint8Array,
  head: Head = {},
): Promise<void> {
  const bytes = typeof body === "string" ? encoder.encode(body) : body;
  await exchange.send(`${headOf(head)}content-length: ${bytes.length}\r\n\r\n`);
  await exchange.send(bytes);
}

/** A kind that answers with this body, whatever is asked. */
function saying(name: string, body: string, head: Head = {}, details: Details = {}): ChaosKind {
  return kind(name, (exchange) => answer(exchange, body, head), details);
}

const text = (exchange: Exchange): string => JSON.stringify(exchange.reply());

// Large bodies, which take no memory here.

const MiB = 2 ** 20;
const HUGE = 20 * MiB;
const BLANKS = new Uint8Array(MiB).fill(" ".charCodeAt(0));
const GARBAGE = new Uint8Array(MiB).map((_, place) => (place * 31) % 251);

async function pour(exchange: Exchange, piece: Uint8Array, bytes: number): Promise<void> {
  for (let sent = 0; sent < bytes; sent += piece.length) await exchange.send(piece);
}

async function chunk(exchange: Exchange, piece: Uint8Array): Promise<void> {
  await exchange.send(`${piece.length.toString(16)}\r\n`);
  await exchange.send(piece);
  await exchange.send("\r\n");
}

const CHUNKED = "transfer-encoding: chunked\r\n\r\n";

/** Sends a body in chunks: its beginning, blanks, and the end of the body if there is one. */
async function inChunks(exchange: Exchange, begin: string, blanks: number, head: Head = {}) {
  await exchange.send(headOf(head) + CHUNKED);
  await chunk(exchange, encoder.encode(begin));
  for (let sent = 0; sent < blanks; sent += MiB) await chunk(exchange, BLANKS);
  await exchange.send("0\r\n\r\n");
}

async function packed(body: string): Promise<Uint8Array> {
  const stream = new Blob([body]).stream().pipeThrough(new CompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

const BOMB = await packed("{}" + " ".repeat(HUGE));
const GZIP: Head = { headers: { "content-encoding": "gzip" } };

function manyHeaders(count: number): Record<string, string> {
  return Object.fromEntries(Array.from({ length: count }, (_, place) => [`x-${place}`, "y"]));
}

/** Rare kinds: each takes a second of everybody's time. */
const RARE = { weight: 1 };
const SILENT: Details = { ...RARE, silent: true };

const PAGE = "<html>\n<body>" + "<p>Bad gateway</p>\n".repeat(500) + "</body></html>";
const failed = (message: string) => JSON.stringify({ error: { message, type: "server_error" } });

/** Those with bodies of 20 MB and more. */
export const HUGE_KINDS: readonly ChaosKind[] = [
  kind("20 MB that are announced", async (exchange) => {
    const body = encoder.encode(text(exchange));
    await exchange.send(`${headOf()}content-length: ${body.length + HUGE}\r\n\r\n`);
    await exchange.send(body);
    await pour(exchange, BLANKS, HUGE);
  }),
  kind("20 MB of garbage", async (exchange) => {
    await exchange.send(`${headOf()}content-length: ${HUGE}\r\n\r\n`);
    await pour(exchange, GARBAGE, HUGE);
  }),
  kind("20 MB in chunks", (exchange) => inChunks(exchange, text(exchange), HUGE)),
  kind("20 MB without a length", async (exchange) => {
    await exchange.send(`${headOf({ headers: { connection: "close" } })}\r\n${text(exchange)}`);
    await pour(exchange, BLANKS, HUGE);
    exchange.close();
  }),
  kind(
    "20 MB of an error",
    (exchange) => inChunks(exchange, "{", HUGE, { status: "500 Internal Server Error" }),
  ),
  kind("20 MB in gzip", (exchange) => answer(exchange, BOMB, GZIP)),
  kind("no end", (exchange) => inChunks(exchange, text(exchange), Infinity)),
].map((one) => ({ ...one, ...RARE }));

/** All kinds there are. */
export const CHAOS_KINDS: readonly ChaosKind[] = [
  // Servers that say that they cannot.
  saying("429", failed("Rate limit reached"), { status: "429 Too Many Requests" }),
  kind("429 with retry-after", (exchange) =>
    answer(exchange, failed("Rate limit reached"), {
      status: "429 Too Many Requests",
      headers: { "retry-after": exchange.retryAfter },
    })),
  saying("429 with retry-after-ms", failed("Rate limit reached"), {
    status: "429 Too Many Requests",
    headers: { "retry-after-ms": 40 },
  }),
  saying("429 with nonsense for retry-after", failed("Rate limit reached"), {
    status: "429 Too Many Requests",
    headers: { "retry-after": "soon", "retry-after-ms": "-1" },
  }),
  saying("408", failed("Request timeout"), { status: "408 Request Timeout" }),
  saying("500", failed("The server had an error"), { status: "500 Internal Server Error" }),
  saying("500 with an empty body", "", { status: "500 Internal Server Error" }),
  saying("502 in HTML", PAGE, { status: "502 Bad Gateway", type: "text/html" }),
  saying("503", failed("Overloaded"), {
    status: "503 Service Unavailable",
    headers: { "retry-after-ms": 20 },
  }),
  kind("a redirection elsewhere", (exchange) =>
    answer(exchange, "", {
      status: "307 Temporary Redirect",
      headers: { location: `http://${exchange.elsewhere}/v1` },
    })),
  saying("a redirection to itself", "", { status: "302 Found", headers: { location: "?" } }),

  // Servers that take their time.
  kind("nothing at all", async (exchange) => {
    await exchange.left();
  }, SILENT),
  kind("a head and then nothing", async (exchange) => {
    await exchange.send(`${headOf()}content-length: 1000\r\n\r\n`);
    await exchange.left();
  }, SILENT),
  kind("half a body and then nothing", async (exchange) => {
    await exchange.send(
      `${headOf()}content-length: ${encoder.encode(text(exchange)).length}\r\n\r\n`,
    );
    await exchange.send(text(exchange).slice(0, 40));
    await exchange.left();
  }, SILENT),
  kind("half an error and then nothing", async (exchange) => {
    await exchange.send(`${headOf({ status: "500 Oops" })}content-length: 1000\r\n\r\n{`);
    await exchange.left();
  }, SILENT),
  kind("an endless drip", async (exchange) => {
    await exchange.send(headOf() + CHUNKED);
    while (!await exchange.left(50)) await exchange.send("1\r\n \r\n");
  }, SILENT),
  sound("a slow drip", async (exchange) => {
    const bytes = encoder.encode(text(exchange));
    await exchange.send(`${headOf()}content-length: ${bytes.length}\r\n\r\n`);
    for (let place = 0; place < 10; place++) {
      const [from, to] = [place, place + 1].map((part) => Math.round(part * bytes.length / 10));
      await exchange.send(bytes.slice(from, to));
      if (await exchange.left(5)) return;
    }
  }),

  // Connections that break.
  kind("a restart", (exchange) => exchange.restart(), RARE),
  kind("a reset before the head", (exchange) => exchange.reset()),
  kind("a close before the head", (exchange) => exchange.close()),
  kind("a close within the head", async (exchange) => {
    await exchange.send(headOf().slice(0, 20));
    exchange.close();
  }),
  kind("a reset within the body", async (exchange) => {
    await exchange.send(`${headOf()}content-length: 1000\r\n\r\n{"model":`);
    exchange.reset();
  }),
  kind("a close within the body", async (exchange) => {
    await exchange.send(`${headOf()}content-length: 1000\r\n\r\n{"model":`);
    exchange.close();
  }),
  kind("a close within a chunk", async (exchange) => {
    await exchange.send(`${headOf()}${CHUNKED}40\r\n{"model":`);
    exchange.close();
  }),
  sound("a close after the reply", async (exchange) => {
    await answer(exchange, text(exchange));
    exchange.close();
  }),
  sound("a close that is announced", async (exchange) => {
    await answer(exchange, text(exchange), { headers: { connection: "close" } });
    exchange.close();
  }),

  // Servers that break the protocol, or stretch it.
  kind("no HTTP", async (exchange) => {
    await exchange.send("SSH-2.0-OpenSSH_9.2\r\n");
    exchange.close();
  }),
  kind("two lengths", async (exchange) => {
    const body = text(exchange);
    await exchange.send(`${headOf({ headers: { "content-length": 3 } })}content-length: 9\r\n\r\n`);
    await exchange.send(body);
    exchange.close();
  }),
  kind("a length that is too short", async (exchange) => {
    await exchange.send(`${headOf()}content-length: 20\r\n\r\n${text(exchange)}`);
    exchange.close();
  }),
  kind(
    "a head that is too large",
    (exchange) => answer(exchange, text(exchange), { headers: manyHeaders(5_000) }),
  ),
  sound(
    "many headers",
    (exchange) => answer(exchange, text(exchange), { headers: manyHeaders(60) }),
  ),
  sound("hints before the head", async (exchange) => {
    await exchange.send("HTTP/1.1 103 Early Hints\r\nlink: </style.css>\r\n\r\n");
    await answer(exchange, text(exchange));
  }),
  sound("chunks", (exchange) => inChunks(exchange, text(exchange), 0)),
  sound("no length", async (exchange) => {
    await exchange.send(`${headOf({ headers: { connection: "close" } })}\r\n${text(exchange)}`);
    exchange.close();
  }),
  sound("gzip", async (exchange) => answer(exchange, await packed(text(exchange)), GZIP)),
  saying("gzip that is none", "no gzip at all", GZIP),
  kind("gzip that is cut", async (exchange) => {
    const bytes = await packed(text(exchange));
    await answer(exchange, bytes.slice(0, bytes.length / 2), GZIP);
  }),
  kind("an unknown encoding", async (exchange) => {
    const bytes = await packed(text(exchange));
    await answer(exchange, bytes, { headers: { "content-encoding": "wild" } });
  }),

  // Bodies that are no JSON, or not marked as such.
  saying("malformed JSON", '{"choices": [}, "output": '),
  kind("truncated JSON", (exchange) => answer(exchange, text(exchange).slice(0, -30))),
  saying("an empty body", ""),
  saying("no content", "", { status: "204 No Content" }),
  saying("null", "null"),
  saying("a list", "[]"),
  saying("a list of objects", '[{"choices":[]}]'),
  saying("a text", '"busy"'),
  saying("a number", "7"),
  saying("an object of something else", '{"hello":"world"}'),
  saying("deep nesting", "[".repeat(100_000) + "]".repeat(100_000)),
  saying("plain text", "Service is starting", { type: "text/plain" }),
  saying("HTML with 200", PAGE, { type: "text/html" }),
  saying("an event stream", 'data: {"choices":[]}\n\ndata: [DONE]\n\n', {
    type: "text/event-stream",
  }),
  kind(
    "JSON marked as text",
    (exchange) => answer(exchange, text(exchange), { type: "text/plain" }),
  ),
  kind(
    "JSON marked as bytes",
    (exchange) => answer(exchange, text(exchange), { type: "application/octet-stream" }),
  ),
  kind("UTF-16", (exchange) => {
    const units = Uint16Array.from(text(exchange), (letter) => letter.charCodeAt(0));
    return answer(exchange, new Uint8Array(units.buffer));
  }),
  sound("a byte order mark", (exchange) => answer(exchange, "\ufeff" + text(exchange))),
  saying("an error with 200", failed("No GPU is left")),
  // Bodies that are too long.
  sound("a long body", (exchange) => answer(exchange, text(exchange) + " ".repeat(2 * MiB))),
  ...HUGE_KINDS,
];
