import { assert, assertEquals, assertNotEquals, assertThrows } from "@std/assert";
import type { JsonObject, JsonValue } from "../../lib/base/json.ts";
import { InputError } from "../../lib/base/errors.ts";
import { isRight } from "../../lib/chains/answer.ts";
import { chains, type ChainTask, sample } from "../../lib/chains/chains.ts";
import { drawnTask, rememberTask } from "../../lib/chains/drawn.ts";
import { type ToolGraph, toolGraph, type ToolGraphOptions } from "../../lib/chains/graph.ts";
import { openApiTools } from "../../lib/integrations/openapi.ts";
import { tool } from "../../lib/tools/define_tool.ts";
import { freshTool, isIsolated } from "../../lib/tools/tool.ts";

const TEXT = { type: "string" };
const WHOLE = { type: "integer" };
/** Of so few values that the same one often stands elsewhere. */
const FEW = { type: "integer", minimum: 100, maximum: 109 };

/** The schema of an object all of whose properties are there. */
function object(properties: JsonObject): JsonObject {
  return { type: "object", properties, required: Object.keys(properties) };
}

/** The operation that returns values of a schema for the parameters in its path. */
function get(path: string, schema: JsonObject): JsonObject {
  const parameters = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({
    ...{ name: name!, in: "path", required: true },
    schema: /id$/i.test(name!) ? WHOLE : TEXT,
  }));
  const content = { "application/json": { schema } };
  return { [path]: { get: { parameters, responses: { 200: { description: "It", content } } } } };
}

const ref = (name: string) => ({ $ref: `#/components/schemas/${name}` });
const list = (name: string) => ({ type: "array", items: ref(name) });

/** Three kinds of documents: plain; in envelopes, below an account; and own tools without paths. */
const GRAPHS: Readonly<Record<string, ToolGraph>> = {
  clinics: toolGraph(
    await openApiTools({
      openapi: "3.1.0",
      info: { title: "Clinics", version: "1" },
      paths: {
        ...get("/pets/{petId}", ref("Pet")),
        ...get("/owners/{ownerId}", ref("Owner")),
        ...get("/owners/{ownerId}/pets", list("Pet")),
        ...get("/owners/{ownerId}/counts", object({ visits: FEW, bills: FEW, calls: FEW })),
        ...get("/clinics/{clinicId}", ref("Clinic")),
        ...get("/vets/{vetId}", ref("Vet")),
      },
      components: {
        schemas: {
          Pet: object({ id: WHOLE, name: TEXT, ownerId: WHOLE, weight: FEW }),
          Owner: object({
            id: WHOLE,
            name: TEXT,
            points: FEW,
            clinic: object({ id: WHOLE, name: TEXT }),
          }),
          Clinic: object({
            id: WHOLE,
            name: TEXT,
            beds: FEW,
            vetId: WHOLE,
            address: object({ city: TEXT }),
          }),
          Vet: object({
            id: WHOLE,
            name: TEXT,
            room: FEW,
            email: { type: "string", format: "email" },
          }),
        },
      },
    }, { seed: 1 }),
  ),
  projects: toolGraph(
    await openApiTools({
      openapi: "3.0.3",
      info: { title: "Projects", version: "1" },
      paths: {
        ...get("/{account}/projects", object({ data: list("Project") })),
        ...get("/{account}/projects/{project_id}", object({ data: ref("Project") })),
        ...get("/{account}/projects/{project_id}/tasks", object({ data: list("Task") })),
        ...get("/{account}/tasks/{task_id}", object({ data: ref("Task") })),
        ...get("/{account}/users/{user_id}", object({ data: ref("User") })),
      },
      components: {
        schemas: {
          Project: object({ id: WHOLE, name: TEXT, code: TEXT, user_id: WHOLE }),
          Task: object({ id: WHOLE, title: TEXT, due: TEXT, project_id: WHOLE, user_id: WHOLE }),
          User: object({ id: WHOLE, name: TEXT, phone: TEXT, room: object({ floor: TEXT }) }),
        },
      },
    }, { seed: 1 }),
    { scope: ["account"] },
  ),
  shop: toolGraph(
    ["order", "customer", "depot"].map((name, index, all) =>
      tool({
        name: `get_${name}`,
        description: `Returns a ${name}`,
        parameters: object({ [`${name}_id`]: TEXT }),
        output: object({
          ...{ id: TEXT, note: TEXT },
          ...(index < 2 ? { [`${all[index + 1]}_id`]: TEXT } : { street: TEXT }),
        }),
        execute: () => null,
      })
    ),
  ),
};

