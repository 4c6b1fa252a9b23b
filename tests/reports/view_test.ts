import { assertEquals } from "@std/assert";
import { sourceText } from "../../lib/reports/_view.ts";

Deno.test("sourceText() names the paper, FuncBenchGen unless told otherwise, and what only looks like it", () => {
  assertEquals(sourceText({ source: "Table 2" }), "laid out as in FuncBenchGen, Table 2");
  assertEquals(sourceText({ source: "section 3" }), "as in FuncBenchGen, section 3");
  assertEquals(
    sourceText({ source: "Function Calling Architecture", paper: "Pipeline" }),
    'as in Pipeline, an article on "the complete tool use pipeline", under "Function Calling Architecture"',
  );
});
