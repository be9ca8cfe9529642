// A process that writes one thread. It reads one command per line from stdin and answers each with a line of JSON:
//   lease | append TEXT | release | flood     (flood never answers again: it writes until it is killed)
//   argv: CODEX_HOME THREAD_ID
import { writeSync } from "node:fs";
import { createInterface } from "node:readline";
import { AppError, describe } from "../../src/lib/errors.js";
import { threadIdOf } from "../../src/lib/ids.js";
import { RolloutStore } from "../../src/stores/files/threads/rolloutStore.js";
import type { WriterLease } from "../../src/threads/store.js";
import { saying, settingsIn } from "../support/threads/rollouts.js";

const [codexHome = "", id = ""] = process.argv.slice(2);
const store = new RolloutStore({ codexHome, version: "0.0.0", env: {}, warn: (line) => process.stderr.write(`${line}\n`) });
const found = await store.find(threadIdOf(id));
const record = found?.record ?? store.create({ id: threadIdOf(id), settings: settingsIn(codexHome), engine: "native" });
let lease: WriterLease | undefined;

for await (const line of createInterface({ input: process.stdin })) {
  const [command, ...words] = line.split(" ");
  try {
    answer(await obey(command, words.join(" ")));
  } catch (error) {
    answer({ error: error instanceof AppError ? error.code : "defect", message: describe(error) });
  }
}
await store.settle();

async function obey(command: string | undefined, text: string): Promise<unknown> {
  switch (command) {
    case "lease":
      lease = await record.lease();
      return { changedElsewhere: lease.changedElsewhere };
    case "append":
      lease?.append([saying(text)]);
      return {};
    case "release":
      lease?.release();
      return {};
    case "flood":
      return flood();
    default:
      throw new Error(`unknown command ${command}`);
  }
}

function flood(): never {
  const filler = "x".repeat(300_000);
  for (let number = 0; ; number++) {
    lease?.append([saying(`${number} ${filler}`)]);
    if (number === 20) answer({ written: number });
  }
}

// Synchronous, unlike process.stdout: a flood never returns to the event loop.
function answer(value: unknown): void {
  writeSync(1, `${JSON.stringify(value)}\n`);
}
