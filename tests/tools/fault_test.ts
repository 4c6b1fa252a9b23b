// Faults as perturbations: what ids may say, and what editors are told of them.

import { assert, assertEquals, assertThrows } from "@std/assert";
import {
  briefFault,
  FAULT_PATTERN,
  type FaultId,
  faultIn,
  FAULTS,
  isFault,
  isLasting,
  isLost,
  isTransient,
} from "../../lib/tools/fault.ts";
import { InputError } from "../../lib/base/errors.ts";
import {
  isCheck,
  isRemoving,
  PERTURBATIONS,
  perturbationsIn,
} from "../../lib/perturbations/ids.ts";
import { SUITE } from "../../lib/runs/suite.ts";
import fc from "../support/fast_check.ts";
import { SCHEMA_PATH } from "../support/suite_schema.ts";

Deno.test("faultIn() reads how many calls are hit, or how often", () => {
  assertEquals(faultIn("timeout"), { kind: "timeout", times: 1, rate: 1 });
  assertEquals(faultIn("rate_limit:12"), { kind: "rate_limit", times: 12, rate: 1 });
  assertEquals(faultIn("slow:99"), { kind: "slow", times: 99, rate: 1 });
  assertEquals(faultIn("flaky"), { kind: "flaky", times: Infinity, rate: 0.2 });
  assertEquals(faultIn("flaky:0.35"), { kind: "flaky", times: Infinity, rate: 0.35 });
  const denied = { kind: "permission_denied", times: Infinity, rate: 1 } as const;
  assertEquals(faultIn("permission_denied"), denied);
});

Deno.test("perturbationsIn() says what is wrong with the number of a fault", () => {
  const times = "it must say how many calls fail by a whole number from 1 to 99, such as";
  const rate =
    "it must say how often a call fails by a rate between 0 and 1 that ends in no zero, such as flaky:0.35";
  const wrong: Record<string, string> = {
    "timeout:0": `${times} timeout:2: timeout:0`,
    "timeout:": `${times} timeout:2: timeout:`,
    "timeout:1.5": `${times} timeout:2: timeout:1.5`,
    "timeout:100": `${times} timeout:2: timeout:100`,
    "CF+slow:01": `${times} slow:2: slow:01`,
    "timeout:2:3": `${times} timeout:2: timeout:2:3`,
    "timeout: 2": `${times} timeout:2: timeout: 2`,
    "flaky:0": `${rate}: flaky:0`,
    "flaky:1": `${rate}: flaky:1`,
    "flaky:0.0": `${rate}: flaky:0.0`,
    "flaky:0.20": `${rate}: flaky:0.20`,
    "flaky:-0.2": `${rate}: flaky:-0.2`,
    "flaky:.2": `${rate}: flaky:.2`,
    "flaky:0.1234567": `${rate}: flaky:0.1234567`,
    "flaky:many": `${rate}: flaky:many`,
    "permission_denied:2":
      "it must have no number where permission is denied for good: permission_denied:2",
    "gone:2": "it must have no number where a function is gone for good: gone:2",
    "timeout:2+timeout": "it must not name a perturbation twice: timeout",
    "flaky:0.1+flaky:0.2": "it must not name a perturbation twice: flaky",
  };
  for (const [id, rule] of Object.entries(wrong)) {
    assertThrows(
      () => perturbationsIn(id),
      InputError,
      `Cannot use the perturbation as ${rule}`,
    );
  }
  for (const id of ["RD:2", "time_out", "Timeout", "timeout+", ":2", "__proto__"]) {
    assertThrows(
      () => perturbationsIn(id),
      InputError,
      "must be none, or some of unrelated, rename",
    );
  }
});

Deno.test("perturbationsIn() refuses none beside others", () => {
  for (const id of ["none+timeout", "RD+none", "none+none", "nonsense+none"]) {
    assertThrows(
      () => perturbationsIn(id),
      InputError,
      "Cannot use the perturbation as it must be none alone, or others joined without it (to run " +
        `both, list them separately): ${id}`,
    );
  }
});

Deno.test("perturbationsIn() names the id that another may be a slip of, and guesses no further", () => {
  const meant: Record<string, string | undefined> = {
    "rate-limit": "rate_limit",
    "RateLimit:3": "rate_limit",
    "CF+rate_limits": "rate_limit",
    "flakey:0.3": "flaky",
    "time_out": "timeout",
    "permision-denied": "permission_denied",
    "permision-denyed": "permission_denied",
    "rd": "RD",
    "RPF": "RP_F",
    "RD:2": "RD",
    "None": "none",
    "RD+None": undefined,
    "RX": undefined,
    "slew": "slow",
    "flak": "flaky",
    "fluky1": undefined,
    "": undefined,
    "+": undefined,
    "__proto__": undefined,
  };
  for (const [id, name] of Object.entries(meant)) {
    const { message } = assertThrows(() => perturbationsIn(id), InputError);
    assertEquals(/; did you mean (.*)\?$/.exec(message)?.[1], name, id);
  }
});

