import { assertEquals } from "@std/assert";
import { journalTrials, readJournalFile } from "../../../lib/runs/journal/journal.ts";
import { Folder } from "../../support/folders.ts";
import { linesOf } from "../../support/journals.ts";
import { record } from "../../support/records.ts";

Deno.test("journalTrials() takes no tools for a text, though a journal has both by one id", () => {
  using folder = new Folder();
  const tools = { id: "x", value: [{ name: "order", description: "Finds an order" }] };
  const transcripts = [
    { prompt: { id: "p", value: "Hi" }, tools },
    { prompt: { id: "p" }, tools: { id: "x" } },
    { system: { id: "x" }, prompt: { id: "x" }, tools: { id: "x" } },
  ];
  const lines = transcripts.map((transcript, index) => ({
    ...record({ task: { case: "t", seed: 1 }, index, repetition: index + 1 }),
    transcript,
  }));
  const trials = [...journalTrials(readJournalFile(folder.write("a.jsonl", linesOf(lines))))];
  assertEquals(trials.map(({ transcript }) => transcript) as unknown[], [
    transcripts[0],
    { prompt: { id: "p", value: "Hi" }, tools },
    { system: { id: "x" }, prompt: { id: "x" }, tools },
  ]);
});
