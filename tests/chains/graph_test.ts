// The graph of a set of tools: which ids they take and return, by strict rules, and what a person decides.

import { assertEquals, assertThrows } from "@std/assert";
import { z } from "zod";
import type { JsonObject } from "../../lib/base/json.ts";
import { InputError } from "../../lib/base/errors.ts";
import { toolGraph, type ToolGraphOptions } from "../../lib/chains/graph.ts";
import { openApiTools } from "../../lib/integrations/openapi.ts";
import { tool } from "../../lib/tools/define_tool.ts";
import type { Tool } from "../../lib/tools/tool.ts";

const ref = (name: string) => ({ $ref: `#/components/schemas/${name}` });
const list = (items: JsonObject): JsonObject => ({ type: "array", items });
const object = (properties: JsonObject): JsonObject => ({ type: "object", properties });
const TEXT = { type: "string" };
const WHOLE = { type: "integer" };

const SCHEMAS: JsonObject = {
  User: object({ login: TEXT, id: WHOLE, name: TEXT }),
  Project: object({ gid: TEXT, name: TEXT, owner: ref("User"), tasks: list(ref("TaskCompact")) }),
  TaskCompact: object({ gid: TEXT }),
  Task: object({
    gid: TEXT,
    project_gid: TEXT,
    section: { anyOf: [ref("Section"), { type: "null" }] },
    either: { oneOf: [ref("User"), ref("Project")] },
    parent_section_id: TEXT,
    project: TEXT,
    invoice_id: TEXT,
  }),
  Section: object({ id: TEXT, task: ref("Task") }),
  Comment: object({ id: TEXT, comment_id: TEXT }),
  Note: object({ id: TEXT }),
  ReservedRoom: object({ id: TEXT }),
};

/** Operations that get: what they return by path, under `data`; path parameters are texts. */
async function operations(
  results: Readonly<Record<string, JsonObject>>,
  query: Readonly<Record<string, JsonObject>> = {},
): Promise<Tool[]> {
  const paths = Object.entries(results).map(([path, result]) => {
    const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name!);
    const parameters = [
      ...names.map((name) => ({ name, in: "path", required: true, schema: TEXT })),
      ...Object.entries(query).map(([name, schema]) => ({ name, in: "query", schema })),
    ];
    const content = { "application/json": { schema: object({ data: result }) } };
    return [path, {
      get: {
        operationId: path.replaceAll(/[{}]/g, "").replaceAll("/", "_").slice(1),
        parameters,
        responses: { 200: { description: "", content } },
      },
    }];
  });
  return await openApiTools({
    openapi: "3.1.0",
    info: { title: "", version: "1" },
    paths: Object.fromEntries(paths),
    components: { schemas: SCHEMAS },
  });
}

const SERVICE = {
  "/users/{username}": ref("User"),
  "/projects/{project_gid}": ref("Project"),
  "/projects/{project}/tasks": list(ref("TaskCompact")),
  "/tasks/{task_gid}": ref("Task"),
  "/tasks/{id}/section": ref("Section"),
  "/sections/{sectionId}": ref("Section"),
};

/** Links as text: parameters with their types, and places with what they are of. */
function linksOf(tools: readonly Tool[], options?: ToolGraphOptions) {
  const { nodes } = toolGraph(tools, options);
  return Object.fromEntries(
    [...nodes].map(([name, { takes, records }]) => [name, [
      ...takes.map(({ parameter, role, type, rule }) =>
        [parameter, role, type, rule].filter(Boolean).join(" ")
      ),
      ...records.map(({ path, type, of, rule }) =>
        `${path.join(".")}: ${type} ${Object.entries(of).join().replace(",", " ")}, ${rule}`
      ),
    ]]),
  );
}

