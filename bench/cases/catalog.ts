import type { BenchCase } from "../benchCase.js";
import { burstCase } from "./burst.js";
import { commandCase } from "./command.js";
import { deltasCase } from "./deltas.js";
import { growthCase, longCase } from "./growth.js";
import { memoryCase } from "./memory.js";
import { promptCase } from "./prompt.js";
import { startCase } from "./start.js";
import { turnsCase } from "./turns.js";

/** In the order they run and are reported. */
export const CASES: readonly BenchCase[] = [
  startCase,
  turnsCase,
  commandCase,
  deltasCase,
  burstCase,
  memoryCase,
  growthCase,
  longCase,
  promptCase,
];
