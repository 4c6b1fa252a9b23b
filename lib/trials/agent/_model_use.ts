/**
 * Model use: the tokens of a trial's replies and the names that servers gave, of its own model and of others.
 * @module
 */

import type { StageUse } from "../../models/model.ts";
import { sumUsage, type Usage } from "../../tools/message.ts";

/** At most this many characters of a model's name are recorded. */
export const MAX_NAME_LENGTH = 200;

/** The use of another model than the trial's. */
interface OtherUse {
  readonly stage: string;
  readonly name: string;
  readonly simulated: boolean;
  readonly served: Set<string>;
  usage: Usage;
}

/** What a reply adds. */
interface Added {
  readonly usage: Usage;
  /** The name that the server gave; empty without one. */
  readonly served: string;
  readonly stage: string | undefined;
  /** The model's name, if it is not the trial's own. */
  readonly name: string | undefined;
  /** Whether that model is simulated; default: as its name says. */
  readonly simulated: boolean | undefined;
}

/** The use of models in one trial. */
export class ModelUse {
  readonly #served = new Set<string>();
  readonly #others = new Map<string, OtherUse>();
  #usage = sumUsage([]);

  /** Tokens of all replies, including those of other models. */
  get usage(): Usage {
    return this.#usage;
  }

  /** The names that the trial's own model gave. */
  get served(): readonly string[] {
    return [...this.#served];
  }

  /** The use of other models, by stage. */
  get stages(): readonly StageUse[] {
    return [...this.#others.values()].map(({ stage, name, simulated, served, usage }) => ({
      stage,
      model: { requested: name, served: [...served], simulated },
      usage,
    }));
  }

  /** Adds a reply. */
  add({ usage, served, stage, name, simulated }: Added): void {
    this.#usage = sumUsage([this.#usage, usage]);
    const other = name === undefined
      ? undefined
      : this.#others.getOrInsertComputed(stage ?? `agent ${name}`, (): OtherUse => ({
        ...{ stage: stage ?? "agent", name, served: new Set() },
        simulated: simulated ?? name.startsWith("sim:"),
        usage: sumUsage([]),
      }));
    if (other !== undefined) other.usage = sumUsage([other.usage, usage]);
    if (served !== "") (other?.served ?? this.#served).add(served.slice(0, MAX_NAME_LENGTH));
  }
}
