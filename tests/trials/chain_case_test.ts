import { assert, assertRejects } from "@std/assert";
import { chains } from "../../lib/chains/chains.ts";
import { toolGraph } from "../../lib/chains/graph.ts";
import { InfrastructureError } from "../../lib/models/model.ts";
import { tool } from "../../lib/tools/define_tool.ts";
import { chainCase } from "../../lib/trials/executors/_chain.ts";

Deno.test("a result that no value fits breaks off the trial of a chain", async () => {
  const text = { type: "string" };
  const made = (name: string, properties: Record<string, typeof text>) =>
    tool({
      ...{ name, description: "Returns it", execute: () => null },
      parameters: {
        ...{ type: "object", properties: { [`${name.slice(4)}_id`]: text } },
        required: name === "get_odd" ? [] : [`${name.slice(4)}_id`],
      },
      output: { type: "object", properties, required: Object.keys(properties) },
    });
  const graph = toolGraph([
    made("get_pet", { id: text, owner_id: text }),
    made("get_owner", { id: text, city: text }),
    made("get_odd", { note: { ...text, ...{ minLength: 5, maxLength: 4 } } }),
  ]);
  const [chain] = chains(graph);
  const drawn = chainCase({ name: "a", prompt: "", tools: [], assert() {} }, chain!, 1);
  const odd = Array.isArray(drawn.tools) && drawn.tools.find(({ name }) => name === "get_odd");
  assert(odd);
  await assertRejects(async () => await odd.execute({}), InfrastructureError, "get_odd");
});
