// Tools of public MCP servers in MCP's own form, under all perturbations of documents.

import { assert, assertEquals } from "@std/assert";
import type { JsonObject } from "../../lib/base/json.ts";
import { perturbTools } from "../../lib/perturbations/documents/perturb.ts";
import {
  type DocumentMethod,
  PERTURBATION_METHODS,
  PERTURBED,
} from "../../lib/perturbations/methods.ts";
import { tool } from "../../lib/tools/define_tool.ts";
import { parseToolDocuments } from "../../lib/tools/documents.ts";
import { Toolbox } from "../../lib/trials/executors/toolbox.ts";
import { call } from "../support/handmade.ts";
import { MCP, outsideTest } from "../support/outside_data.ts";

outsideTest(
  "all tools of public MCP servers are taken and perturbed in MCP's own form",
  MCP,
  async (path) => {
    type Given = JsonObject & {
      readonly server: string;
      readonly name: string;
      readonly inputSchema: JsonObject;
    };
    const all: readonly Given[] = JSON.parse(Deno.readTextFileSync(`${path}/tools.json`));
    let changed = 0;
    for (const [server, own] of Map.groupBy(all, ({ server }) => server)) {
      const documents = parseToolDocuments({ tools: own }, server);
      assertEquals(documents.length, own.length);
      const tools = own.map((one) => tool({ ...one, returns: "done" }));
      using toolbox = new Toolbox(tools);
      const results = await toolbox.execute(tools.map(({ name }) => call(name, { no_such: 1 })));
      assert(results.every(({ content }) => content !== ""));
      for (const method of PERTURBATION_METHODS.filter((one) => PERTURBED[one] === "document")) {
        const given = perturbTools(method as DocumentMethod, documents, 1);
        const made = perturbTools(method as DocumentMethod, tools, 1);
        // What servers declare of their results is known to both.
        assertEquals(given.changes, made.changes, `${server} ${method}`);
        changed += given.changes.length;
      }
    }
    assertEquals(all.length, 152);
    assert(changed > 1_000, `${changed} changes`);
  },
);
