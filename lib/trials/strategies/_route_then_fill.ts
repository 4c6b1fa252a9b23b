/**
 * The strategy that selects the functions first (CallNavi, section 7.1).
 * @module
 */

import { printable } from "../../base/json.ts";
import { isLimited } from "../agent/session.ts";
import { limitText, mentionedTools, Stage, type Strategy, type Texts } from "./_stage.ts";
import { type ToolSchema, wrapEnvironment } from "../../tools/tool.ts";

/**
 * One model selects the functions (stage `route`); the same or another one is offered only those, and calls
 * them (stage `fill`). If none is selected, all are offered.
 */
export const routeThenFill: Strategy<Texts<"route_then_fill">> = async (
  options,
  next,
  { prompts },
) => {
  const { environment } = options;
  const { tools } = environment;
  const stage = new Stage(options, "route", prompts.route);
  const reply = await stage.ask();
  if (isLimited(reply)) return reply;
  const answer = limitText(reply.text);
  const picked = mentionedTools(answer, tools);
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

/** At most this many unknown names are listed. */
const MAX_UNKNOWN = 10;

/** Quoted names that no function has. */
function unknownNames(answer: string, tools: readonly ToolSchema[]): string[] {
  const names = new Set(tools.map(({ name }) => name));
  const quoted = Array.from(
    answer.matchAll(/["'`]([\w.:-]{1,100})["'`](?!\s*:)/g),
    ([, name]) => name!,
  );
  return [...new Set(quoted)].filter((name) => !names.has(name)).slice(0, MAX_UNKNOWN);
}
