import { generateTask } from "../../lib/tasks/graphs/task.ts";
import { yardstick } from "./yardstick.ts";

const SIZES = { core: 40, depth: 10, connected: 40, disconnected: 40 };
let seed = 0;

Deno.bench("yardstick: the same amount of text and objects", { group: "one task" }, () => {
  yardstick(120, 249, ++seed);
});

Deno.bench("generateTask(), 120 functions", { group: "one task", baseline: true }, () => {
  generateTask({ ...SIZES, seed: ++seed });
});

for (const functions of [125, 250, 500, 1000]) {
  const [core, connected] = [functions / 5, 2 * functions / 5];
  Deno.bench(`generateTask(), ${functions} functions`, { group: "growth" }, () => {
    generateTask({ core, depth: 10, connected, disconnected: connected, seed: ++seed });
  });
}
