/**
 * Processes that are measured, and figures with their targets.
 */

import { SYSTEM_CLOCK } from "../../lib/base/clock.ts";
import { peakOf } from "../support/peak_memory.ts";

const ROOT = new URL("../..", import.meta.url).pathname;

/** The command line as `deno task toolgate` starts it. */
export const LAUNCH: readonly string[] = JSON.parse(Deno.readTextFileSync(`${ROOT}deno.json`))
  .tasks.toolgate.command.split(" ").slice(1);

/** What a process took. */
export interface Taken {
  /** From its start to its end. */
  readonly seconds: number;
  /** Seconds of all its threads, in the kernel too. */
  readonly cpu: number;
  /** The largest resident set, in MiB. */
  readonly peak: number;
}

/** Runs `deno` to its end. */
export async function take(
  args: readonly string[],
  env: Record<string, string> = {},
): Promise<Taken> {
  const before = childSeconds();
  const began = performance.now();
  const child = new Deno.Command(Deno.execPath(), {
    args: [...args],
    cwd: ROOT,
    env: { NO_COLOR: "1", ...env },
    stdin: "null",
    stdout: "null",
    stderr: "piped",
  }).spawn();
  const ended = child.output();
  let running = true;
  ended.finally(() => running = false);
  let peak = 0;
  for (; running; await Promise.race([ended, SYSTEM_CLOCK.pause(20)])) {
    peak = Math.max(peak, peakOf(child.pid));
  }
  const { code, stderr } = await ended;
  const seconds = (performance.now() - began) / 1000;
  if (code !== 0) throw new Error(`deno ${args.join(" ")}\n${new TextDecoder().decode(stderr)}`);
  return { seconds, cpu: childSeconds() - before, peak };
}

/** Seconds of CPU of all child processes that have ended; the kernel counts a hundredth at a time. */
function childSeconds(): number {
  const fields = Deno.readTextFileSync("/proc/self/stat").replace(/^.*\) /s, "").split(" ");
  return (Number(fields[13]) + Number(fields[14])) / 100;
}

/** A figure, and what it may be at most, or at least. */
export interface Row {
  readonly what: string;
  readonly figure: number;
  /** What the plainest program comes to in the same run. */
  readonly floor?: number;
  readonly unit?: string;
  /** Digits behind the point; default: 2 of a ratio, none of a figure with a unit. */
  readonly digits?: number;
  readonly most?: number;
  readonly least?: number;
  /** The figures that it comes from. */
  readonly from: string;
}

/** The middle one of several figures. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((one, other) => one - other);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
}

/** The table, with what it takes for each figure to be in order. */
export function render(rows: readonly Row[]): string {
  const digitsOf = ({ unit, digits = unit === undefined ? 2 : 0 }: Row) => digits;
  const cells = rows.map((row) => [
    row.what,
    targetOf(row),
    `${row.figure.toFixed(digitsOf(row))}${row.unit ?? ""}`,
    isMet(row) ? "ok" : "MISSED",
    row.floor?.toFixed(row.floor < 10 ? Math.max(1, digitsOf(row)) : digitsOf(row)) ?? "",
    row.from,
  ]);
  const lines = [["what", "target", "figure", "", "floor", "from"], ...cells];
  const widths = lines[0]!.map((_, column) =>
    Math.max(...lines.map((line) => line[column]!.length))
  );
  const text = [...lines.slice(0, 1), widths.map((width) => "-".repeat(width)), ...lines.slice(1)]
    .map((line) => `| ${line.map((cell, at) => cell.padEnd(widths[at]!)).join(" | ")} |`);
  return text.join("\n");
}

function targetOf({ most, least, unit = "" }: Row): string {
  if (most !== undefined) return `at most ${Number(most.toFixed(2))}${unit}`;
  return least === undefined ? "" : `at least ${least}${unit}`;
}

/** Whether a figure meets its target. */
export function isMet({ figure, most = Infinity, least = -Infinity }: Row): boolean {
  return figure <= most && figure >= least;
}
