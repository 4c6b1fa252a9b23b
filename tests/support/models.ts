/**
 * Models made by hand, for tests of the code that asks models.
 */

import type { Model, ModelReply, ModelRequest } from "../../lib/models/model.ts";

/** A model that remembers what it was asked. */
export interface Parrot extends Model {
  readonly requests: ModelRequest[];
}

/** A model of which every part of the reply can be set; the last reply is repeated. */
export function parrot(replies: readonly Partial<ModelReply>[], name = "parrot"): Parrot {
  const requests: ModelRequest[] = [];
  return {
    name,
    simulated: true,
    requests,
    reply(request) {
      requests.push(request);
      const reply = replies[Math.min(requests.length, replies.length) - 1]!;
      return Promise.resolve({
        text: "",
        calls: [],
        finish: reply.calls === undefined ? "stop" : "calls",
        usage: { inputTokens: 0, outputTokens: 0 },
        served: `${name}-1`,
        duration: 0,
        repairs: [],
        ...reply,
      });
    },
  };
}
