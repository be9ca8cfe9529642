import { describe, expect, it } from "vitest";
import { settingsIn } from "../../../../test/support/threads/rollouts.js";
import { EffortNotOffered } from "../../../threads/errors.js";
import type { ThreadSettings } from "../../../threads/settings.js";
import type { RunningCodex } from "../appServer/supervisor.js";
import { settledModel } from "./models.js";

const efforts = (...words: readonly string[]) => words.map((reasoningEffort) => ({ reasoningEffort }));
const LIST = {
  data: [
    { model: "gpt-6-luna", supportedReasoningEfforts: efforts("low", "max") },
    { model: "gpt-6.1-sol", isDefault: true, supportedReasoningEfforts: efforts("low", "max", "ultra") },
    { model: "quiet", supportedReasoningEfforts: [] },
  ],
};

function settled(changes: Partial<ThreadSettings>, answer: () => Promise<unknown> = async () => LIST) {
  const asked: string[] = [];
  const request = (method: string) => {
    asked.push(method);
    return answer();
  };
  const codex = { server: { request } } as unknown as Pick<RunningCodex, "server">;
  return { asked, settings: settledModel(codex, settingsIn("/", changes)) };
}

describe("the model and the effort of a new thread of Codex", () => {
  it("are requested only if there is something to check", async () => {
    const { asked, settings } = settled({ model: "gpt-6-luna" });
    expect([(await settings).model, asked]).toEqual(["gpt-6-luna", []]);
  });

  it.each([
    ["gpt-6-luna", "max"],
    ["quiet", "max"],
    ["of-another-provider", "colossal"],
  ])("are unchanged if Codex has them or does not list models: %s, %s", async (model, reasoningEffort) => {
    expect(await settled({ model, reasoningEffort }).settings).toMatchObject({ model, reasoningEffort });
  });

  it("are refused where Codex knows that the model has no such effort", async () => {
    await expect(settled({ model: "gpt-6-luna", reasoningEffort: "ultra" }).settings).rejects.toThrow(
      new EffortNotOffered("ultra", { model: "gpt-6-luna", offered: ["low", "max"] }),
    );
    await expect(settled({ modelIsOurs: "default", model: "x", reasoningEffort: "minimal" }).settings).rejects.toThrow(
      "Model `gpt-6.1-sol` does not offer the effort `minimal`",
    );
  });

  it("with `latest` are those that Codex would choose", async () => {
    expect((await settled({ modelIsOurs: "latest", model: "x" }).settings).model).toBe("gpt-6.1-sol");
  });

  it("are left to Codex if it does not list its models", async () => {
    const refusing = () => Promise.reject(new Error("no such method"));
    expect(await settled({ model: "m", reasoningEffort: "minimal" }, refusing).settings).toMatchObject({ model: "m" });
  });
});