Deno.test("toolGraph() links operations by own keys, named ids and words of paths", async () => {
  const links = linksOf(await operations(SERVICE));
  assertEquals(links["users_username"], [
    "username id user.login own key",
    "data: user.login argument username, own key",
  ]);
  assertEquals(links["projects_project_gid"], [
    "project_gid id project.gid own key",
    "data: project.gid argument project_gid, own key",
    "data.owner: user.login relation owner, own key",
    "data.tasks.*: task.gid relation task, own key",
  ]);
  assertEquals(links["projects_project_tasks"], [
    "project id project.gid path word",
    "data.*: task.gid list true, own key",
  ]);
  // A definition within itself is linked, and not entered again.
  assertEquals(links["tasks_task_gid"], [
    "task_gid id task.gid own key",
    "data: task.gid argument task_gid, own key",
    "data.project_gid: project.gid relation project, named id",
    "data.section: section.id relation section, own key",
    "data.section.task: task.gid relation task, own key",
  ]);
  assertEquals(links["tasks_id_section"]!.slice(0, 2), [
    "id id task.gid path word",
    "data: section.id relation section, own key",
  ]);
});

Deno.test("toolGraph() suggests what is in doubt", async () => {
  const tools = await operations(SERVICE, { project_gid: WHOLE, owner_project: TEXT });
  const { suggestions } = toolGraph(tools);
  const found = suggestions.map(({ tool, at, type, reason }) => `${tool} ${at} ${type}: ${reason}`);
  assertEquals(found.filter((text) => text.startsWith("tasks_task_gid")), [
    "tasks_task_gid owner_project project.gid: its name ends like that",
    "tasks_task_gid data.parent_section_id section.id: its name ends like that",
    "tasks_task_gid data.project project.gid: it has the name of the entity, and may be something else than its gid",
  ]);
});

Deno.test("toolGraph() follows links that a person gives, wherever such a record stands, and digests them", async () => {
  const tools = await operations(SERVICE);
  const options = {
    links: {
      "tasks_task_gid:data.parent_section_id": "section.id",
      "tasks_task_gid:data.project_gid": null,
      "tasks_id_section.id": null,
    },
  };
  const links = linksOf(tools, options);
  const given = "data.task.parent_section_id: section.id relation parent_section, given";
  assertEquals(links["sections_sectionId"]!.filter((text) => /project|parent/.test(text)), [given]);
  assertEquals(links["tasks_id_section"]!.filter((text) => /^id|parent/.test(text)), [
    "id free",
    given,
  ]);
  const digests = [{}, {}, options, { words: { entities: { task: "job" } } }]
    .map((one) => toolGraph(tools, one).digest);
  assertEquals(digests.map((digest) => digests.indexOf(digest)), [0, 0, 2, 3]);
});

Deno.test("toolGraph() tells collections of one word apart by the words before it", async () => {
  const links = linksOf(
    await operations({
      "/issues/{issue_id}": object({ id: TEXT }),
      "/issues/comments/{id}": ref("Comment"),
      "/commits/comments/{id}": ref("Note"),
      "/issues/{issue_id}/comments": list(ref("Comment")),
      "/h323/issues": list(object({ id: TEXT })),
    }),
  );
  assertEquals(links["issues_comments_id"]![1], "data: issue comment.id argument id, own key");
  assertEquals(links["commits_comments_id"]![1], "data: commit comment.id argument id, own key");
  assertEquals(links["issues_issue_id_comments"], [
    "issue_id id issue.id path word",
    "data.*: issue comment.id list true, own key",
  ]);
  // Whether these are the same issues, no word tells.
  assertEquals(links["h323_issues"], []);
});

Deno.test("toolGraph() does not take the word of one collection for another of that word", async () => {
  const tools = await operations({
    "/rooms/{id}": object({ id: TEXT, room_id: TEXT }),
    "/halls/{hall_id}": object({
      id: TEXT,
      room: ref("ReservedRoom"),
      latest: { allOf: [ref("Comment")], description: "The latest comment" },
    }),
    "/halls/{hall_id}/seats/{seat_id}": object({ id: TEXT }),
    "/rooms/{id}/seats": list(object({ id: TEXT })),
    "/comments/{comment_id}": ref("Comment"),
    "/assignees": list(ref("User")),
    "/assignees/{assignee}": object({ ok: TEXT }),
  });
  const links = linksOf(tools);
  assertEquals(links["rooms_id_seats"], ["id id room.id path word"]);
  assertEquals(links["halls_hall_id"]!.slice(2), [
    "data.latest: comment.comment_id relation latest, own key",
  ]);
  assertEquals(links["assignees"], []);
  assertEquals(toolGraph(tools).suggestions.map(({ reason }) => reason), [
    "its schema is named ReservedRoom",
  ]);
});

