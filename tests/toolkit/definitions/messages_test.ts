// The messages of definitions, and what becomes of them: the article's definition, and prompts of MCP.

import { assertEquals, assertThrows } from "@std/assert";
import { InputError } from "../../../lib/base/errors.ts";
import { parseDefinition } from "../../../lib/toolkit/definitions/definition.ts";
import { defineFrom, type Said } from "../../../lib/toolkit/definitions/from_trace.ts";
import { definitionPrompt, getDefinitionPrompt } from "../../../lib/toolkit/definitions/prompt.ts";
import { definitionTool, runDefinition } from "../../../lib/toolkit/definitions/run.ts";
import { scripted } from "../../../lib/models/scripted.ts";
import { runTrial } from "../../../lib/trials/run_trial.ts";
import { MEAN, OPTIONS } from "../../support/definitions.ts";

const [SUM, HALF] = MEAN as [typeof MEAN[number], typeof MEAN[number]];
const said = (role: Said["role"], content: string): Said => ({ role, content });

/** The article's definition, with its messages. */
const TRACE = [
  said("user", "What is the mean of `@X` and `@Y`?"),
  said("assistant", "To compute the mean, we first compute the sum of `@X` and `@Y`"),
  SUM,
  { tool: "eval", arguments: { expression: "@X*@Y" }, result: "Product" },
  said("assistant", "Then we divide the sum `@SumXY` by 2 to find the mean"),
  HALF,
  said("assistant", "The mean of `@X` and `@Y` is `@Mean`."),
];
const MEAN_SAID = defineFrom(TRACE, { ...OPTIONS, description: "Compute the mean." });

/** A calculator of sums and halves. */
const EVAL = {
  name: "eval",
  description: "Evaluates",
  parameters: { type: "object", properties: { expression: { type: "string" } } },
  execute: ({ expression }: Record<string, unknown>) => {
    const [, one, sign, other] = /^([\d.]+)([+/])([\d.]+)$/.exec(String(expression))!;
    const value = sign === "+" ? Number(one) + Number(other) : Number(one) / Number(other);
    return Promise.resolve(String(value));
  },
};

Deno.test("a definition keeps the messages between its calls (Indirection, Adding a Level of Indirection)", () => {
  assertEquals(
    String(MEAN_SAID),
    `/** Compute the mean. */
mean(@X: number, @Y: number) -> @Mean: number :-
  user> What is the mean of \`@X\` and \`@Y\`?
  assistant> To compute the mean, we first compute the sum of \`@X\` and \`@Y\`
  eval({"expression":"@X+@Y"}) -> @SumXY
  assistant> Then we divide the sum \`@SumXY\` by 2 to find the mean
  eval({"expression":"@SumXY/2"}) -> @Mean
  assistant> The mean of \`@X\` and \`@Y\` is \`@Mean\`.`,
  );
  assertEquals(MEAN_SAID.messages?.map(({ after }) => after), [0, 0, 1, 2]);
  const json = JSON.parse(JSON.stringify(MEAN_SAID));
  assertEquals([json.v, parseDefinition(json)], [2, MEAN_SAID]);
  // One without messages stays in the form of before.
  assertEquals(JSON.parse(JSON.stringify(defineFrom(MEAN, OPTIONS))).v, 1);
});

Deno.test("runDefinition() and definitionTool() tell the messages with the values of names (Indirection, Adding a Level of Indirection)", async () => {
  for (const run of ["run", "tool"] as const) {
    const heard: string[] = [];
    const options = { said: ({ role, content }: Said) => heard.push(`${role}> ${content}`) };
    const given = { X: 10, Y: 20 };
    assertEquals(
      run === "run"
        ? await runDefinition(MEAN_SAID, [EVAL], given, options)
        : JSON.parse(await definitionTool(MEAN_SAID, [EVAL], options).execute(given)),
      15,
    );
    assertEquals(heard, [
      "user> What is the mean of `@X=10` and `@Y=20`?",
      "assistant> To compute the mean, we first compute the sum of `@X=10` and `@Y=20`",
      "assistant> Then we divide the sum `@SumXY=30` by 2 to find the mean",
      "assistant> The mean of `@X=10` and `@Y=20` is `@Mean=15`.",
    ]);
  }
});

