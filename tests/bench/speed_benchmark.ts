// The benchmark that `deno task ratios` runs under `deno test`; it says where, and how much of it.
import { benchmark } from "@toolgate/toolgate";
import { suiteOf } from "./workload.ts";

const { SPEED_URL = "", SPEED_TRIALS = "1" } = Deno.env.toObject();
const { name, models, ...options } = suiteOf(Number(SPEED_TRIALS), SPEED_URL);

benchmark(name, { ...options, model: models });