Deno.test("toolGraph() finds what tasks share, and takes credentials out of tools", async () => {
  const repo = "/repos/{owner}/{repo}";
  const tools = await operations({
    [repo]: object({ name: TEXT }),
    [`${repo}/issues/{issue_id}`]: object({ id: TEXT }),
    [`${repo}/issues`]: list(object({ id: TEXT })),
  }, { api_key: TEXT, region: TEXT });
  const { nodes, scopes } = toolGraph(tools, { fixed: ["region"] });
  const [first, issue] = [...nodes.values()];
  assertEquals([first, issue].map((node) => node!.takes.map(({ role }) => role)), [
    ["scope", "scope", "fixed", "fixed"],
    ["scope", "scope", "id", "fixed", "fixed"],
  ]);
  assertEquals(scopes, new Map([["owner", [TEXT]], ["repo", [TEXT]]]));
  assertEquals(Object.keys(first!.tool.parameters["properties"]!), ["owner", "repo"]);
});

/** Tools by name: with results as MCP servers declare them, or as zod has them. */
const NAMED: readonly Tool[] = [
  tool({
    name: "get_order_details",
    description: "",
    parameters: z.object({ order_id: z.string() }),
    output: z.object({
      order: z.object({ id: z.string(), customerId: z.int(), tagIds: z.array(z.string()) }),
      order_id: z.string(),
    }),
    execute: () => "",
  }),
  tool({
    name: "crm_findACustomer",
    description: "",
    inputSchema: { type: "object", properties: { id: WHOLE }, required: ["id"] },
    outputSchema: object({ id: WHOLE, city: TEXT }),
    execute: () => "",
  }),
  tool({
    name: "listOrders",
    description: "",
    parameters: z.object({ customer_id: z.int().optional() }),
    execute: () => "",
  }),
  tool({ name: "delete_order_list", description: "", parameters: z.object({}), execute: () => "" }),
];

Deno.test("toolGraph() links tools by verbs and nouns of their names, and reads results from examples", () => {
  const returns = { listOrders: { example: { orders: [{ id: "A1", note: null }], total: 1 } } };
  assertEquals(linksOf(NAMED, { returns }), {
    get_order_details: [
      "order_id id order.id own key",
      "order: order.id argument order_id, own key",
      "order.customerId: customer.id relation customer, named id",
      "order_id: order.id argument order_id, named id",
    ],
    crm_findACustomer: [
      "id id customer.id own key",
      ": customer.id argument id, own key",
    ],
    listOrders: [
      "customer_id id customer.id named id",
      "orders.*: order.id list true, own key",
    ],
    delete_order_list: [],
  });
  const { nodes, gaps } = toolGraph(NAMED, { reads: ["delete_order_list"] });
  assertEquals([...nodes.values()].map(({ reads }) => reads), [true, true, true, true]);
  assertEquals(toolGraph(NAMED).nodes.get("delete_order_list")!.reads, false);
  assertEquals(gaps.map(({ reason }) => reason), [
    "its result is not known: give returns.listOrders, a schema or an example",
    "its result is not known: give returns.delete_order_list, a schema or an example",
  ]);
});

/** Tools of an MCP server, all of whose names begin with its own; what they return by name, and ids that they need. */
const SERVER = Object.entries({
  chat_listChannels: [object({ channels: list(object({ id: TEXT, creator: TEXT })) })],
  chat_list_channel_messages: [list(object({ text: TEXT, user_id: TEXT })), "channel_id"],
  chat_users_list: [object({ members: list(object({ id: TEXT, name: TEXT })) })],
  "chat-get-a-user-profile": [object({ ok: TEXT, profile: object({ phone: TEXT }) }), "user_id"],
  chat_get_pull_request: [object({ number: TEXT }), "team", "pull_number"],
  chat_get_pull_request_files: [list(object({ path: TEXT })), "team", "pull_number"],
  chat_query_pull_request: [object({ results: list(object({ id: TEXT })) }), "id"],
}).map(([name, [outputSchema, ...required]]) =>
  tool({
    ...{ name, description: "", outputSchema: outputSchema as JsonObject, execute: () => "" },
    inputSchema: {
      ...object(Object.fromEntries(required.map((one) => [String(one), TEXT]))),
      required: required as string[],
    },
  })
);