Deno.test("a definition is a prompt of MCP without its calls (Indirection, Adding a Level of Indirection)", () => {
  // As the specification's prompts/list and prompts/get have them.
  assertEquals(definitionPrompt(MEAN_SAID), {
    name: "mean",
    description: "Compute the mean.",
    arguments: [
      { name: "X", description: "of type number, as JSON", required: true },
      { name: "Y", description: "of type number, as JSON", required: true },
    ],
  });
  const { description, messages } = getDefinitionPrompt(MEAN_SAID, { X: "10", Y: "20" });
  assertEquals(description, "Compute the mean.");
  assertEquals(messages.slice(0, 2), [
    { role: "user", content: { type: "text", text: "What is the mean of `10` and `20`?" } },
    {
      role: "assistant",
      content: {
        type: "text",
        text: "To compute the mean, we first compute the sum of `10` and `20`",
      },
    },
  ]);
  assertEquals(messages[3]!.content.text, "The mean of `10` and `20` is `@Mean`.");
  const wrong: [Record<string, string>, string][] = [
    [{ X: "10" }, "@Y is missing"],
    [{ X: "10", Y: "many" }, '@Y is "many"'],
    [{ X: "10", Y: "20", Z: "1" }, "Z is not one of these"],
  ];
  for (const [given, rule] of wrong) {
    assertThrows(() => getDefinitionPrompt(MEAN_SAID, given), InputError, rule);
  }
  const silent = defineFrom(MEAN, OPTIONS);
  for (const make of [definitionPrompt, (one: typeof silent) => getDefinitionPrompt(one, {})]) {
    assertThrows(() => make(silent), InputError, "a prompt has messages");
  }
  // Texts are no JSON.
  const name = parseDefinition({
    ...JSON.parse(JSON.stringify(MEAN_SAID)),
    inputs: [{ name: "X", type: "string" }, { name: "Y", type: "number" }],
  });
  const [first] = getDefinitionPrompt(name, { X: "12", Y: "1" }).messages;
  assertEquals(first!.content.text, "What is the mean of `12` and `1`?");
});

Deno.test("defineFrom() keeps what was said in a trial where it is asked to", async () => {
  const { events } = await runTrial(
    { case: "mental_arithmetic", seed: 0 },
    scripted("m", [
      {
        text: "I add.",
        calls: [{ name: "eval", arguments: { expression: "45 + 7", result: "@S" } }],
      },
      { text: "It is @S." },
    ]),
    { strategy: { strategy: "indirection" } },
  );
  const options = { inputs: {}, output: { name: "S", type: "number" } } as const;
  const question = said("user", "What is 45 + 7?");
  const kept = defineFrom([question, ...events], { ...options, messages: true });
  assertEquals(kept.messages, [
    { ...question, after: 0 },
    { ...said("assistant", "I add."), after: 0 },
    { ...said("assistant", "It is @S."), after: 1 },
  ]);
  assertEquals(defineFrom(events, options).messages, undefined);
});

Deno.test("parseDefinition() refuses messages that are out of order, too long, or in version 1", () => {
  const json = JSON.parse(JSON.stringify(MEAN_SAID));
  const [first, second, third, last] = json.messages;
  for (
    const wrong of [
      { ...json, v: 1 },
      { ...json, messages: undefined },
      { ...json, messages: [last, first] },
      { ...json, messages: [{ ...last, after: 3 }] },
      { ...json, messages: [{ ...last, after: -1 }] },
      { ...json, messages: [{ ...last, after: 0.5 }] },
      { ...json, messages: [{ ...second, role: "system" }] },
      { ...json, messages: [{ ...third, content: "x".repeat(100_001) }] },
    ]
  ) assertThrows(() => parseDefinition(wrong), InputError);
});
