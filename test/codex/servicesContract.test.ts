import { appendFileSync } from "node:fs";
import path from "node:path";
import { createCodexEngine } from "../../src/engines/codex/engine.js";
import { type ServicesUnderTest, servicesContract } from "../contracts/engineServices.js";
import { type WorkUnderTest, workContract } from "../contracts/work.js";
import { publishedCodex } from "../support/codexPeers.js";
import { openCodexThreads, setCodexStage } from "../support/codexStage.js";

const program = await publishedCodex("0.166.0");
const timeoutMs = 120_000;

if (program !== undefined) {
  workContract("codex (0.166.0)", { makeEngine: () => codexWork(program), timeoutMs });
  servicesContract("codex (0.166.0)", { openEngine: () => codexServices(program), timeoutMs });
}

async function codexWork(codexBin: string): Promise<WorkUnderTest> {
  const stage = await setCodexStage();
  const { env, workspace, settings, model } = stage;
  const engine = createCodexEngine({ codexBin, env, cwd: workspace, report: () => {} });
  return {
    engine,
    model,
    settings,
    async [Symbol.asyncDispose]() {
      await engine.close?.();
      await stage[Symbol.asyncDispose]();
    },
  };
}

async function codexServices(codexBin: string): Promise<ServicesUnderTest> {
  const stage = await setCodexStage();
  const secret = "a-header-nobody-may-see";
  // Continues the table of the provider. Codex tells of a login only when its provider wants one.
  appendFileSync(path.join(stage.codexHome, "config.toml"), `requires_openai_auth = true\nhttp_headers = { x-extra = "${secret}" }\n`);
  const codex = openCodexThreads(stage, codexBin);
  const { workspace, settings } = stage;
  return {
    engine: codex.engine,
    threads: codex.threads,
    settings,
    workspace,
    secret,
    async [Symbol.asyncDispose]() {
      await codex[Symbol.asyncDispose]();
      await stage[Symbol.asyncDispose]();
    },
  };
}
