/**
 * A server that costs next to nothing, in a process of its own: it has every answer ready, and finds it
 * by the prompt and the number of replies in a request. Anyone who asks, and how many milliseconds an answer
 * takes, stand in the address: `/NAME/50/v1`. `/` shows who has asked how often, and with how many bytes.
 *
 * deno run --allow-net=127.0.0.1 --allow-read=WORK tests/bench/mock_server.ts WORK
 */

import type { Work } from "./workload.ts";

/** What one client has sent. */
export interface Asked {
  requests: number;
  bytes: number;
  /** When the first request came, and when the last answer went: milliseconds of the server. */
  first: number;
  last: number;
}

const REPLY = '"role":"assistant"';
const CONTENT = '"content":';

/** What finds the answer to a request by its body; `undefined` for what is not of this work. */
function answersOf({ conversations }: Work): (body: string) => string | undefined {
  const answers = new Map(
    conversations.map(({ prompt, answers }) => [JSON.stringify(prompt), answers]),
  );
  return (body) => {
    const from = body.indexOf(CONTENT) + CONTENT.length;
    const prompt = body.slice(from, body.indexOf('"}', from) + 1);
    let replies = 0;
    for (let at = body.indexOf(REPLY); at >= 0; at = body.indexOf(REPLY, at + 1)) replies++;
    return answers.get(prompt)?.[replies];
  };
}

if (import.meta.main) {
  const answerOf = answersOf(JSON.parse(Deno.readTextFileSync(Deno.args[0]!)));
  const asked: Record<string, Asked> = {};
  const headers = { "content-type": "application/json" };
  Deno.serve({
    port: 0,
    hostname: "127.0.0.1",
    onListen: ({ port }) => console.log(port),
  }, async (request) => {
    const path = request.url.slice(request.url.indexOf("/", "http://".length));
    if (path === "/") return Response.json(asked);
    const [, name, latency] = path.split("/");
    const body = await request.text();
    const now = performance.now();
    const own = asked[name!] ??= { requests: 0, bytes: 0, first: now, last: now };
    own.requests++;
    own.bytes += body.length;
    const answer = answerOf(body);
    if (answer === undefined) return new Response("not of this work", { status: 400 });
    if (latency !== "0") await new Promise((resolve) => setTimeout(resolve, Number(latency)));
    own.last = performance.now();
    return new Response(answer, { headers });
  });
}
