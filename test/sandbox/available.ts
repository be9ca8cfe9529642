import { WritablePlaces } from "../../src/exec/outside/outsidePrograms.js";
import { openSandbox } from "../../src/exec/sandbox/backend.js";

/** The sandbox of this machine. Without one, tests that need it are shown as skipped; REQUIRE_SANDBOX=1 makes that a failure. */
export const sandbox = await openSandbox({ env: process.env, writable: new WritablePlaces([]) });

export const isMissing = sandbox.backend === "none";

if (isMissing && process.env["REQUIRE_SANDBOX"] === "1") throw new Error(`REQUIRE_SANDBOX=1, but ${sandbox.detail}`);
if (isMissing) console.warn(`Tests of the sandbox are skipped: ${sandbox.detail}`);
