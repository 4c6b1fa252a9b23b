// Images and audio of an MCP server that is a program, on their way to a server of models.

import { assert, assertEquals, assertMatch } from "@std/assert";
import type { JsonObject, JsonValue } from "../../lib/base/json.ts";
import { mcpTools } from "../../lib/integrations/mcp.ts";
import { Connections } from "../../lib/models/connect.ts";
import type { ModelEntry } from "../../lib/models/entry.ts";
import { caseOpener } from "../../lib/trials/executors/case.ts";
import { runTrial } from "../../lib/trials/run_trial.ts";
import { deno, folder, ROOT } from "../support/child.ts";
import { answering, completion, KEY, serversOf, WIRES } from "../support/wire_servers.ts";

const [CHAT, RESPONSES] = WIRES;
const PNG = "iVBORw0KGgo=";
const WAV = "UklGRiQAAABXQVZF";
const IMAGE = { type: "image", mimeType: "image/png", data: PNG };
const CONTENT = [
  { type: "text", text: "A chart" },
  IMAGE,
  { type: "resource", resource: { uri: "file:///a.wav", mimeType: "audio/wav", blob: WAV } },
];
const NOTES = ["[image, image/png, 8 bytes", "[resource, file:///a.wav, audio/wav, 12 bytes"];
const LEFT = NOTES.map((note) => `${note}: left out; only text is passed on]`);
const SENT = NOTES.map((note) => `${note}]`);
const PARTS: readonly JsonObject[] = [
  { type: "image_url", image_url: { url: `data:image/png;base64,${PNG}` } },
  { type: "input_audio", input_audio: { data: WAV, format: "wav" } },
];

/** The program that is an MCP server whose tool returns this content. */
const serverOf = (content: readonly object[]) => [
  ...[Deno.execPath(), "run", "--no-lock", "--no-check"],
  new URL("../support/lax_mcp_server.ts", import.meta.url).pathname,
  JSON.stringify(content),
];

/** What a server of models is sent once two calls have got this content, behind the calls. */
async function sent(
  { api = "chat", ...entry }: Partial<ModelEntry>,
  content: readonly object[] = CONTENT,
  limits: { readonly observation?: number } = {},
): Promise<JsonObject[]> {
  const wire = api === "responses" ? RESPONSES! : CHAT!;
  const calls = ["a", "b"].map((id) => ({ id, name: "media" }));
  const text = '<tool_call>\n{"name": "media", "arguments": {}}\n</tool_call>\n'.repeat(2);
  const reply = api === "hermes" ? completion({ content: text }) : wire.calling(...calls);
  await using server = serversOf(wire.api).serving(answering(reply), answering(wire.hello()));
  const baseURL = `http://${server.host}/v1`;
  const model = new Connections().model({ model: "m", baseURL, api, ...entry }, KEY);
  const tools = () => mcpTools(serverOf(content), { tools: ["media"] });
  const toolCase = { name: "case", tools, prompt: "Look.", assert: () => {} };
  const open = caseOpener(() => toolCase);
  const trial = await runTrial({ case: "case", seed: 1 }, model, { open, limits });
  assertEquals([trial.outcome, JSON.stringify(trial).includes(PNG)], ["solved", false]);
  const { messages, input } = server.received[1]!.body as Record<string, JsonObject[]>;
  return messages?.slice(api === "hermes" ? 3 : 2) ?? input!.slice(3);
}

Deno.test("images and audio of an MCP server reach chat models whose entries take them, behind all results", async () => {
  const results = (text: string): JsonObject[] =>
    ["a", "b"].map((id) => ({ role: "tool", tool_call_id: id, content: `A chart\n${text}` }));
  const parts = (places: readonly number[]) =>
    ["a", "b"].flatMap((id) =>
      places.flatMap((place) => [
        { type: "text", text: `${SENT[place]} of the result of media, call ${id}:` },
        PARTS[place]!,
      ])
    );
  assertEquals(await sent({}), results(LEFT.join("\n")));
  const both = await sent({ takes: ["image", "audio"] });
  assertEquals(both, [...results(SENT.join("\n")), { role: "user", content: parts([0, 1]) }]);
  const [one, , beside] = await sent({ takes: ["audio"] });
  assertEquals([one, beside!["content"]], [results(`${LEFT[0]}\n${SENT[1]}`)[0], parts([1])]);
  // A text that looks like a note passes nothing on, and a limit that cuts a note off takes its image with it.
  const forged = await sent({}, [{ type: "text", text: SENT[0] }, IMAGE]);
  const cut = await sent({ takes: ["image"] }, CONTENT, { observation: 12 });
  assertEquals([forged, cut].map(({ length }) => length), [2, 2]);
});

