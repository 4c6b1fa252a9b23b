/**
 * Transcript views: what the model of a case was shown, as the page of a report shows it.
 * @module
 */

import { printable, printableLines } from "../../base/json.ts";
import { isCase } from "../../trials/executors/task_kind.ts";
import type { OfferedTool, Transcript } from "../../trials/transcript.ts";
import type { Trial } from "../../trials/trial.ts";

/** What the model of a case was shown, which its trials share. */
export interface ShownView {
  readonly kind: "case";
  /** Texts with their names, such as `system` and `prompt`. */
  readonly texts: readonly (readonly [name: string, text: string])[];
  /** The tools on offer. */
  readonly tools: readonly {
    readonly name: string;
    readonly description: string;
    /** The JSON Schema of its arguments, as text; omitted where it was too long to be kept. */
    readonly schema?: string;
  }[];
  /** What the journal lacks of it; omitted if it has all. */
  readonly lacks?: string;
}

/** The names of what trials share, which tell views apart. */
export function shownKey({ task, transcript }: Trial): string | undefined {
  if (!isCase(task) || transcript === undefined) return undefined;
  const { system, prompt, tools } = transcript;
  const parts = [system, prompt, tools].map((part) =>
    part === undefined ? "" : `${part.id}${part.value === undefined ? "?" : ""}`
  );
  return JSON.stringify(parts);
}

/** Returns the view of what a model was shown. */
export function viewShown({ system, prompt, tools }: Transcript): ShownView {
  const lacking = [
    ...(system !== undefined && system.value === undefined ? ["the system text"] : []),
    ...(prompt.value === undefined ? ["the prompt"] : []),
    ...(tools.value === undefined ? ["the tools"] : []),
  ];
  return {
    kind: "case",
    texts: Object.entries({ system, prompt }).flatMap(([name, text]) =>
      text?.value === undefined ? [] : [[name, printableLines(text.value)] as const]
    ),
    tools: (tools.value ?? []).map(viewTool),
    ...(lacking.length === 0
      ? {}
      : { lacks: `The journal lacks ${lacking.join(" and ")}: a line of it was lost.` }),
  };
}

function viewTool({ name, description, parameters, strict }: OfferedTool) {
  return {
    name: printable(name, 200) + (strict ? " (strict)" : ""),
    description: printableLines(description),
    ...(parameters === undefined
      ? {}
      : { schema: printableLines(JSON.stringify(parameters, null, 2), 60_000) }),
  };
}
