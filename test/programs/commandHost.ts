// A server that only runs one command, so that a test can kill it meanwhile. Passes on the command's output.
//   commandHost.mjs SURROUNDINGS WORKSPACE SCRIPT
import { runCommand } from "../../src/exec/run.js";
import { oneOf } from "../../src/lib/fields.js";
import { HOST_SURROUNDINGS, launcherFor } from "../sandbox/surroundings.js";

const [surroundings, workspace = "", script = ""] = process.argv.slice(2);
const launch = await launcherFor(oneOf(HOST_SURROUNDINGS, surroundings) ?? "a sandbox");
await runCommand(launch({ argv: ["bash", "-c", script], cwd: workspace, env: { PATH: process.env["PATH"] ?? "" } }), {
  onOutput: (_, bytes) => process.stdout.write(bytes),
}).result;
