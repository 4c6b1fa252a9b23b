/** Python, found once: where programs are found by shims, each start would take several times as long. */

import { command } from "./child.ts";

const { stdout } = command("python3", ["-c", "import sys; print(sys.executable)"]).outputSync();

/** The path of the interpreter. */
export const PYTHON3 = new TextDecoder().decode(stdout).trim();