/** Yields tasks of a graph of each number of calls. */
function* tasksOf(graph: ToolGraph, count: number): Generator<ChainTask> {
  const made = chains(graph, { calls: graph === GRAPHS["clinics"] ? [2, 3, 4] : [2, 3] });
  for (let seed = 0; seed < count; seed++) yield made[seed % made.length]!.draw(seed);
}

/** Calls a tool of a task and returns its result. */
async function callOf(task: ChainTask, name: string, input: JsonObject): Promise<JsonValue> {
  return JSON.parse(await task.tools.find((one) => one.name === name)!.execute(input));
}

/** Returns the texts and numbers in a value. */
function leavesIn(value: JsonValue): JsonValue[] {
  if (typeof value !== "object" || value === null) return [value];
  return Object.values(value).flatMap(leavesIn);
}

/** Returns the texts and numbers that a question quotes. */
function quotedIn(question: string): JsonValue[] {
  return (question.match(/"[^"]*"|\b\d+\b/g) ?? []).map((text) => JSON.parse(text));
}

for (const [name, graph] of Object.entries(GRAPHS)) {
  Deno.test(`the calls of a chain take what the question or a call before shows, and the last shows the answer: ${name}`, async () => {
    for (const task of tasksOf(graph, 60)) {
      const known = quotedIn(task.question);
      let last: JsonValue = null;
      for (const { tool, arguments: input } of task.calls) {
        for (const value of leavesIn(input)) assert(known.includes(value), task.question);
        last = await callOf(task, tool, input);
        known.push(...leavesIn(last));
      }
      assert(leavesIn(last).includes(task.answer), task.question);
      assert(isRight(task, String(task.answer)));
      assertEquals(task.steps.map((step) => step.tool), task.calls.map((call) => call.tool));
      assertEquals(new Set(task.calls.map((call) => call.tool)).size, task.calls.length);
    }
  });

  // Any value that is known is tried for any parameter, so that nothing of the graph is taken on trust.
  Deno.test(`no fewer calls show the answer to a chain: ${name}`, async () => {
    for (const task of tasksOf(graph, 60)) {
      const known = new Set(quotedIn(task.question));
      const made = new Set<string>();
      for (let calls = 1; calls < task.calls.length; calls++) {
        const shown: JsonValue[] = [];
        for (const { name, parameters } of task.tools) {
          let inputs: JsonObject[] = [{}];
          for (const [parameter, schema] of Object.entries(Object(parameters["properties"]))) {
            const { type } = Object(schema);
            const fitting = [...known].filter((one) =>
              type === "integer" ? Number.isInteger(one) : typeof one === "string"
            );
            inputs = inputs.flatMap((one) =>
              fitting.map((value) => ({ ...one, [parameter]: value }))
            );
          }
          for (const input of inputs) {
            const call = JSON.stringify([name, input]);
            if (made.has(call)) continue;
            made.add(call);
            const result = await callOf(task, name, input);
            if (!Object.hasOwn(Object(result), "error")) shown.push(...leavesIn(result));
          }
        }
        for (const value of shown) known.add(value);
        assert(!known.has(task.answer), `${calls} of ${task.calls.length}: ${task.question}`);
      }
    }
  });

  Deno.test(`a question does not give its answer away, and says what it is of: ${name}`, () => {
    for (const task of tasksOf(graph, 60)) {
      const guesses = [task.question, ...task.question.split(" "), ...quotedIn(task.question)];
      for (const guess of guesses) assert(!isRight(task, String(guess)), task.question);
      for (const other of task.others) assert(!isRight(task, String(other)), task.question);
    }
  });
}

for (const [name, graph] of Object.entries(GRAPHS)) {
  Deno.test(`a version with the same tools has the same questions, and as many calls that answer them: ${name}`, async () => {
    const names = ["here", "there"];
    const other = Object.fromEntries(names.map((one) => [one, { ...graph }]));
    for (const [seed, chain] of chains(graph, { tasks: 60, versions: other }).entries()) {
      const task = chain.draw(seed);
      for (const version of chain.versions!.values()) {
        const same = version.draw(seed);
        assertEquals([same.question, same.answer], [task.question, task.answer]);
        assertEquals(same.calls.length, task.calls.length, task.question);
        const results = await Promise.all(
          same.calls.map((call) => callOf(same, call.tool, call.arguments)),
        );
        for (const [at, { shows: { id } }] of same.steps.entries()) {
          const isLast = at + 1 === same.steps.length;
          assert(leavesIn(results[at]!).includes(isLast ? task.answer : id), task.question);
        }
      }
    }
  });
}

Deno.test("a version that does not lead to an answer says which tools are gone, and which lead there no more", async () => {
  const shop = (parts: Record<string, JsonObject>, more: JsonObject = {}, id = TEXT) =>
    toolGraph(
      Object.entries(parts).map(([name, output]) =>
        tool({
          ...{ name: `get_${name}`, description: `Returns a ${name}`, execute: () => null },
          parameters: object({ [`${name}_id`]: id, ...(name === "depot" && more) }),
          output: object({ id, ...output }),
        })
      ),
    );
  const [customer, depot] = [{ city: TEXT, depot_id: TEXT }, { street: TEXT }];
  const service = async (operation: JsonObject, Vet: JsonObject) => {
    const paths = { ...get("/clinics/{clinicId}", ref("Clinic")), ...operation };
    const schemas = { Clinic: object({ id: WHOLE, vetId: WHOLE }), Vet: object(Vet) };
    const info = { title: "Clinics", version: "1" };
    const document = { openapi: "3.1.0", info, paths, components: { schemas } };
    return toolGraph(await openApiTools(document, { seed: 1 }));
  };
  const vets = await service(get("/vets/{vetId}", ref("Vet")), { id: WHOLE, room: TEXT });
  const { parameters, responses } = Object(get("/vets/{id}", ref("Vet"))["/vets/{id}"]).get;
  const readVet = { "/vets/{id}": { get: { operationId: "readVet", parameters, responses } } };
  const first = shop({ customer, depot });
  const listed = tool({
    ...{
      name: "list_depots",
      description: "Returns depots",
      parameters: object({}),
      execute: () => null,
    },
    output: { type: "array", items: object({ id: TEXT, street: TEXT }) },
  });
  const end = " as they must lead to its answer, too: ";
  const rows: [ToolGraph, ToolGraph, reason: string | undefined][] = [
    [first, shop({ customer, depot: { street: TEXT, id: TEXT } }), undefined],
    // Its list shows the answer at once, but not which one it is.
    [first, toolGraph([listed, ...first.nodes.values().map(({ tool }) => tool)]), undefined],
    [first, shop({ customer }), "get_depot is gone"],
    [first, shop({ customer: { city: TEXT }, depot }), "get_customer no longer leads to depot.id"],
    [
      first,
      shop({ customer, depot: { lane: TEXT } }),
      "get_depot no longer leads to the street of depot.id",
    ],
    [
      first,
      shop({ customer, depot }, { region: TEXT }),
      "get_depot no longer leads to the street of depot.id",
    ],
    [vets, await service(readVet, { id: WHOLE, room: TEXT }), undefined],
    [
      vets,
      await service(readVet, { id: WHOLE, hall: TEXT }),
      "readVet no longer leads to the room of vet.id",
    ],
  ];
  for (const [graph, v2, reason] of rows) {
    const [chain] = chains(graph, { calls: [2], versions: { v2 } });
    const draw = (seed = 1) => chain!.versions!.get("v2")!.draw(seed);
    if (reason !== undefined) {
      assertEquals(assertThrows(() => draw(), InputError).message.split(end)[1], reason);
      continue;
    }
    const both = [2, 3, 4, 5].flatMap((seed) => [chain!.draw(seed), draw(seed)]);
    for (const task of both) rememberTask(task, task.question);
    for (const { question, calls, tools } of both) {
      assertEquals(calls.length, 2);
      // A simulated model makes the calls of the version that it is offered.
      const offered = new Map(tools.map(({ name, parameters }) => [name, parameters]));
      assertEquals(drawnTask(question, offered)!.calls, calls);
    }
  }
  assertThrows(
    () => chains(first, { versions: { v2: shop({ customer, depot }, {}, WHOLE) } }),
    InputError,
    "Cannot use versions.v2 as ids must have one JSON type in all versions: customer.id is of type string, and of " +
      "type integer there",
  );
});

Deno.test("a chain draws the same task for the same seed, and others for other seeds", async () => {
  const [first, second] = [0, 1].map(() => chains(GRAPHS["clinics"]!, { tasks: 5 }));
  const drawn = first!.map((chain, index) => {
    const { tools, world: _, ...task } = chain.draw(7);
    const { tools: again, world: __, ...same } = second![index]!.draw(7);
    assertEquals(same, task);
    assertEquals(again.map((one) => one.name), tools.map((one) => one.name));
    assertNotEquals(chain.draw(8).question, task.question);
    return task.question;
  });
  assertEquals(new Set(drawn).size, 5);
  assertEquals(first!.map((chain) => chain.name), [
    ...["chain 1 of 2 calls", "chain 2 of 3 calls", "chain 3 of 4 calls"],
    ...["chain 4 of 2 calls", "chain 5 of 3 calls"],
  ]);
  const task = first![0]!.draw(7);
  const [{ tool: name, arguments: input }] = task.calls as [ChainTask["calls"][0]];
  const own = task.tools.find((one) => one.name === name)!;
  assert(isIsolated(own));
  assertEquals(await freshTool(own).execute(input), await own.execute(input));
});

Deno.test("a question says in plain words where to begin, what to choose and what is asked for", () => {
  const questions = (graph: ToolGraph) =>
    [...tasksOf(graph, 40)].map(({ question }) => question.replace(/"[^"]*"|\b\d+\b/g, "#"));
  const end = " Answer with the value alone, as the tool returns it.";
  for (
    const [name, question] of [
      [
        "clinics",
        "Take the pet whose id is #. What is the city of the address of the clinic of its owner?",
      ],
      [
        "clinics",
        "Take the clinic whose id is #. What is the email of its vet?",
      ],
      [
        "projects",
        "For the account #: among all projects, take the one whose name is #. What is the phone of the user of that project?",
      ],
      [
        "shop",
        "Take the order whose id is #. What is the street of the depot of its customer?",
      ],
    ] as const
  ) {
    const all = questions(GRAPHS[name]!);
    assert(all.includes(question + end), `${question}\n${[...new Set(all)].join("\n")}`);
  }
});

Deno.test("unknown ids are answered in plain words, or with values that are made up", async () => {
  const [chain] = chains(GRAPHS["clinics"]!);
  assertEquals(await callOf(chain!.draw(1), "get_pets_petId", { petId: 99 }), {
    error: "No pet has the id 99",
  });
  const [lenient] = chains(GRAPHS["clinics"]!, { unknown: "values" });
  const made = await callOf(lenient!.draw(1), "get_pets_petId", { petId: 99 });
  assertEquals(Object.keys(Object(made)).sort(), ["id", "name", "ownerId", "weight"]);
});

Deno.test("tools of which a world has no ids are not on offer, and none takes what was made up", () => {
  const made = (name: string, type: JsonObject) =>
    tool({
      name: `get_${name}`,
      description: `Returns a ${name}`,
      parameters: {
        ...object({ [`${name}_id`]: type }),
        properties: { [`${name}_id`]: type, token: TEXT },
        additionalProperties: false,
      },
      output: object({ id: type, ...(name === "pet" ? { owner_id: TEXT } : { city: TEXT }) }),
      execute: () => null,
    });
  const none = made("visit", { type: "string", minLength: 5, maxLength: 4 });
  const graph = toolGraph([made("pet", TEXT), made("owner", TEXT), none], { fixed: ["token"] });
  const { tools } = chains(graph)[0]!.draw(1);
  assertEquals(tools.map(({ name }) => name), ["get_pet", "get_owner"]);
  for (const { parameters } of tools) {
    assertEquals(parameters["additionalProperties"], false);
    assert(!("token" in Object(parameters["properties"])));
  }
});

Deno.test("at most so many tools are on offer as asked for, the needed ones among them", () => {
  for (const chain of chains(GRAPHS["clinics"]!, { offered: 4 })) {
    const { tools, calls } = chain.draw(3);
    const names = tools.map((one) => one.name);
    assertEquals(names.length, 4);
    for (const call of calls) assert(names.includes(call.tool));
  }
});

Deno.test("an answer is right if it states the value and nothing that may be another one", () => {
  const [text, number, money] = [
    { answer: "Kavoru", others: ["Lumeti", "Kavoru Zeb"] },
    { answer: 5123, others: [77, 12345] },
    { answer: 12.5, others: [] },
  ];
  const table: [task: typeof text | typeof number, right: boolean, said: string[]][] = [
    [text, true, [
      ...[
        "Kavoru",
        '"Kavoru"',
        "**Kavoru**",
        "`Kavoru`.",
        "The answer is Kavoru.",
        "Answer: Kavoru",
      ],
      ...[
        "The name of its owner is Kavoru.",
        '{"name": "Kavoru"}',
        '["Kavoru"]',
        "\\boxed{Kavoru}",
      ],
      ...['```json\n"Kavoru"\n```', "The task has an owner.\nIts name is **Kavoru**."],
    ]],
    [text, false, [
      ...["", " ", '""', "kavoru?", "Kavor", "Kavorus", "Kavoru-Lu", "Kavoru, Lumeti"],
      ...["Lumeti or Kavoru", "Kavoru vs Zetiva", "Zetiva\nKavoru", "- Zetiva\n- Kavoru"],
      ...["It is Kavoru and Zetiva.", "It is not Kavoru.", "It isn’t Kavoru", "it isnt Kavoru"],
      ...["The former is Kavoru. The current one is Tekilo.", "It is Lumeti.\nIt is Kavoru."],
      ...["La ville n'est pas Kavoru", "Kavoru Zeb", "Its name is Kavoru Tik.", "not: Kavoru"],
      ...['{"name": "Kavoru", "id": 7}', `Candidates ${"and so on ".repeat(60)} is Kavoru`],
    ]],
    [number, true, ["5123", "5,123", "5 123", "**5123**", "5123.", "The weight is 5,123."]],
    [number, false, [
      "5123.5",
      "51234",
      "-5123",
      "5123 to 5200",
      "5123\n5124",
      "It is 77, is 5123",
    ]],
    [money, true, ["12.5", "12.50", "$12.5", "The total is €12.50."]],
    [money, false, [
      "−12.5",
      "minus 12.5",
      "less than 12.5",
      "12.5 million",
      "12.5–13",
      "It is -12.5",
    ]],
  ];
  for (const [task, right, answers] of table) {
    for (const said of answers) assertEquals([said, isRight(task, said)], [said, right]);
  }
  assertEquals(isRight({ answer: -450, others: [] }, "−450"), true);
});

Deno.test("a sample shows questions, and its hash stands for the graph, the options and the words", () => {
  const graph = GRAPHS["clinics"]!;
  const { tasks, hash } = sample(chains(graph), 6);
  assertEquals(new Set(tasks.map(({ question }) => question)).size, 6);
  assertEquals(sample(chains(graph, { tasks: 3 }), 6, 99).hash, hash);
  assertNotEquals(sample(chains(graph, { calls: [2] })).hash, hash);
  assertEquals(chains(graph, { confirmed: hash })[0]!.confirmed, true);
  assertEquals(chains(graph)[0]!.confirmed, false);
});

/** Tools over orders, customers and their sellers; more fields of an order and of a customer may be named. */
function shop(order: JsonObject = {}, customer: JsonObject = {}, options?: ToolGraphOptions) {
  const one = (name: string, fields: JsonObject) =>
    tool({
      ...{ name: `get_${name}`, description: "Returns it" },
      parameters: object({ [`${name}_id`]: TEXT }),
      output: object({ id: TEXT, ...fields }),
      execute: () => null,
    });
  const person = { name: TEXT, ...customer };
  const all = [one("order", { customer_id: TEXT, ...order }), one("customer", person)];
  const named = tool({
    ...{ name: "list_customers", description: "Lists them", parameters: object({}) },
    output: { type: "array", items: object({ id: TEXT, ...person }) },
    execute: () => null,
  });
  return toolGraph([...all, named], options);
}

Deno.test("no question asks for a field that has a copy beside the id", () => {
  const asked = (graph: ToolGraph) =>
    new Set(sample(chains(graph, { calls: [2] }), 40).tasks.map(({ target }) => target.path[0]));
  assertEquals(asked(shop({}, { city: TEXT })), new Set(["name", "city"]));
  assertEquals(asked(shop({ customer_name: TEXT }, { city: TEXT })), new Set(["city"]));
});

Deno.test("whoever repeats what the question says gives no other answer", () => {
  const user = object({ id: TEXT, name: TEXT, team_id: TEXT, friend_id: TEXT });
  const one = (name: string, parameter: string, output: JsonObject) =>
    tool({
      ...{ name, description: "Returns it", parameters: object({ [parameter]: TEXT }), output },
      execute: () => null,
    });
  const graph = toolGraph([
    one("get_team", "team_id", object({ id: TEXT })),
    one("get_user", "user_id", user),
    one("list_users", "team_id", { type: "array", items: user }),
  ], { links: { "get_user:friend_id": "user.id", "list_users:*.friend_id": "user.id" } });
  const { tasks } = sample(chains(graph, { calls: [2] }), 60);
  const named = tasks.filter(({ question }) => question.includes("whose name is"));
  assert(named.length > 0);
  for (const task of named) {
    const [, name] = /whose name is "([^"]*)"/.exec(task.question)!;
    assert(isRight(task, `The name of the friend of ${name} is ${task.answer}.`), task.question);
  }
});

