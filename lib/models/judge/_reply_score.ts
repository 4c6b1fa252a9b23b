/**
 * Replies of judges: the score that one has, or why it has none, and what it cost.
 * @module
 */

import { MAX_KEPT_LENGTH } from "../../calls/trace.ts";
import { claimedCount, claimedUsage } from "../../tools/message.ts";
import type { ModelReply } from "../model.ts";
import { meanShare, type Rubric } from "./rubric.ts";
import { type JudgeScore, type ParsedScore, readScore } from "./score.ts";

/** Characters of a model's name, at most. */
const MAX_NAME_LENGTH = 200;

/** Returns the score in a reply: by the criteria of a rubric, if there is one. */
export function replyScore(reply: ModelReply, rubric: Rubric | undefined): JudgeScore {
  const { text, calls, usage, served, duration, finish } = reply;
  const read = rubric === undefined ? readScore(text) : readRatings(reply, rubric);
  const isCut = read.score === null && finish === "length";
  const written = [text, ...calls.map((call) => call.arguments)].filter((part) => part !== "");
  return {
    ...(isCut ? { score: null, why: `${read.why}: it ran out of tokens` } : read),
    text: (rubric === undefined ? text : written.join("\n")).slice(0, MAX_KEPT_LENGTH),
    usage: claimedUsage(usage),
    served: served.slice(0, MAX_NAME_LENGTH),
    durationMs: claimedCount(duration),
  };
}

function readRatings(
  reply: ModelReply,
  rubric: Rubric,
): ParsedScore & Pick<JudgeScore, "criteria"> {
  const criteria = rubric.read(reply);
  if (typeof criteria === "string") return { score: null, why: criteria };
  return { score: meanShare(criteria), criteria };
}
