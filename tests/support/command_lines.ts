/**
 * Carries out several lines of the command line, one after another in one process, as a process of its own
 * for each takes longer to start than to end. Whoever wants to know what becomes of a process starts one.
 */

import { main } from "../../lib/cli/main.ts";
import type { PlacedLine } from "./child.ts";

/** What one line wrote, and its exit code. */
interface Ended {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

const print = console.log;
const written = { stdout: "", stderr: "" };

/** Keeps what is written in place of writing it. */
function capture(): void {
  const lineOf = (data: readonly unknown[]) =>
    `${data.map((one) => typeof one === "string" ? one : Deno.inspect(one)).join(" ")}\n`;
  console.log = (...data: unknown[]) => void (written.stdout += lineOf(data));
  console.error = (...data: unknown[]) => void (written.stderr += lineOf(data));
  console.warn = console.error;
  for (const name of ["stdout", "stderr"] as const) {
    Deno[name].writeSync = (bytes) => {
      written[name] += new TextDecoder().decode(bytes);
      return bytes.length;
    };
  }
}

if (import.meta.main) {
  capture();
  // What one line gives up, the next one may need.
  Deno.permissions.revokeSync = (descriptor) => Deno.permissions.querySync(descriptor);
  const ended: Ended[] = [];
  for (const { cwd, line } of JSON.parse(Deno.args[0]!) as PlacedLine[]) {
    Deno.chdir(cwd);
    Object.assign(written, { stdout: "", stderr: "" });
    const code = await main(line).catch((error) => {
      console.error(Deno.inspect(error));
      return 3;
    });
    ended.push({ code, ...written });
  }
  print(JSON.stringify(ended));
  Deno.exit(0);
}