Deno.test("toolGraph() finds nouns in names of tools, and types of ids that lists alone show", () => {
  assertEquals(linksOf(SERVER), {
    chat_listChannels: ["channels.*: channel.id list true, own key"],
    chat_list_channel_messages: [
      "channel_id id channel.id path word",
      "*.user_id: user.id list true, named id",
    ],
    chat_users_list: ["members.*: user.id list true, own key"],
    "chat-get-a-user-profile": [
      "user_id id user.id own key",
      ": user.id argument user_id, own key",
    ],
    chat_get_pull_request: [
      "team scope team",
      "pull_number id pull request.number own key",
      ": pull request.number argument pull_number, own key",
    ],
    chat_get_pull_request_files: ["team scope team", "pull_number id pull request.number named id"],
    chat_query_pull_request: ["id free"],
  });
});

Deno.test("toolGraph() names scopes apart, and says which have no value", async () => {
  const tools = await operations({
    "/customers/{id}/files/{file_id}": object({ id: TEXT }),
    "/orders/{id}/lines/{line_id}": object({ id: TEXT }),
  });
  assertEquals([...toolGraph(tools).scopes.keys()], ["customers id", "orders id"]);
  const regions = ["north", "south"].map((region) =>
    tool({
      name: `get_${region}`,
      description: "",
      inputSchema: object({ region: { type: "string", enum: [region] } }),
      outputSchema: object({ id: TEXT }),
      execute: () => "",
    })
  );
  const { scopes, gaps } = toolGraph([...tools, ...regions], { scope: ["region"] });
  assertEquals(scopes.size, 2);
  assertEquals(gaps.map(({ tool, reason }) => `${tool}: ${reason}`), [
    "get_north: no value of region fits the schemas of all tools that take it",
  ]);
});

Deno.test("toolGraph() refuses options that name what there is not", () => {
  const cases: [options: ToolGraphOptions, message: string][] = [
    [{ reads: ["get_orders"] }, 'reads must name a tool that there is: "get_orders" is none'],
    [
      { returns: { listOrder: { example: [] } } },
      'returns must name a tool that there is: "listOrder" is none; did you mean listOrders?',
    ],
    [
      { words: { entities: { orders: "sale" } } },
      'words.entities must name an entity that there is: "orders" is none; did you mean order?',
    ],
    [
      { words: { relations: { "order.buyer": "client" } } },
      'words.relations must name a relation that there is: "order.buyer" is none; there are order.customer',
    ],
    [{ scope: ["order"] }, 'scope must name a parameter that there is: "order" is none'],
    [{ fixed: ["token"] }, 'fixed must name a parameter that there is: "token" is none'],
    [
      { links: { get_order: "order.id" } },
      'links must name TOOL.PARAMETER or TOOL:WAY.IN.RESULT that there is: "get_order" is none',
    ],
    [
      { links: { "listOrders.customer": null } },
      'links must name TOOL.PARAMETER or TOOL:WAY.IN.RESULT that there is: "listOrders.customer" is none; did you mean listOrders.customer_id?',
    ],
    [
      { links: { "get_order_details:order.total": null } },
      'links must name TOOL.PARAMETER or TOOL:WAY.IN.RESULT that there is: "get_order_details:order.total" is none',
    ],
    [
      { links: { "crm_findACustomer:city": "town.id" } },
      'links of crm_findACustomer:city must name a type of ids that there is: "town.id" is none; there are order.id, customer.id',
    ],
    [
      { links: { "crm_findACustomer:city": "customer.id" } },
      "links must join ids of one JSON type: customer.id is of type integer, crm_findACustomer:city is not",
    ],
  ];
  for (const [options, message] of cases) {
    assertThrows(
      () => toolGraph(NAMED, options),
      InputError,
      `Cannot make a graph of tools as ${message}`,
    );
  }
  assertThrows(
    () => toolGraph(NAMED, { returns: { listOrders: { schema: { type: "list" } } } }),
    InputError,
    "Cannot offer tool listOrders as its declared result must be a JSON Schema: ",
  );
  assertThrows(
    () => toolGraph([NAMED[0]!, NAMED[0]!]),
    InputError,
    "Cannot make a graph of tools as each must have a name of its own: two are get_order_details",
  );
  assertThrows(() => toolGraph(NAMED, { link: {} } as object), InputError, "did you mean links?");
});
