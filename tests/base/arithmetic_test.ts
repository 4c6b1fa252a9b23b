import { assert, assertEquals } from "@std/assert";
import { evaluate } from "../../lib/base/arithmetic.ts";
import fc from "../support/fast_check.ts";

/** An expression as a tree. */
type Tree =
  | { readonly kind: "number"; readonly text: string }
  | { readonly kind: "sign"; readonly sign: string; readonly of: Tree; readonly wrapped: boolean }
  | {
    readonly kind: "pair";
    readonly sign: string;
    readonly one: Tree;
    readonly other: Tree;
    readonly wrapped: boolean;
  };

const DIGITS = fc.nat({ max: 9999 }).map(String);

const NUMBERS = fc.oneof(
  DIGITS,
  fc.tuple(DIGITS, DIGITS).map((parts) => parts.join(".")),
  DIGITS.map((digits) => `.${digits}`),
  fc.constantFrom("0", "1", "007", "0.50"),
);

const { tree: TREES } = fc.letrec<{ tree: Tree }>((tie) => ({
  tree: fc.oneof(
    { maxDepth: 6, depthSize: "large", withCrossShrink: true },
    fc.record({ kind: fc.constant("number" as const), text: NUMBERS }),
    fc.record({
      kind: fc.constant("sign" as const),
      sign: fc.constantFrom("+", "-", "−"),
      of: tie("tree"),
      wrapped: fc.boolean(),
    }),
    fc.record({
      kind: fc.constant("pair" as const),
      sign: fc.constantFrom("+", "-", "−", "*", "×", "·", "/", "÷", "^"),
      one: tie("tree"),
      other: tie("tree"),
      wrapped: fc.boolean(),
    }),
  ),
}));

/** What an operator binds, the looser the lower, and what its operands must at least bind. */
function bindingOf(tree: Tree): { own: number; one: number; other: number } {
  if (tree.kind === "number") return { own: 4, one: 4, other: 4 };
  if (tree.kind === "sign") return { own: 3, one: 3, other: 3 };
  if (tree.sign === "^") return { own: 3, one: 4, other: 3 };
  return "*×·/÷".includes(tree.sign) ? { own: 2, one: 2, other: 3 } : { own: 1, one: 1, other: 2 };
}

/** The tree as a text, with no more parentheses than it needs where it is not wrapped. */
function print(tree: Tree, space: string, least = 1): string {
  if (tree.kind === "number") return tree.text;
  const { own, one, other } = bindingOf(tree);
  const text = tree.kind === "sign"
    ? `${tree.sign}${space}${print(tree.of, space, one)}`
    : [print(tree.one, space, one), tree.sign, print(tree.other, space, other)].join(space);
  return own < least || tree.wrapped ? `(${space}${text}${space})` : text;
}

function valueOf(tree: Tree): number {
  if (tree.kind === "number") return Number(tree.text);
  if (tree.kind === "sign") return tree.sign === "+" ? valueOf(tree.of) : -valueOf(tree.of);
  const [one, other] = [valueOf(tree.one), valueOf(tree.other)];
  if (tree.sign === "+") return one + other;
  if ("-−".includes(tree.sign)) return one - other;
  if ("*×·".includes(tree.sign)) return one * other;
  return tree.sign === "^" ? one ** other : one / other;
}

Deno.test("evaluate() agrees with direct evaluation on random expressions", () => {
  let finite = 0;
  let longest = 0;
  fc.assertAll(
    fc.property(TREES, fc.constantFrom("", " ", "\n\t "), (tree, space) => {
      const text = print(tree, space);
      fc.pre(text.length <= 1000);
      const value = valueOf(tree);
      assertEquals(evaluate(text), Number.isFinite(value) ? value : undefined, text);
      if (Number.isFinite(value)) finite++;
      longest = Math.max(longest, text.length);
    }),
    { numRuns: 2000 },
  );
  assert(finite > 1000 && longest > 200, `${finite} with a value, ${longest} characters at most`);
});

Deno.test("evaluate() gives undefined for what is no expression, or has no finite value", () => {
  const texts = [
    ...["", " ", "()", "(", ")", "1)", "(1", "1 2", "1+", "*1", "1**2", "1//2", "2(3)", "(1)(2)"],
    ...["1,5", "1 000", "1.", "1..2", "1.2.3", "1e3", "0x10", "0b1", "5!", "5%", "1_000", "½", "٣"],
    ...[
      "1/0",
      "0/0",
      "-1/0",
      "10^400",
      "(0-8)^0.5",
      "NaN",
      "Infinity",
      "undefined",
      "null",
      "true",
    ],
    ...["fetch('x')", "Deno.exit(1)", "1;2", "1=1", "x", "a+b", "sqrt(4)", "Math.PI", "${1}", "\0"],
    ...["[1]", "{}", "'1'", "1\u200b+1", "😀", "\ud83d", "1+😀", "constructor", "__proto__"],
  ];
  for (const text of texts) assertEquals(evaluate(text), undefined, JSON.stringify(text));
});

Deno.test("evaluate() takes hostile texts for none, whatever their length", () => {
  const million = 1 << 20;
  const texts = [
    ...["1", "(", ")", "-", "+", "^", "1+", "1^", "2**", "(1", "1)", " ", ".", "😀"]
      .flatMap((part) => [500, million].map((times) => part.repeat(times))),
    "(".repeat(499) + "1" + ")".repeat(499),
    "(".repeat(million) + "1" + ")".repeat(million),
    "-".repeat(999) + "1",
    "-".repeat(million) + "1",
    "1" + "+1".repeat(million),
    "1" + "^1".repeat(499),
    "1" + "^-1".repeat(300),
    "((1)^-".repeat(150) + "1" + ")".repeat(150),
    "1".repeat(400),
  ];
  for (const text of texts) {
    assertEquals(evaluate(text), undefined, `${text.slice(0, 20)}... of ${text.length}`);
  }
});

Deno.test("evaluate() reads what people nest, and sums of many numbers", () => {
  assertEquals(evaluate("(".repeat(50) + "1" + ")".repeat(50)), 1);
  assertEquals(evaluate("-".repeat(50) + "1"), 1);
  assertEquals(evaluate("1" + "+1".repeat(499)), 500);
  assertEquals(evaluate("1" + "*1".repeat(499)), 1);
});

Deno.test("evaluate() gives a finite number or undefined for any text", () => {
  const texts = fc.oneof(
    fc.string({ unit: fc.character(), maxLength: 100 }),
    fc.string({ unit: fc.constantFrom(..."0123456789+-*/^(). ×÷−·"), maxLength: 300 }),
  );
  fc.assert(
    fc.property(texts, (text) => {
      const value = evaluate(text);
      assert(value === undefined || Number.isFinite(value), `${value}`);
    }),
    { numRuns: 1000 },
  );
});