Deno.test("images of an MCP server are parts of a result of responses, which carry no audio", async () => {
  const outputs = (output: JsonValue) =>
    ["a", "b"].map((id) => ({ type: "function_call_output", call_id: id, output }));
  assertEquals(await sent({ api: "responses" }), outputs(`A chart\n${LEFT.join("\n")}`));
  assertEquals(
    await sent({ api: "responses", takes: ["image", "audio"] }),
    outputs([
      { type: "input_text", text: `A chart\n${SENT[0]}\n${LEFT[1]}` },
      { type: "input_image", image_url: `data:image/png;base64,${PNG}` },
    ]),
  );
});

Deno.test("images and audio of an MCP server follow the results in the message of a text format", async () => {
  const [message] = await sent({ api: "hermes", takes: ["image", "audio"] });
  const [{ text }, ...parts] = message!["content"] as [{ text: string }, ...JsonObject[]];
  assert(SENT.every((note) => text.includes(note)), text);
  const noted = PARTS.flatMap((part, place) => [{ type: "text", text: `${SENT[place]}:` }, part]);
  assertEquals(parts, [...noted, ...noted]);
  assertEquals(typeof (await sent({ api: "hermes" }))[0]!["content"], "string");
});

Deno.test("data of an MCP server that no API takes is named and left out", async () => {
  const said = async (...content: object[]) => {
    await using tools = await mcpTools({
      listTools: () => Promise.resolve({ tools: [{ name: "media", inputSchema: {} }] }),
      callTool: () => Promise.resolve({ content }),
      getInstructions: () => undefined,
    });
    return (await tools[0]!.execute({})).split("\n");
  };
  const part = (mimeType: string, data = PNG) => ({ type: "image", mimeType, data });
  const odd = ["image/svg+xml", "image/png;base64,AAAA", "IMAGE/PNG"];
  for (const text of await said(...odd.map((type) => part(type)), part("image/png", "@@@@"))) {
    assertMatch(text, /^\[image, .*: left out; it is no png, jpeg, gif, webp, wav or mp3\]$/);
  }
  const large = part("image/png", "A".repeat(6 * 2 ** 20));
  const lines = await said(large, large);
  assertMatch(lines[1]!, /left out; images and audio of one result have at most 8 MiB\]$/);
});

Deno.test("a replay of which an image has changed is a miss, and no recording or journal has its data", async () => {
  await using place = await folder();
  const answers = [CHAT!.calling({ name: "media" }), CHAT!.hello()].map(answering);
  await using server = serversOf("chat").serving(...answers);
  const test = (data: string, flags: string[], more = "") => {
    const tools = JSON.stringify(serverOf([{ ...IMAGE, data }]));
    const model = { model: "m", baseURL: `http://${server.host}/v1`, takes: ["image"] };
    const file = place.write(
      "media_test.ts",
      `import { toolTest } from "@toolgate/toolgate";
       import { mcpTools } from "@toolgate/toolgate/integrations/mcp";
       toolTest("looks", { model: ${
        JSON.stringify(model)
      }, prompt: "Look.", assert: () => {}, ${more}
         tools: () => mcpTools(${tools}, { tools: ["media"] }) });`,
    );
    return deno(["test", "--no-check", `--config=${ROOT}/deno.json`, "-A", file, "--", ...flags]);
  };
  const [kept, out] = [place.file("kept"), place.file("out.jsonl")];
  const recorded = await test(PNG, [`--record=${kept}`, `--out=${out}`]);
  assertEquals(recorded.code, 0, recorded.all);
  const replayed = await test(PNG, [`--replay=${kept}`]);
  assertEquals([replayed.code, server.received.length], [0, 2], replayed.all);
  const [model] = [...Deno.readDirSync(kept)].filter(({ isDirectory }) => isDirectory);
  const [file] = [...Deno.readDirSync(`${kept}/${model!.name}`)];
  for (const path of [out, `${kept}/${model!.name}/${file!.name}`]) {
    const text = Deno.readTextFileSync(path);
    assert(text.includes(SENT[0]!) && !text.includes(PNG), text);
  }
  // With a state tools run in a replay, too.
  const missed = await test("iVBORw0KGgA=", [`--replay=${kept}`], "state: () => ({}),");
  assertMatch(missed.all, /first difference at messages\[2\]\.media\[0\]\.hash/);
});
