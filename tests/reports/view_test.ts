import { assertEquals } from "@std/assert";
import { sourceText } from "../../lib/reports/_view.ts";

Deno.test("sourceText() names the paper, FuncBenchGen unless told otherwise", () => {
  assertEquals(sourceText({ source: "Table 2" }), "as in FuncBenchGen, Table 2");
  assertEquals(
    sourceText({ source: "Function Calling Architecture", paper: "Pipeline" }),
    'as in Pipeline, an article on "the complete tool use pipeline", under "Function Calling Architecture"',
  );
});
