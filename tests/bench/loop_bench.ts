import { Connections } from "../../lib/models/connect.ts";
import { scripted } from "../../lib/models/scripted.ts";
import { generateTask } from "../../lib/tasks/graphs/task.ts";
import { runTrial } from "../../lib/trials/run_trial.ts";

const SPEC = { core: 10, depth: 4, connected: 10, disconnected: 10, seed: 7 };
const task = generateTask(SPEC);
const core = task.functions.filter(({ role }) => role === "core");

// One right call a reply, in an order that works, and then the answer: what the loop costs alone.
const order: typeof core = [];
while (order.length < core.length) {
  order.push(
    ...core.filter((made) =>
      !order.includes(made) &&
      made.dependsOn.every((name) => order.some((earlier) => earlier.name === name))
    ),
  );
}
const script = [
  ...order.map(({ name, parameters }) => ({
    calls: [{
      name,
      arguments: Object.fromEntries(
        parameters.map((parameter) => [parameter.name, task.values.get(parameter.variable)!]),
      ),
    }],
  })),
  { text: `${task.target.variable} = ${task.target.value}` },
];

Deno.bench("generateTask() alone", { group: "trial of 10 calls" }, () => {
  generateTask(SPEC);
});

Deno.bench(
  "runTrial(), scripted model",
  { group: "trial of 10 calls", baseline: true },
  async () => {
    const trial = await runTrial(SPEC, scripted("script", script));
    if (!trial.solved) throw new Error(trial.outcome);
  },
);

Deno.bench("runTrial(), sim:planner over HTTP", { group: "trial of 10 calls" }, async (context) => {
  const connections = new Connections();
  const model = connections.model({ model: "sim:planner" });
  context.start();
  for (let round = 0; round < 10; round++) await runTrial(SPEC, model);
  context.end();
});
