/**
 * A process that carries out several lines of the command line, and prints as JSON how each ended. The environment
 * is that of the process: what a line may not read there it may not read here.
 */

import { main } from "../../lib/cli/main.ts";

const { log } = console;
const ended: { code: number; told: string }[] = [];
let told = "";
const write = (...data: unknown[]) => void (told += `${data.join(" ")}\n`);
Object.assign(console, { log: write, error: write, warn: write });
const stream = {
  isTerminal: () => false,
  writeSync(bytes: Uint8Array) {
    told += new TextDecoder().decode(bytes);
    return bytes.length;
  },
};
Object.assign(Deno.stdout, stream);
Object.assign(Deno.stderr, stream);
// Each command gives up what it does not need, which later ones may need.
Deno.permissions.revokeSync = Deno.permissions.querySync;

for (const line of JSON.parse(Deno.args[0]!)) {
  told = "";
  const code = await main(line).catch((error) => (write(Deno.inspect(error)), 3));
  ended.push({ code, told });
}
log(JSON.stringify(ended));
