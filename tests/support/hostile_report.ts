/**
 * A report of trials full of what could run, steer, hide or break something.
 */

import { assertEquals, AssertionError } from "@std/assert";
import { planLine } from "../../lib/runs/journal/plan_line.ts";
import { planSuite } from "../../lib/runs/plan.ts";
import { generateTask } from "../../lib/tasks/graphs/task.ts";
import { isCase } from "../../lib/tasks/task_kind.ts";
import type { Finished } from "./child.ts";
import { toolgate } from "./command_line.ts";
import { Folder } from "./folders.ts";
import { generatedFrom } from "./generated.ts";
import { linesOf, planWith } from "./journals.ts";
import { SMALL } from "./suites.ts";

/** Texts and, where they cannot be shown as they are, how they are. */
export const EVIL: readonly (readonly [text: string, shown?: string])[] = [
  ["<script>alert(1)</script>"],
  ["</script><script>window.canary = 1</script>"],
  ["</style><style>*{display:none}</style>"],
  ['<img src=x onerror="alert(1)">'],
  ["<svg/onload=alert(1)><iframe srcdoc='<script>alert(1)</script>'></iframe>"],
  ["<base href=https://evil.example><meta http-equiv=refresh content=0;url=https://evil.example>"],
  ["<a href='javascript:alert(1)'>javascript:alert(1)</a>"],
  ["</template><template shadowrootmode=open><script>alert(1)</script></template><plaintext>"],
  ["]]> --> --!> <!-- <![CDATA[ */ /*"],
  ["\"'`\\ ${alert(1)} #{alert(1)} {{constructor.constructor('alert(1)')()}} <%= 1 %>"],
  ["&lt;b&gt; &amp; &#60;script&#62; %3Cscript%3E"],
  ['"]; evil [label=<<B>x</B>>, URL="javascript:alert(1)"]; }'],
  ["**bold** _it_ ~~no~~ `code` | cell | [x](javascript:alert(1)) ![x](https://evil.example/x.png)"],
  ["# heading https://evil.example/?a=1 www.evil.example mail@evil.example @everyone"],
  ["\u001b[31m\u001b]0;owned\u0007\u009b2J", "\\u001b[31m\\u001b]0;owned\\u0007\\u009b2J"],
  ["##[error]a ##vso[task.complete]b", "\\u0023#[error]a \\u0023#vso[task.complete]b"],
  ["\u0000 NUL \u007f\b\v", "\\u0000 NUL \\u007f\\u0008\\u000b"],
  ["\u202egnp.exe\u202c \u200fright", "\\u202egnp.exe\\u202c \\u200fright"],
  ["\u2066 a \u2067 b \u2069", "\\u2066 a \\u2067 b \\u2069"],
  ["in\u200bvis\u200dible\ufeff\u00ad\u2060", "in\\u200bvis\\u200dible\\ufeff\\u00ad\\u2060"],
  ["\ud800 half \udfff", "\\ud800 half \\udfff"],
  ["\u{e0041}\u{e0042} tags", "\\u{e0041}\\u{e0042} tags"],
  ["\u{1f600}\u{1f3f3}\ufe0f \u4e2d\u6587 \u0627\u0644\u0639\u0631\u0628\u064a\u0629 Z\u0351\u036b"],
  ["__proto__ constructor toString hasOwnProperty"],
  ["wide".repeat(40)],
];

/** What must stand in none of the views. */
const HIDDEN =
  // deno-lint-ignore no-control-regex
  /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\u{e0000}-\u{e007f}]|\p{Cs}/u;

/** The name of their suite. */
export const SUITE = EVIL.map(([text]) => text.slice(0, 12)).reverse().join(" ");

/** The model of the trial with {@linkcode ARGUMENTS}. */
const ODD = "odd arguments";

/** Cases of each text, which strategies are compared on, and a generated task of all models. */
const PLAN = planWith({
  ...planSuite({ ...SMALL, graphs: 1, tasks: [{ core: 4, depth: 2 }], models: ["m"] }).resolved,
  cells: [
    ...EVIL.map(([text]) => ({ case: text })),
    { core: 4, depth: 2, connected: 1, disconnected: 1 },
  ],
  models: [...EVIL.map(([text]) => ({ model: text })), { model: ODD }],
  tests: Object.fromEntries(EVIL.map(([text]) => [text, {
    ...{ models: [{ model: text }], strategies: [text, "plain"], perturbations: [text] },
  }])),
}, SUITE);
const TASK = generateTask(generatedFrom(PLAN.trials.at(-1)!.task));

const reply = { request: 1, calls: 1, inputTokens: 1, outputTokens: 1, durationMs: 1 };

