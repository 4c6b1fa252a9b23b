/**
 * Configurations of MCP: the file by which a program finds the MCP server of its trial.
 * @module
 */

import { reasonOf } from "../../base/errors.ts";
import { printable } from "../../base/json.ts";
import { redact } from "../../base/redact.ts";
import { InfrastructureError } from "../../models/model.ts";
import { SERVER_NAME } from "./_offered_names.ts";
import { readVariables } from "../../base/process_group.ts";

/** How a program reaches the server: by Streamable HTTP, or as a server that it starts itself. */
export const MCP_TRANSPORTS = ["http", "stdio"] as const;

/** How a program reaches the server. */
export type McpTransport = typeof MCP_TRANSPORTS[number];

/** A configuration in a file of its own, until it is disposed of. */
export interface McpConfig extends Disposable {
  /** The path of the file. */
  readonly path: string;
}

/**
 * Writes the configuration in the form that most hosts of MCP read, into a temporary file that only the user can read:
 * the address in it is a key.
 *
 * @param url The address of the server.
 * @throws {InfrastructureError} If it cannot be written.
 */
export async function writeMcpConfig(url: string, transport: McpTransport): Promise<McpConfig> {
  // A path from the folder of this process would lead a program elsewhere.
  const folder = Object.values(readVariables(["TMPDIR", "TMP", "TEMP"]))
    .find((one) => /^([/\\]|\w:)/.test(one)) ?? "/tmp";
  const path = `${folder.replace(/[/\\]+$/, "")}/toolgate-mcp-${crypto.randomUUID()}.json`;
  // Asked before: the runtime would else ask the user.
  if (Deno.permissions.querySync({ name: "write", path }).state !== "granted") {
    const reason = `Deno was not given the permission to write there: add --allow-write=${folder}`;
    throw unwritten(path, reason, "permission");
  }
  const server = transport === "http" ? { type: "http", url } : await bridgeTo(url);
  const text = JSON.stringify({ mcpServers: { [SERVER_NAME]: server } }, null, 2) + "\n";
  const remove = () => {
    try {
      Deno.removeSync(path);
    } catch {
      // The program may have removed it.
    }
  };
  try {
    await Deno.writeTextFile(path, text, { createNew: true, mode: 0o600 });
  } catch (error) {
    remove();
    throw unwritten(path, printable(redact(reasonOf(error)), 300), undefined, error);
  }
  return { path, [Symbol.dispose]: remove };
}

/** The command of the bridge between standard input and output and the server, with no more than it needs. */
async function bridgeTo(url: string) {
  // What is loaded here can be loaded there, also where it came from another machine.
  await import("./_mcp_bridge.ts");
  const { host, hostname } = new URL(url);
  return {
    command: Deno.execPath(),
    args: [
      ...["run", "--quiet", "--no-prompt", "--no-config", "--no-lock"],
      ...[`--allow-net=${host}`, "--allow-env=TOOLGATE_MCP_URL"],
      import.meta.resolve("./_mcp_bridge.ts"),
    ],
    // The address is no argument, as other users can see these; and no proxy leads to it.
    env: { TOOLGATE_MCP_URL: url, NO_PROXY: hostname, ...readVariables(["DENO_DIR"]) },
  };
}

/** The error of a configuration that could not be written. */
function unwritten(
  path: string,
  reason: string,
  permanent: "permission" | undefined,
  cause?: unknown,
): InfrastructureError {
  return new InfrastructureError(
    `Cannot write the MCP configuration ${printable(path, 200)} as ${reason}`,
    { cause, permanent },
  );
}
