import { findCodexHome } from "./config/codexHome.js";
import { enableCompileCache } from "./platform/compileCache.js";

/** As in package.json. npx only warns: with an older Node, the server starts, and its sandbox or every call fails. */
const OLDEST_NODE = { major: 20, minor: 19 };

// The first file of the program, kept as small as possible: the compile cache covers only files that are loaded after it was enabled.
if (isTooOld()) {
  const needed = `${OLDEST_NODE.major}.${OLDEST_NODE.minor}`;
  process.stderr.write(
    `Error: This server needs Node ${needed} or later, and runs in Node ${process.versions.node}. Install a newer one, or start the server with its full path.\n`,
  );
  process.exitCode = 1;
} else {
  enableCompileCache(() => findCodexHome(process.env));
  void import("./main.js").then(({ main }) => main()).then((code) => process.exit(code));
}

function isTooOld(): boolean {
  const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
  return major < OLDEST_NODE.major || (major === OLDEST_NODE.major && minor < OLDEST_NODE.minor);
}