/** Events that have `text` wherever they have a text. */
function eventsOf(text: string) {
  const call = { kind: "call", step: 1, result: text };
  const wrong = { parameter: text, variable: text, given: 1 };
  const failures = [
    { type: "function_not_found", detail: { nearest: text } },
    {
      type: "wrong_number_of_inputs",
      detail: { missing: [text], unexpected: [], wrongType: [], malformed: false },
    },
    {
      type: "wrong_number_of_inputs",
      detail: { missing: ["gone"], unexpected: [text], wrongType: [text], malformed: false },
    },
    {
      type: "incorrect_value",
      detail: { arguments: [{ ...wrong, origin: "other_variable", originVariable: text }] },
    },
  ];
  return [
    { kind: "reply", ...reply, text, repairs: [text, text] },
    {
      ...{ kind: "reply", ...reply, request: 2, text: "", replaces: 1 },
      ownCalls: [{ function: text, arguments: text }, {
        function: "huge",
        arguments: text.repeat(99),
      }],
    },
    ...failures.map((failure, place) => ({
      ...call,
      call: place + 1,
      function: text,
      arguments: JSON.stringify({
        [text]: text,
        "__proto__": text,
        constructor: 1,
        toString: null,
      }),
      failure: { ...failure, root: place === 0 },
    })),
    {
      ...{ ...call, call: 5, function: TASK.functions[0]!.name, role: "core", result: "{}" },
      ...{ arguments: text, returned: { variable: text, value: 1 }, unperturbed: text },
      parameters: {
        oracle: 1,
        failures: [{
          ...{ type: "task_deviation", parameter: text, given: text, similarity: 0.5 },
          expected: { [text]: [text] },
        }],
        undecided: [{ types: ["task_deviation"], parameter: text }],
      },
    },
    { kind: "over_limit", function: text, limit: 5 },
    { kind: "answer", text, value: null },
    { kind: "stop", reason: text, message: text },
  ];
}

/** Arguments that no call should have. */
export const ARGUMENTS = [
  "[".repeat(10_000) + "]".repeat(10_000),
  '{"a":'.repeat(10_000) + "1" + "}".repeat(10_000),
  JSON.stringify({ long: "x".repeat(10_000) }),
  "y".repeat(10_000),
  ...['{"__proto__": 1, "constructor": 2, "toString": 3}', "null", "[1, 2]", '"x"', "17", "", "{"],
  '{"a": 1, "a": 2, "": {"b": null}}',
];

/** How many trials there are. */
export const COUNT = PLAN.trials.length;

function lines(): unknown[] {
  const calls = ARGUMENTS.map((arguments_, place) => ({
    ...{ kind: "call", call: place + 1, step: 1, function: "f", result: arguments_ },
    arguments: arguments_,
  }));
  const trials = PLAN.trials.map(({ model: text, ...planned }) => ({
    ...{ v: 1, kind: "trial", suite: SUITE, ...planned },
    model: { requested: text, served: text, simulated: planned.index % 2 === 0 },
    ...{ solved: false, calls: 5, behaviours: [text, "__proto__"], startedAt: text, ends: text },
    ...(isCase(planned.task) || text === ODD
      ? { outcome: "wrong_answer" }
      : { outcome: "invalid", reason: text }),
    events: text === ODD ? calls : eventsOf(text),
  }));
  return [planLine(PLAN), ...trials];
}

let made: Promise<{ place: Folder; journal: string; written: Finished }> | undefined;

/** Their report in these formats, made once for a file of tests: `evil.FORMAT` in a folder. */
export const theReport = (...formats: string[]) => made ??= makeReport(formats);

async function makeReport(formats: readonly string[]) {
  const place = new Folder();
  const journal = place.write("evil.jsonl", linesOf(lines()));
  const outputs = formats.flatMap((name) => [`--${name}`, place.file(`evil.${name}`)]);
  const written = await toolgate(["report", journal, ...outputs]);
  assertEquals(written.code, 0, written.all);
  return { place, journal, written };
}

Deno.test.afterAll(async () => (await made)?.place[Symbol.dispose]());

/** What must be shown of a text. */
export const shownOf = ([text, shown = text]: typeof EVIL[number]) => shown;

/** Asserts that a text has nothing that is hidden or steers. */
export function assertNothingHidden(text: string, where: string): void {
  const found = HIDDEN.exec(text);
  if (found === null) return;
  const near = JSON.stringify(text.slice(Math.max(0, found.index - 40), found.index + 40));
  throw new AssertionError(`${where} has ${JSON.stringify(found[0])} in ${near}`);
}
