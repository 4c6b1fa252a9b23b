// A chain of two calls whose records are written down, so that tests can name each id.

import { tool } from "../../lib/tools/define_tool.ts";
import type { Chain, ChainTask } from "../../lib/chains/chains.ts";
import type { Take, ToolGraph } from "../../lib/chains/graph.ts";
import type { JsonObject, JsonValue } from "../../lib/base/json.ts";

const TASKS: Readonly<Record<string, JsonObject>> = {
  t1: { id: "t1", title: "Paint", owner_id: "u1" },
  t2: { id: "t2", title: "Plant", owner_id: "u2" },
  t3: { id: "t3", title: "Polish", owner_id: "u3" },
};
const USERS: Readonly<Record<string, JsonObject>> = {
  u1: { id: "u1", email: "Aria Stone", boss: "Cato Field" },
  u2: { id: "u2", email: "Bela Crown", boss: "Aria Stone" },
  u3: { id: "u3", email: "Cato Field", boss: "Bela Crown" },
};

const RESULTS: Readonly<Record<string, (input: JsonObject) => JsonValue | undefined>> = {
  get_task: ({ task_id }) => TASKS[`${task_id}`],
  get_user: ({ user_id }) => USERS[`${user_id}`],
  list_tasks: () => Object.values(TASKS).map(({ id, title }) => ({ id: id!, title: title! })),
};

const id = (type: string, parameter: string, required = true): Take => (
  { parameter, role: "id", type, required, schema: { type: "string" } }
);
const TAKES: Readonly<Record<string, readonly Take[]>> = {
  get_task: [id("task.id", "task_id")],
  get_user: [id("user.id", "user_id")],
  list_tasks: [],
};
const TOOLS = Object.keys(TAKES).map((name) =>
  tool({
    name,
    description: `Calls ${name}`,
    parameters: {
      type: "object",
      properties: Object.fromEntries(
        TAKES[name]!.map(({ parameter, schema }) => [parameter, schema]),
      ),
      required: TAKES[name]!.map(({ parameter }) => parameter),
      additionalProperties: false,
    },
    execute: (input) => {
      const value = RESULTS[name]!(input as JsonObject);
      if (value === undefined) throw new Error(`not found: ${JSON.stringify(input)}`);
      return JSON.stringify(value);
    },
  })
);

const graph = {
  nodes: new Map(
    TOOLS.map((
      one,
    ) => [one.name, { tool: one, reads: true, takes: TAKES[one.name]!, records: [] }]),
  ),
} as unknown as ToolGraph;

/** The task of {@linkcode OWNER}, whichever the seed: the name of the owner of the task t1. */
export const OWNER_TASK: ChainTask = {
  question: 'Take the task whose id is "t1". What is the email of its owner?',
  calls: [
    { tool: "get_task", arguments: { task_id: "t1" } },
    { tool: "get_user", arguments: { user_id: "u1" } },
  ],
  answer: "Aria Stone",
  target: { type: "user.id", id: "u1", path: ["email"] },
  given: [{ type: "task.id", id: "t1" }],
  scopes: {},
  others: ["Bela Crown", "Cato Field"],
  tools: TOOLS,
  world: {
    ids: (type: string) => Object.keys(type === "task.id" ? TASKS : USERS),
    call: (name: string, input: JsonObject) => ({ value: RESULTS[name]!(input) }),
    records: (name: string, input: JsonObject) =>
      name === "list_tasks"
        ? Object.keys(TASKS).map((id) => ({ type: "task.id", id }))
        : name === "get_task"
        ? [{ type: "user.id", id: TASKS[`${input["task_id"]}`]!["owner_id"] }]
        : [],
  } as unknown as ChainTask["world"],
  steps: [
    { tool: "get_task", at: ["owner_id"], shows: { type: "user.id", id: "u1" } },
    { tool: "get_user", at: [], shows: { type: "user.id", id: "u1" } },
  ],
};

/** A chain that always draws the same. */
export const OWNER: Chain = {
  ...{ name: "owner", calls: 2, graph, id: "owner", sample: "", confirmed: true },
  draw: () => OWNER_TASK,
};
