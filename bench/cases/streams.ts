import type { BenchCase } from "../benchCase.js";
import { HttpClient } from "../httpClient.js";
import { ask } from "../httpLoad.js";
import { openStream } from "../httpStream.js";
import { askProbe } from "../probe.js";

export const STREAMS = {
  each: "RSS per session with an open stream, KiB",
  allowed: "allowed per stream, KiB",
} as const;

const ALLOWED_KIB = 30;
const FEW = 50;
const MANY = FEW + 1_000;
/** Enough for the server's heap to reach its working size, which is not part of a stream's memory. */
const WARM_UP = { connections: 16, forMs: 2_000 };

/** A stream belongs to a session; the memory of both counts as the stream's. The garbage of opening them is collected first. */
export const streamsCase: BenchCase = {
  name: "streams",
  title: "A thousand open SSE streams",
  over: "http",
  async run(run) {
    await using server = await run.listen();
    await ask(await HttpClient.open(server.url), "tools/list", WARM_UP);
    const open: { destroy(): void }[] = [];
    const rssWith = async (streams: number) => {
      while (open.length < streams) open.push(await openStream(await HttpClient.open(server.url)));
      const { rss } = await askProbe(server);
      return rss / 1_024;
    };
    try {
      const few = await rssWith(FEW);
      const many = await rssWith(MANY);
      run.put(STREAMS.each, (many - few) / (MANY - FEW));
      run.put(STREAMS.allowed, ALLOWED_KIB);
    } finally {
      for (const stream of open) stream.destroy();
    }
  },
};
