import { openStdio } from "../../src/mcp/over/stdio.js";

/** Uses stdio as its argument says: `noise` prints text outside the protocol and answers, `flood` sends far more than a pipe holds. */
const wire = openStdio();
for await (const frame of wire.incoming) {
  if (!("text" in frame)) continue;
  if (frame.text === "noise") makeNoise();
  if (frame.text === "flood") await flood();
  wire.send(`done: ${frame.text}`);
}
await wire.close();
process.exit(0);

function makeNoise(): void {
  console.log("a forgotten console.log");
  process.stdout.write("a dependency that prints\n");
}

async function flood(): Promise<void> {
  for (let sent = 0; sent < 4; sent++) {
    wire.send("x".repeat(1_000_000));
    const congestion = wire.congested();
    if (!congestion) continue;
    process.stderr.write("waiting for the reader\n");
    await congestion;
  }
}
