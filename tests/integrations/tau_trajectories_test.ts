// tau-bench's published trajectories, where TOOLGATE_TAU leads to a folder with them: lists of { task_id, reward, info, traj }.

import { assertEquals } from "@std/assert";
import { canonicalJson, type JsonObject } from "../../lib/base/json.ts";
import { says } from "../../lib/calls/values/says.ts";
import { readTrace } from "../../lib/integrations/traces.ts";
import { outsideTest, TAU } from "../support/outside_data.ts";

/** A trajectory, as far as it is looked at; without `reward_info` it was cut off, and not judged. */
interface Trajectory {
  readonly task_id: number;
  readonly reward: number;
  readonly traj: readonly JsonObject[];
  readonly info: {
    readonly task: { actions: { name: string; kwargs: JsonObject }[]; outputs: string[] };
    readonly reward_info: unknown;
  };
}

/** Tools of its domains that change nothing. */
const READS = /^(?:get|list|find|search)_|^(?:calculate|think|transfer_to_human_agents)$/;

outsideTest(
  "tau-bench's trajectories are read, and calls that are the right ones have the reward that they must have",
  TAU,
  async (path) => {
    const counts = { read: 0, right: 0, other: 0, otherWay: 0, cut: 0 };
    const wrong: string[] = [];
    for (const { name } of Deno.readDirSync(path)) {
      if (!name.endsWith(".json")) continue;
      const all: Trajectory[] = JSON.parse(Deno.readTextFileSync(`${path}/${name}`));
      for (const { task_id, reward, traj, info: { task, reward_info } } of all) {
        const { calls, texts } = await readTrace(traj);
        counts.read++;
        const made = calls.filter(({ tool, result }) =>
          !READS.test(tool) && !String(result).startsWith("Error")
        ).map((call) => [call.tool, call.arguments ?? null]);
        const right = task.actions.filter(({ name }) => !READS.test(name))
          .map(({ name, kwargs }) => [name, kwargs]);
        // Of other calls nobody can say without its database what they come to.
        const key = reward_info === null
          ? "cut"
          : canonicalJson(made) === canonicalJson(right)
          ? "right"
          : reward === 1
          ? "otherWay"
          : "other";
        counts[key]++;
        const isSaid = task.outputs.every((output) => texts.some((text) => says(text, output)));
        if (key === "right" && isSaid !== (reward === 1)) wrong.push(`${name}: task ${task_id}`);
      }
    }
    console.log(counts);
    assertEquals(wrong, []);
  },
);
