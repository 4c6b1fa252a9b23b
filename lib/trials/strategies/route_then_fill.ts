/**
 * The strategy that picks the functions first (CallNavi, section 7.1).
 * @module
 */

import { printable } from "../../base/json.ts";
import { isLimited } from "../agent/session.ts";
import { mentioned, passedOn, Stage, type Strategy, type Texts } from "./stage.ts";
import { type ToolSchema, wrapEnvironment } from "../../tools/tool.ts";

/**
 * One model picks the functions (stage `route`), another or the same one is offered just those and calls
 * them (stage `fill`). Where none is picked, all are offered.
 */
export const routeThenFill: Strategy<Texts<"route_then_fill">> = async (
  options,
  next,
  { prompts },
) => {
  const { environment } = options;
  const { tools } = environment;
  const stage = new Stage(options, "route", prompts.route);
  const said = await stage.ask();
  if (isLimited(said)) return said;
  const answer = passedOn(said.text);
  const picked = mentioned(answer, tools);
  const unknown = unknownNames(answer, tools);
  stage.end(
    [
      picked.length === 0
        ? `no function was picked: all ${tools.length} are offered`
        : `${picked.length} of ${tools.length} functions are offered`,
      ...(unknown.length === 0 ? [] : [
        `there are none of the names ${unknown.map((name) => printable(name, 60)).join(", ")}`,
      ]),
    ].join("; "),
    picked.length > 0,
  );
  return await next({
    ...options,
    stage: "fill",
    environment: picked.length === 0
      ? environment
      : wrapEnvironment(environment, { tools: picked }),
  });
};

/** So many names that do not exist are told. */
const MOST_UNKNOWN = 10;

/** Names in quotes that no function has. */
function unknownNames(answer: string, tools: readonly ToolSchema[]): string[] {
  const names = new Set(tools.map(({ name }) => name));
  const quoted = Array.from(
    answer.matchAll(/["'`]([\w.:-]{1,100})["'`](?!\s*:)/g),
    ([, name]) => name!,
  );
  return [...new Set(quoted)].filter((name) => !names.has(name)).slice(0, MOST_UNKNOWN);
}
