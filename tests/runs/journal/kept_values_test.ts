import { assertEquals } from "@std/assert";
import { journalTrials, readJournalFile } from "../../../lib/runs/journal/journal.ts";
import { planSuite } from "../../../lib/runs/plan.ts";
import { Folder } from "../../support/folders.ts";
import { writeJournal } from "../../support/journals.ts";
import { record } from "../../support/records.ts";
import { SMALL } from "../../support/suites.ts";

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
  const trials = [...journalTrials(readJournalFile(writeJournal(folder, planSuite(SMALL), lines)))];
  assertEquals(trials.map(({ transcript }) => transcript) as unknown[], [
    transcripts[0],
    { prompt: { id: "p", value: "Hi" }, tools },
    { system: { id: "x" }, prompt: { id: "x" }, tools },
  ]);
});
