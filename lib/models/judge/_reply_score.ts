/**
 * Replies of judges: the score that one has, or why it has none, and what it cost.
 * @module
 */

import { cutText } from "../../base/json.ts";
import { redactRecord } from "../../base/redact.ts";
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
    text: keptText(rubric === undefined ? text : written.join("\n")),
    usage: claimedUsage(usage),
    served: served.slice(0, MAX_NAME_LENGTH),
    durationMs: claimedCount(duration),
  };
}

/** What is kept of the text of a reply: a long one is cut without its secrets, as half a key is no longer recognized. */
function keptText(text: string): string {
  return text.length <= MAX_KEPT_LENGTH
    ? text
    : cutText(redactRecord(text.slice(0, 2 * MAX_KEPT_LENGTH)), MAX_KEPT_LENGTH);
}

function readRatings(
  reply: ModelReply,
  rubric: Rubric,
): ParsedScore & Pick<JudgeScore, "criteria"> {
  const criteria = rubric.read(reply);
  if (typeof criteria === "string") return { score: null, why: criteria };
  return { score: meanShare(criteria), criteria };
}
