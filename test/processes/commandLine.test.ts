import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import MANIFEST from "../../package.json" with { type: "json" };
import { MAIN } from "../support/processes/mcpServer.js";
import { type Finished, runToEnd } from "../support/processes/runToEnd.js";
import { type Stage, setStage, stageEnvironment } from "../support/stage.js";

const OTHER_NODE = fileURLToPath(new URL("../programs/otherNode.cjs", import.meta.url));

/** Runs a line of shell, in which `"$@"` is the server. */
function runLine(stage: Stage, line: string): Promise<Finished> {
  const env = stageEnvironment(stage, { name: "", about: "", steps: [] }, {});
  return runToEnd(["bash", "-c", line, "bash", process.execPath, MAIN], { cwd: stage.workspace, env });
}

describe.concurrent("a command whose output is not read to the end", () => {
  it.for(["--help", "doctor --engine scripted"])("%s ends without an error", async (command) => {
    await using stage = await setStage();
    expect(await runLine(stage, `"$@" ${command} | true; exit "\${PIPESTATUS[0]}"`)).toEqual({ code: 0, stdout: "", stderr: "" });
  });

  it("fails if it could not be written", async () => {
    await using stage = await setStage();
    expect(await runLine(stage, '"$@" --help >/dev/full')).toEqual({
      code: 1,
      stdout: "",
      stderr: "Error: The output could not be written: ENOSPC: no space left on device, write\n",
    });
  });
});

describe.concurrent("in a Node that is", () => {
  const asNode = (stage: Stage, version: string) => {
    const env = { ...stageEnvironment(stage, { name: "", about: "", steps: [] }, {}), NODE_VERSION_SAID: version };
    return runToEnd([process.execPath, "--require", OTHER_NODE, MAIN, "--version"], { cwd: stage.workspace, env });
  };

  it.for(["16.20.2", "18.20.8", "20.18.3"])("too old (%s), a start fails with the version that is needed", async (version) => {
    await using stage = await setStage();
    const needed = MANIFEST.engines.node.replace(">=", "");
    expect(await asNode(stage, version)).toEqual({
      code: 1,
      stdout: "",
      stderr: `Error: This server needs Node ${needed} or later, and runs in Node ${version}. Install a newer one, or start the server with its full path.\n`,
    });
  });

  it.for(["20.19.0", "22.0.0"])("new enough (%s), it starts", async (version) => {
    await using stage = await setStage();
    expect(await asNode(stage, version)).toEqual({ code: 0, stdout: `codex-mcp-server ${MANIFEST.version}\n`, stderr: "" });
  });
});

describe.concurrent("in a folder that was deleted", () => {
  const IN_GONE_FOLDER = "mkdir gone; cd gone; rmdir ../gone;";

  it.for(["", "doctor", "serve --port 0"])("`%s` says so in one sentence", async (command) => {
    await using stage = await setStage();
    expect(await runLine(stage, `${IN_GONE_FOLDER} "$@" ${command} </dev/null`)).toEqual({
      code: 1,
      stdout: "",
      stderr:
        "Error: The folder in which this was started cannot be found (ENOENT: no such file or directory, uv_cwd). Perhaps it was deleted: start in another one.\n",
    });
  });

  it("the help is shown all the same", async () => {
    await using stage = await setStage();
    expect(await runLine(stage, `${IN_GONE_FOLDER} "$@" --help`)).toMatchObject({ code: 0, stderr: "" });
  });
});
