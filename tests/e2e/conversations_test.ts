// Twenty conversations of the shop in fixtures/conversations/: whose fault each is, with good and bad clerks and customers.
// The commands of docs/conversations.md run its tests as users do (tests/e2e/documents_commands_test.ts).

import { assertEquals, assertStringIncludes } from "@std/assert";
import { clerk } from "../../fixtures/conversations/clerks.ts";
import { CUSTOMERS } from "../../fixtures/conversations/customers.ts";
import { TASKS } from "../../fixtures/conversations/tasks.ts";
import { runTrial } from "../../lib/trials/run_trial.ts";
import { openTasks, verdictsOf } from "../support/shop_conversations.ts";
import { deno } from "../support/child.ts";

/** Twenty of the same end. */
const all = (end: string) => Array<string>(20).fill(end);

/** How all tasks end, in their order: the last is that of a stranger, and in the one before somebody was hurt. */
const ENDS: Readonly<Record<string, readonly string[]>> = {
  "careful good": all("solved done").with(-2, "solved transferred").with(-1, "solved out_of_scope"),
  "careful hasty": all("invalid early_end"),
  "careful endless": all("invalid never_ends"),
  "careful swapped": all("invalid swapped_role"),
  "careful gluing": all("solved done"),
  "careless good": all("wrong_answer done").with(-1, "wrong_answer transferred"),
  "careless hasty": all("invalid early_end"),
  "careless endless": all("turn_limit"),
  "careless swapped": all("invalid swapped_role"),
  "careless gluing": all("wrong_answer done"),
};

for (const [names, ends] of Object.entries(ENDS)) {
  Deno.test(`conversations of a clerk and a customer (${names}) count on the right side`, async () => {
    const [name, customer] = names.split(" ") as [string, keyof typeof CUSTOMERS];
    const model = clerk(name, name === "careless" ? 1 : 0);
    const open = openTasks(CUSTOMERS[customer]);
    const found: string[] = [];
    for (const { id } of TASKS) {
      const { outcome, user } = await runTrial({ case: id, seed: 1 }, model, { open });
      found.push([outcome, user?.fault ?? user?.end ?? []].flat().join(" "));
    }
    assertEquals(found, ends);
  });
}

Deno.test("where 3 of 10 customers are bad no gate passes a bad clerk, and none blames a good one", async () => {
  const { careful, careless } = await verdictsOf([1, 2], 2);
  assertEquals(careful, [["invalid", "invalid"], ["undecided", "undecided"]]);
  assertEquals(careless, [["invalid", "invalid"], ["fail", "fail"]]);
});

Deno.test("a bridge tells a database from the one after the right calls, and passes one that is like it", async () => {
  const { code, stdout, all } = await deno([
    ...["test", "--no-check", "--no-prompt", "--lock=tests/deno.lock", "--allow-run=deno"],
    ...["--allow-env", "fixtures/conversations/bridge_test.ts", "--", "--seed=2"],
  ], { env: { MODEL: "careless" } });
  assertEquals(code, 1, all);
  assertStringIncludes(stdout, "the hash of the database", all);
  assertStringIncludes(stdout, "| 1 passed | 2 failed", all);
});
