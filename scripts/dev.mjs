// Builds dist/ again whenever a source changes, so that a client that starts `node dist/main.js` always gets the newest build. Ctrl-C ends it.
import { spawnSync } from "node:child_process";
import { watch } from "node:fs";

const SETTLE_MS = 100;

function rebuild() {
  const began = performance.now();
  const { status } = spawnSync(process.execPath, ["scripts/build.mjs"], { stdio: "inherit" });
  console.log(
    status === 0
      ? `built in ${Math.round(performance.now() - began)} ms; try: node dist/main.js --engine scripted`
      : "the build failed; waiting for the next change",
  );
}

let pending;
watch("src", { recursive: true }, () => {
  clearTimeout(pending);
  pending = setTimeout(rebuild, SETTLE_MS);
});
rebuild();
