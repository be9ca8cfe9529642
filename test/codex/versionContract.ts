import { createCodexEngine } from "../../src/engines/codex/engine.js";
import { type EngineUnderTest, engineContract } from "../contracts/engine.js";
import { type CodexStage, setCodexStage } from "../support/codexStage.js";

/** Codex takes no more characters than that in one turn. */
export const LONGEST_PROMPT = 1_048_576;

export interface CodexVersion {
  readonly version: string;
  readonly program: string;
}

interface StagedEngine extends EngineUnderTest {
  readonly stage: CodexStage;
}

/** What every engine promises, asked of a published Codex. */
export function codexEngineContract({ version, program }: CodexVersion, { timeoutMs }: { readonly timeoutMs: number }): void {
  const makeEngine = async (before?: EngineUnderTest): Promise<StagedEngine> => {
    const inherited = before && "stage" in before ? (before as StagedEngine).stage : undefined;
    const stage = inherited ?? (await setCodexStage());
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
  engineContract(`codex (${version})`, { makeEngine, timeoutMs });
}
