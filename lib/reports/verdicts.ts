/**
 * Reports of verdicts: for the terminal, as JSON, and as Markdown.
 * @module
 */

import { subjectName } from "../contest.ts";
import { type JsonObject, printable } from "../json.ts";
import { exitCodeOf, type Judged, worstKind } from "../judge.ts";
import { completePolicy, type GatePolicy } from "../policy.ts";
import { describeVerdict, verdictNumbers } from "../verdict.ts";
import { markdownText } from "./text.ts";

/** The verdicts as paragraphs, one a subject, each with its numbers under it. */
export function renderVerdicts(judged: readonly Judged[], policy: GatePolicy): string {
  return judged.map((one) => {
    const numbers = verdictNumbers(one.verdict, policy).map((line) => `  ${line}`);
    return [`${judgedName(one)}: ${paragraphOf(one, policy)}`, ...numbers].join("\n");
  }).join("\n\n");
}

/** Names come from suites, servers and journals: they are shown, never trusted. */
function judgedName(judged: Judged): string {
  return `${printable(subjectName(judged))}${judged.simulated ? " (simulated)" : ""}`;
}

function paragraphOf({ verdict, baseline }: Judged, policy: GatePolicy): string {
  return describeVerdict(
    verdict,
    policy,
    baseline === undefined ? {} : { baseline: printable(baseline) },
  );
}

/** The verdicts as one JSON value: the worst kind, and each with its words and its numbers. */
export function verdictsToJson(
  suite: string,
  judged: readonly Judged[],
  policy: GatePolicy,
): JsonObject {
  const kind = worstKind(judged.map(({ verdict }) => verdict));
  const verdicts = judged.map((one) => {
    const { verdict, ...subject } = one;
    return {
      ...subject,
      ...verdict,
      text: paragraphOf(one, policy),
      numbers: verdictNumbers(verdict, policy),
    };
  });
  return JSON.parse(JSON.stringify({
    v: 1,
    suite,
    verdict: kind,
    exitCode: exitCodeOf(kind),
    gate: completePolicy(policy),
    verdicts,
  }));
}

/** The one verdict over results that cannot be judged at all, as JSON. */
export function problemToJson(suite: string, problem: string): JsonObject {
  return { v: 1, suite, verdict: "invalid", exitCode: 3, gate: null, verdicts: [], text: problem };
}

/** The one verdict over results that cannot be judged at all, as Markdown. */
export function problemToMarkdown(suite: string, problem: string): string {
  return `### ${markdownText(printable(suite))}: invalid\n\n${markdownText(problem)}\n`;
}

/** The verdicts as Markdown, for the summary of a job. */
export function verdictsToMarkdown(
  suite: string,
  judged: readonly Judged[],
  policy: GatePolicy,
): string {
  const parts = judged.map((one) => {
    const numbers = verdictNumbers(one.verdict, policy).map((line) => `- ${markdownText(line)}`);
    const paragraph = paragraphOf(one, policy).replace(/^[A-Z]+(?=: )/, "**$&**");
    const [kind, ...words] = paragraph.split(": ");
    return `#### ${markdownText(judgedName(one))}\n\n${kind}: ${
      markdownText(words.join(": "))
    }\n\n` +
      numbers.join("\n");
  });
  const kind = worstKind(judged.map(({ verdict }) => verdict));
  return `### ${markdownText(printable(suite))}: ${kind}\n\n${parts.join("\n\n")}\n`;
}
