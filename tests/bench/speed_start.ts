// The benchmark whose start `deno task ratios` measures: one trial of a simulated model.
import { benchmark } from "@toolgate/toolgate";

benchmark("start", { model: "sim:planner", tasks: [{ core: 3, depth: 1 }], seed: 1, graphs: 1 });
