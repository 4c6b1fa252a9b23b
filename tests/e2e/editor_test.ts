// What editors show of tests, as Deno's language server shows them.

import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { folder, ROOT } from "../support/child.ts";

/** A message of the protocol. */
interface Message {
  readonly id?: number;
  readonly method?: string;
  // deno-lint-ignore no-explicit-any
  readonly params?: any;
}

/** Reads messages off a stream. */
async function* messagesOf(stream: ReadableStream<Uint8Array>): AsyncGenerator<Message> {
  let bytes = new Uint8Array();
  for await (const chunk of stream) {
    const joined = new Uint8Array(bytes.length + chunk.length);
    joined.set(bytes);
    joined.set(chunk, bytes.length);
    bytes = joined;
    while (true) {
      const [head, length] = /^[^]*?Content-Length: (\d+)[^]*?\r\n\r\n/
        .exec(new TextDecoder("latin1").decode(bytes.subarray(0, 500))) ?? [];
      if (head === undefined || bytes.length < head.length + Number(length)) break;
      const end = head.length + Number(length);
      yield JSON.parse(new TextDecoder().decode(bytes.subarray(head.length, end)));
      bytes = bytes.slice(end);
    }
  }
}

Deno.test("editors show each test in the user's file, and failures at their lines", async () => {
  await using place = await folder();
  place.write("deno.json", "{}");
  const text = `import { assertAnswer, benchmark, scripted, toolTest } from ${
    JSON.stringify(`${ROOT}/mod.ts`)
  };
Deno.test("native", () => {});
benchmark("plain", { model: "sim:planner", tasks: { core: 3, depth: 2 }, seed: 1, graphs: 1 });
toolTest("wrong", {
  model: scripted("s", [{ text: "no" }]), tools: [], prompt: "Really?",
  assert(run) { assertAnswer(run, "yes"); },
});
`;
  const uri = `file://${place.write("own_test.ts", text)}`;
  const args = ["--allow-all", "--no-check", `--config=${ROOT}/deno.json`];

  await using server = new Deno.Command(Deno.execPath(), {
    ...{ args: ["lsp"], cwd: place.path },
    ...{ stdin: "piped", stdout: "piped", stderr: "null" },
  }).spawn();
  const writer = server.stdin.getWriter();
  const send = async (message: object) => {
    const body = new TextEncoder().encode(JSON.stringify({ jsonrpc: "2.0", ...message }));
    await writer.write(new TextEncoder().encode(`Content-Length: ${body.length}\r\n\r\n`));
    await writer.write(body);
  };
  const testing = { experimental: { testingApi: true }, workspace: { configuration: true } };
  await send({
    ...{ id: 1, method: "initialize" },
    params: { processId: null, rootUri: `file://${place.path}`, capabilities: testing },
  });
  const shown: [label: string, uri: string][] = [];
  const failures: string[] = [];
  for await (const { id, method, params } of messagesOf(server.stdout)) {
    if (method === "workspace/configuration") {
      const settings = { enable: true, testing: { args } };
      await send({ id, result: params.items.map(() => settings) });
    } else if (method !== undefined && id !== undefined) {
      await send({ id, result: null });
    } else if (id === 1) {
      await send({ method: "initialized", params: {} });
      const textDocument = { uri, languageId: "typescript", version: 1, text };
      await send({ method: "textDocument/didOpen", params: { textDocument } });
    } else if (method === "deno/testModule") {
      // What stands there as Deno.test() is found at once, and all else when it is run.
      if (params.kind === "replace") {
        await send({ id: 2, method: "deno/testRun", params: { id: 1, kind: "run" } });
      }
      for (const { label } of params.tests) shown.push([label, params.textDocument.uri]);
    } else if (method === "deno/testRunProgress") {
      if (params.message.type === "failed") failures.push(JSON.stringify(params.message));
      if (params.message.type === "end") break;
    }
  }
  server.kill();
  await Promise.all([writer.abort().catch(() => {}), server.status]);
  assertEquals(shown.map(([label]) => label.replace(/ > core 3.*/, "")), [
    ...["native", "plain", "wrong"],
  ]);
  assert(shown.every(([, own]) => own === uri), JSON.stringify(shown));
  assertEquals(failures.length, 1, failures.join("\n"));
  assertStringIncludes(failures[0]!, `at ${uri}:6:17`);
});
