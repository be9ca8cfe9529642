import { execFileSync } from "node:child_process";
import { describe, expect, it } from "vitest";
import { LISTED_MODELS, traitsOf } from "../../src/engines/native/model/modelTraits.js";
import { turnIdOf } from "../../src/lib/ids.js";
import { EffortNotOffered } from "../../src/threads/errors.js";
import { DEFAULT_MODEL, type ThreadSettings } from "../../src/threads/settings.js";
import { NEWEST_TRIED, publishedCodex } from "../support/codex/codexPeers.js";
import { type CodexStage, openCodexThreads, setCodexStage } from "../support/codex/codexStage.js";

const program = (await publishedCodex(NEWEST_TRIED)) ?? "";

/** The fields of an entry in Codex's catalogue that our table has too. */
interface CatalogueEntry {
  readonly slug: string;
  readonly priority: number;
  readonly visibility: string;
  readonly context_window: number;
  readonly supported_reasoning_levels: readonly { readonly effort: string }[];
  readonly default_reasoning_level: string;
  readonly support_verbosity: boolean;
  readonly default_verbosity: string;
  readonly apply_patch_tool_type: string;
  readonly truncation_policy: { readonly mode: string; readonly limit: number };
}

async function catalogue(): Promise<readonly CatalogueEntry[]> {
  await using stage = await setCodexStage();
  const printed = execFileSync(program, ["debug", "models"], { env: stage.env, encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] });
  const { models } = JSON.parse(printed) as { readonly models: readonly CatalogueEntry[] };
  return models.filter(({ visibility }) => visibility === "list").sort((a, b) => a.priority - b.priority);
}

describe.skipIf(program === "")(`the models of Codex ${NEWEST_TRIED}`, { timeout: 60_000 }, () => {
  it("are those of our table, the default first, with the same traits", async () => {
    const listed = await catalogue();
    expect([listed[0]?.slug, listed.map(({ slug }) => slug)]).toEqual([DEFAULT_MODEL, LISTED_MODELS]);
    for (const entry of listed)
      expect({ model: entry.slug, ...traitsOf({ model: entry.slug }) }).toMatchObject({
        model: entry.slug,
        contextWindow: entry.context_window,
        efforts: entry.supported_reasoning_levels.map(({ effort }) => effort),
        defaultEffort: entry.default_reasoning_level,
        verbosity: entry.support_verbosity,
        defaultVerbosity: entry.default_verbosity,
        patchTool: entry.apply_patch_tool_type,
        truncation: { unit: entry.truncation_policy.mode, limit: entry.truncation_policy.limit },
      });
  });
});

/** Runs one turn on a new thread of Codex and returns the settings it used. */
async function played(stage: CodexStage, changes: Partial<ThreadSettings>): Promise<string> {
  await using codex = openCodexThreads(stage, program);
  const turn = await codex.threads.start({ ...stage.settings, ...changes }, { text: "!say hi" }, turnIdOf("1"));
  const outcome = await turn.outcome;
  return outcome.status;
}

function asked({ model }: CodexStage): unknown {
  const body = model.requests.at(-1)?.body;
  return { model: body?.model, effort: (body?.["reasoning"] as { effort?: string } | undefined)?.effort };
}

describe.skipIf(program === "")(`an effort, with Codex ${NEWEST_TRIED}`, { timeout: 120_000 }, () => {
  it.each([
    ["gpt-6.1-sol", "max"],
    ["gpt-6.1-sol", "ultra"],
    ["gpt-6-sol", "ultra"],
    ["gpt-6-luna", "xhigh"],
  ])("of %s is sent as our table says: %s", async (model, effort) => {
    await using stage = await setCodexStage({ model });
    expect(await played(stage, { reasoningEffort: effort, stated: { model_reasoning_effort: effort } })).toBe("completed");
    const { ultraIsSentAs } = traitsOf({ model });
    expect(asked(stage)).toEqual({ model, effort: effort === "ultra" ? ultraIsSentAs : effort });
  });

  it("that the model does not have is refused before the model is asked", async () => {
    await using stage = await setCodexStage({ model: "gpt-6.1-sol" });
    const changes = { reasoningEffort: "minimal", stated: { model_reasoning_effort: "minimal" } };
    await expect(played(stage, changes)).rejects.toBeInstanceOf(EffortNotOffered);
    expect(stage.model.requests).toEqual([]);
  });

  it("of a model that Codex does not know is not checked", async () => {
    await using stage = await setCodexStage();
    await played(stage, { reasoningEffort: "colossal", stated: { model_reasoning_effort: "colossal" } });
    expect(asked(stage)).toEqual({ model: "mock-model", effort: "colossal" });
  });

  it("and `latest` is the model that Codex has as its default, whatever config.toml names", async () => {
    await using stage = await setCodexStage({ model: "gpt-5.5" });
    await played(stage, { model: "x", modelIsOurs: "latest", stated: { model: "latest" } });
    expect(asked(stage)).toMatchObject({ model: DEFAULT_MODEL });
  });
});