Deno.test("another result has another hash, and words are of fields that there are", () => {
  const hashOf = (graph: ToolGraph) => sample(chains(graph, { calls: [2] })).hash;
  assertNotEquals(hashOf(shop({}, { city: TEXT })), hashOf(shop({}, { town: TEXT })));
  const graph = shop({}, {}, { words: { fields: { "customer.nam": "n" } } });
  assertThrows(
    () => chains(graph),
    InputError,
    'words.fields must name a field that there is: "customer.nam" is none; did you mean customer.name',
  );
});

Deno.test("chains() refuses a graph without chains, and questions that nobody confirmed", () => {
  const failure = (graph: ToolGraph, options?: Parameters<typeof chains>[1]) =>
    assertThrows(() => chains(graph, options), InputError).message;
  const plain = (name: string, output?: JsonObject) =>
    tool({
      ...{ name, description: "Returns it", parameters: object({ id: TEXT }) },
      ...(output && { output }),
      execute: () => null,
    });
  assertEquals(
    failure(toolGraph([plain("get_order")])),
    "Cannot make chains as tools that only read must say what they return: of 1 tool none does; " +
      'declare "output" of tool(), or write "returns" of toolGraph()',
  );
  assertEquals(
    failure(toolGraph([plain("get_order", object({ id: TEXT, note: TEXT }))])),
    "Cannot make chains as a tool must return an id that another one takes: of 1 tool none is " +
      'known to; write "links" of toolGraph(), such as {"get_order:WAY.IN.RESULT":"ENTITY.KEY"}',
  );
  assertEquals(
    failure(GRAPHS["shop"]!, { calls: [2, 4] }),
    "Cannot make chains of 4 calls as there must be questions that no fewer calls can answer: too " +
      "few were found over the 3 tools; write calls: [2]",
  );
  const { hash } = sample(chains(GRAPHS["shop"]!));
  assertEquals(
    failure(GRAPHS["shop"]!, { confirmed: "0123456789ab" }),
    "Cannot use these chains as the sample of their questions must be the one that was confirmed, " +
      `0123456789ab: the tools, their links, or options such as calls are others now: it is ${hash}; ` +
      "read a sample again",
  );
});