Deno.test("perturbationsIn() brings faults behind everything else, without what is usual", () => {
  assertEquals(perturbationsIn("timeout:1"), ["timeout"]);
  assertEquals(perturbationsIn("flaky:0.2"), ["flaky"]);
  assertEquals(perturbationsIn("flaky:0.25+slow:3+timeout:2+CF+FK+RD+rename"), [
    ...["rename", "RD", "FK", "CF", "timeout:2", "slow:3", "flaky:0.25"] as const,
  ]);
  assertEquals(perturbationsIn(PERTURBATIONS.join("+")).length, PERTURBATIONS.length);
});

Deno.test("briefFault() says the same in as few words", () => {
  const ids = fc.oneof(
    fc.tuple(
      fc.constantFrom(...FAULTS.filter((kind) => kind !== "flaky" && !isLasting(kind))),
      fc.integer({ min: 1, max: 99 }),
    ).map(([kind, times]): FaultId => `${kind}:${times}`),
    fc.integer({ min: 1, max: 999_999 }).map((rate): FaultId => `flaky:${rate / 1e6}`),
    fc.constantFrom(...FAULTS),
  );
  fc.assert(fc.property(ids, (id) => {
    const brief = briefFault(id);
    assertEquals(faultIn(brief), faultIn(id));
    assertEquals(briefFault(brief), brief);
    assert(brief.length <= id.length);
    assertEquals(perturbationsIn(id), [brief]);
  }));
});

Deno.test("isFault(), isCheck() and isRemoving() tell perturbations apart", () => {
  assertEquals(PERTURBATIONS.filter(isFault), [...FAULTS]);
  assert(isFault("timeout:3") && isFault("flaky:0.1"));
  for (const id of ["none", "RD", "reorder", "timeouts", "time", "", ":timeout", "constructor"]) {
    assert(!isFault(id), id);
  }
  for (const id of FAULTS) {
    assert(!isCheck(id));
    assertEquals(isRemoving(id), id === "permission_denied");
    assertEquals(isRemoving(`RD+${id}`), id === "permission_denied");
  }
  assert(!isCheck("reorder+timeout:2"));
});

Deno.test("isLost() and isTransient() tell what a fault comes to", () => {
  assertEquals(FAULTS.filter((fault) => !isLost({ fault })), ["slow"]);
  assert(!isLost({}));
  assertEquals(FAULTS.filter((kind) => !isTransient(kind)), ["permission_denied", "gone", "slow"]);
});

/** The patterns of perturbations in the JSON schema of suites. */
function patternsOfSchema(): { readonly names: readonly string[]; readonly pattern: RegExp } {
  const { properties: { perturbations } } = JSON.parse(Deno.readTextFileSync(SCHEMA_PATH));
  const [{ enum: names }, { pattern }] = perturbations.items.anyOf;
  return { names, pattern: new RegExp(pattern, "u") };
}

Deno.test("editors are told the same of ids as suites take", () => {
  const { names, pattern } = patternsOfSchema();
  const part = fc.oneof(
    { weight: 3, arbitrary: fc.constantFrom(...PERTURBATIONS) },
    fc.tuple(
      fc.constantFrom(...FAULTS, "RD", "reorder"),
      fc.oneof(
        fc.stringMatching(/^[0-9.:-]{0,4}$/),
        fc.integer({ min: 0, max: 120 }).map(String),
        fc.integer({ min: 0, max: 10_000 }).map((rate) => String(rate / 10_000)),
      ),
    ).map(([kind, number]) => `${kind}:${number}`),
  );
  const ids = fc.uniqueArray(part, { selector: (id) => id.split(":")[0], maxLength: 4 })
    .map((parts) => parts.join("+"));
  let taken = 0;
  fc.assert(
    fc.property(ids, (id) => {
      const suite = { name: "n", seed: 1, tasks: [{ core: 2, depth: 1 }], models: ["m"] };
      const { success } = SUITE.safeParse({ ...suite, perturbations: [id] });
      if (success) taken++;
      assertEquals(names.includes(id) || pattern.test(id), success, id);
      const isOne = isFault(id as FaultId) && !id.includes("+");
      assertEquals(new RegExp(`^(${FAULT_PATTERN})$`).test(id), success && isOne, id);
    }),
    { numRuns: 1_000 },
  );
  assert(taken > 100, `${taken} ids were right`);
});
