// Command agents, as far as no program is started: tests/e2e/agent_programs_test.ts starts some.

import { assertEquals, assertThrows } from "@std/assert";
import { InputError } from "../../../lib/base/errors.ts";
import { type CommandAgent, commandAgent } from "../../../lib/trials/tap/command.ts";
import { agentOptions, agentTask } from "../../support/agent_options.ts";

Deno.test("commandAgent() starts nothing when the trial is over already", async () => {
  const agent = commandAgent({ command: ["true"] });
  const reason = new Error("over");
  const begin = async () =>
    await agent(agentTask(), agentOptions({ signal: AbortSignal.abort(reason) }));
  assertEquals(await begin().catch((error) => error), reason);
});

for (
  const [options, message] of [
    [{ command: [] }, "at command: must name a program"],
    [{ command: [""] }, "at command: must name a program"],
    [
      { command: "python3 agent.py" },
      'at command: must list the program and its arguments, as ["python3", "agent.py"]',
    ],
    [{ command: ["a\0b"] }, "at command[0]: must not have the character NUL"],
    [{ command: ["a"], env: { "A=B": "1" } }, "at env: must have names with neither = nor NUL"],
    [{ command: ["a"], seconds: 0 }, "at seconds: "],
    [{ command: ["a"], shell: true }, 'Unrecognized key: "shell"'],
    [{ command: ["a"], mcp: "sse" }, 'at mcp: must be true, http or stdio: it is "sse"'],
    [{ command: ["a"], mcp: false }, "at mcp: "],
    [
      { command: ["a", "--config={mcp}"] },
      'at command: must not have {mcp} without "mcp": true: it stands for the MCP configuration',
    ],
  ] as const
) {
  Deno.test(`commandAgent() refuses ${JSON.stringify(options)}`, () => {
    assertThrows(() => commandAgent(options as unknown as CommandAgent), InputError, message);
  });
}
