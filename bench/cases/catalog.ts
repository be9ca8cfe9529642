import type { BenchCase } from "../benchCase.js";
import { apiCase } from "./api.js";
import { burstCase } from "./burst.js";
import { commandCase } from "./command.js";
import { deltasCase } from "./deltas.js";
import { erasCase } from "./eras.js";
import { growthCase, longCase } from "./growth.js";
import { httpCase } from "./http.js";
import { layerCase } from "./layer.js";
import { listingCase } from "./listing.js";
import { memoryCase } from "./memory.js";
import { promptCase } from "./prompt.js";
import { sessionsCase } from "./sessions.js";
import { startCase } from "./start.js";
import { streamsCase } from "./streams.js";
import { turnsCase } from "./turns.js";

/** In the order of runs and of the report. */
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
  layerCase,
  listingCase,
  httpCase,
  erasCase,
  streamsCase,
  sessionsCase,
  apiCase,
];
