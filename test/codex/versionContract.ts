import { appendFileSync } from "node:fs";
import path from "node:path";
import { createCodexEngine } from "../../src/engines/codex/engine.js";
import { type EngineUnderTest, engineContract } from "../contracts/engine.js";
import { type ServicesUnderTest, servicesContract } from "../contracts/engineServices.js";
import { type WorkUnderTest, workContract } from "../contracts/work.js";
import { type CodexStage, openCodexThreads, setCodexStage } from "../support/codex/codexStage.js";

/** The most characters that Codex accepts in one turn. */
export const LONGEST_PROMPT = 1_048_576;

export interface CodexUnderTest {
  readonly version: string;
  readonly program: string;
  /** Undefined: Codex chooses. */
  readonly model: string | undefined;
}

interface Patience {
  readonly timeoutMs: number;
}

interface StagedEngine extends EngineUnderTest {
  readonly stage: CodexStage;
}

/** The contract of every engine, for a published Codex. */
export function codexEngineContract(codex: CodexUnderTest, { timeoutMs }: Patience): void {
  const { program, model } = codex;
  const makeEngine = async (before?: EngineUnderTest): Promise<StagedEngine> => {
    const inherited = before && "stage" in before ? (before as StagedEngine).stage : undefined;
    const stage = inherited ?? (await setCodexStage({ model }));
    const { env, workspace, settings } = stage;
    const engine = createCodexEngine({ codexBin: program, env, cwd: workspace, report: () => {} });
    return {
      stage,
      engine,
      settings,
      longestPrompt: LONGEST_PROMPT,
      async [Symbol.asyncDispose]() {
        await engine.close?.();
        if (!inherited) await stage[Symbol.asyncDispose]();
      },
    };
  };
  engineContract(nameOf(codex), { makeEngine, timeoutMs });
}

/** The contract of every engine for summaries, reviews and steering. */
export function codexWorkContract(codex: CodexUnderTest, { timeoutMs }: Patience): void {
  const makeEngine = async (): Promise<WorkUnderTest> => {
    const stage = await setCodexStage({ model: codex.model });
    const { env, workspace, settings, model } = stage;
    const engine = createCodexEngine({ codexBin: codex.program, env, cwd: workspace, report: () => {} });
    return {
      engine,
      model,
      settings,
      async [Symbol.asyncDispose]() {
        await engine.close?.();
        await stage[Symbol.asyncDispose]();
      },
    };
  };
  workContract(nameOf(codex), { makeEngine, timeoutMs });
}

/** The contract of every engine for models, logins, settings, single commands and stored threads. */
export function codexServicesContract(codex: CodexUnderTest, { timeoutMs }: Patience): void {
  const openEngine = async (): Promise<ServicesUnderTest> => {
    const stage = await setCodexStage({ model: codex.model });
    const secret = "a-header-nobody-may-see";
    // Continues the provider's table. Codex reports a login only if its provider needs one.
    appendFileSync(path.join(stage.codexHome, "config.toml"), `requires_openai_auth = true\nhttp_headers = { x-extra = "${secret}" }\n`);
    const opened = openCodexThreads(stage, codex.program);
    const { workspace, settings } = stage;
    return {
      engine: opened.engine,
      threads: opened.threads,
      settings,
      workspace,
      secret,
      async [Symbol.asyncDispose]() {
        await opened[Symbol.asyncDispose]();
        await stage[Symbol.asyncDispose]();
      },
    };
  };
  servicesContract(nameOf(codex), { openEngine, timeoutMs });
}

function nameOf({ version, model }: CodexUnderTest): string {
  return `codex (${version}, ${model ?? "its default model"})`;
}
