/**
 * A server of the Model Context Protocol that misbehaves as its arguments say: run as a program, or its answers alone. It
 * writes JSON-RPC itself, as no library would let it.
 */

type Params = Record<string, unknown>;

/** What it knows of a request. */
interface Asked {
  readonly id?: number | string;
  readonly method: string;
  readonly params?: Params;
}

const NUMBER = {
  type: "object",
  properties: { degrees: { type: "number" } },
  required: ["degrees"],
};
const EMPTY = { type: "object", properties: {} };

/** Its tools, in two pages. */
const PAGES = [
  [
    { name: "db.query", title: "Query", inputSchema: EMPTY, annotations: { readOnlyHint: true } },
    { name: "db_query", description: "Another one", inputSchema: EMPTY },
    {
      name: "degrees",
      description: "Tells the temperature",
      inputSchema: { type: "object", properties: { as: { type: "string" } }, required: ["as"] },
      outputSchema: NUMBER,
    },
  ],
  ["fail", "refuse", "garbage", "parts", "pid", "die", "hang"].map((name) => ({
    ...{ name, description: `Does ${name}`, inputSchema: EMPTY },
  })),
];

const text = (text: string) => ({ content: [{ type: "text", text }] });

/** What it says to a call; `undefined` if it never answers. */
function called(name: string, given: Params): unknown {
  const degrees = { number: 21, text: "warm" }[String(given["as"])];
  switch (name) {
    case "degrees":
      return {
        ...text("21 or so"),
        ...(degrees === undefined ? {} : { structuredContent: { degrees } }),
      };
    case "fail":
      return { ...text("there is no such row"), isError: true };
    case "garbage":
      return { content: "warm" };
    case "parts":
      return {
        content: [
          { type: "text", text: "see" },
          { type: "image", mimeType: "image/png", data: "AA==" },
          { type: "resource", resource: { uri: "file:///a", text: "whole" } },
          { type: "resource", resource: { uri: "file:///b", blob: "AAAA\nAAA=" } },
          { type: "chart", points: [1, 2] },
        ],
      };
    case "pid":
      return text(`${Deno.pid}`);
    case "die":
      console.error("Error: out of memory\n    at somewhere");
      return Deno.exit(1);
    case "hang":
      return undefined;
    default:
      return text(name);
  }
}

/** Returns the answer to a request; `undefined` to what needs none. */
export function answer({ id, method, params = {} }: Asked): object | undefined {
  if (id === undefined) return undefined;
  const result = (result: unknown) => ({ jsonrpc: "2.0", id, result });
  const error = (code: number, message: string) => ({
    jsonrpc: "2.0",
    id,
    error: { code, message },
  });
  switch (method) {
    case "initialize":
      return result({
        protocolVersion: params["protocolVersion"],
        capabilities: { tools: {} },
        serverInfo: { name: "odd", version: "1.0.0" },
        instructions: "Ask for degrees",
      });
    case "tools/list": {
      const page = Number(params["cursor"] ?? 0);
      const next = page + 1 < PAGES.length ? { nextCursor: `${page + 1}` } : {};
      return result({ tools: PAGES[page], ...next });
    }
    case "tools/call": {
      if (params["name"] === "refuse") return error(-32602, "there is nothing to refuse");
      const given = called(String(params["name"]), params["arguments"] as Params);
      return given === undefined ? undefined : result(given);
    }
    default:
      return error(-32601, `there is no method ${method}`);
  }
}

if (import.meta.main) {
  let rest = "";
  for await (const bytes of Deno.stdin.readable) {
    const lines = (rest + new TextDecoder().decode(bytes)).split("\n");
    rest = lines.pop()!;
    for (const line of lines) {
      const said = answer(JSON.parse(line));
      if (said !== undefined) console.log(JSON.stringify(said));
    }
  }
}
