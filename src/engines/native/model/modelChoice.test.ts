import { describe, expect, it, onTestFinished } from "vitest";
import { startLoopback } from "../../../../test/support/http/loopback.js";
import { settingsIn } from "../../../../test/support/threads/rollouts.js";
import type { ThreadSettings } from "../../../threads/settings.js";
import { ModelFailure } from "./client.js";
import { ModelChoice } from "./modelChoice.js";

const unending = new AbortController().signal;
const failure = new ModelFailure("404: no such model", { retry: "never", missesModel: true });

/** A provider that lists these models, or answers with this status. */
async function stageWith(listed: readonly string[] | number, changes: Partial<ThreadSettings> = {}) {
  const server = await startLoopback((_, response) => {
    if (typeof listed === "number") return void response.writeHead(listed).end();
    response.end(JSON.stringify({ data: listed.map((id) => ({ id })) }));
  });
  const choice = new ModelChoice({ env: {}, codexHome: "/nowhere", userAgent: "test/1" });
  onTestFinished(async () => {
    await choice[Symbol.asyncDispose]();
    await server[Symbol.asyncDispose]();
  });
  const provider = { ...settingsIn("/").provider, id: "mine", baseUrl: `${server.origin}/v1` };
  const settings = settingsIn("/", { provider, ...changes });
  const refused = (mayReplace = settings.modelIsOurs !== undefined) => choice.afterRefusal({ failure, settings, mayReplace }, unending);
  return { choice, settings, refused };
}

const OURS = { model: "gpt-6.1-sol", modelIsOurs: "default" } as const;

describe("a model that the provider refuses", () => {
  it("and that was not named is replaced by the newest general one of its list, with a notice", async () => {
    const { refused } = await stageWith(["gpt-5-mini", "gpt-5.5", "text-embedding-3"], OURS);
    const { settings, notice } = await refused();
    expect(settings.model).toBe("gpt-5.5");
    expect(notice).toBe("Model `gpt-5.5` was used: provider `mine` does not offer `gpt-6.1-sol`. Name a model to choose another.");
  });

  it("is requested again under the provider's name for it", async () => {
    const { refused } = await stageWith(["openai/gpt-6.1-sol", "openai/gpt-6.2-sol"], OURS);
    expect((await refused()).settings.model).toBe("openai/gpt-6.1-sol");
  });

  it("keeps an effort that the other model offers, and says so", async () => {
    const { refused } = await stageWith(["gpt-5.5"], { ...OURS, reasoningEffort: "max" });
    const { settings, notice } = await refused();
    expect(settings.reasoningEffort).toBe("xhigh");
    expect(notice).toContain("Model `gpt-5.5` was used, with the effort `xhigh`:");
  });

  it("and that was named is an error that says what to use", async () => {
    const { refused } = await stageWith(["gpt-6-sol", "gpt-6.1-sol", "gpt-5.5"], { model: "gpt-5.2-codex" });
    await expect(refused()).rejects.toMatchObject({
      message: "404: no such model",
      retry: "never",
      advice:
        "Provider `mine` does not offer the model `gpt-5.2-codex`: use `gpt-6.1-sol` instead (`model` in the call or in config.toml). It also offers gpt-6-sol, gpt-5.5.",
    });
  });

  it("is requested once more if the list has it", async () => {
    const { refused, settings } = await stageWith(["gpt-6-sol"], { model: "gpt-6-sol" });
    expect(await refused()).toEqual({ settings });
  });

  it("stays the provider's own failure when its list cannot be read or is not whole", async () => {
    const unread = await stageWith(404, { model: "somebody-s" });
    await expect(unread.refused()).rejects.toBe(failure);
    const cut = await stageWith(["a", ""], { model: "somebody-s" });
    await expect(cut.refused()).rejects.toBe(failure);
  });

  it("and is known to be retired is replaced, even without a list", async () => {
    const { refused } = await stageWith(404, { model: "gpt-5.2-codex" });
    await expect(refused()).rejects.toMatchObject({
      advice: expect.stringMatching(/`gpt-5\.2-codex` was shut down on 2026-07-23.*use `gpt-6\.1-sol`/),
    });
  });

  it("and that was not named has to be named if there is no list", async () => {
    const { refused } = await stageWith(404, OURS);
    await expect(refused()).rejects.toMatchObject({
      advice: expect.stringMatching(
        /^No model was named, so `gpt-6\.1-sol` was requested.*returned status 404\)\. Name one that it offers/,
      ),
    });
  });

  it("is not replaced by a model for another purpose", async () => {
    const { refused } = await stageWith(["text-embedding-3"], OURS);
    await expect(refused()).rejects.toMatchObject({
      advice:
        "Provider `mine` lists no model that could take the place of `gpt-6.1-sol`. Name one that it has: `model` in the call or in config.toml.",
    });
  });
});

describe("a thread that opens", () => {
  it("makes no request: the named model is used", async () => {
    const { choice, settings } = await stageWith(["gpt-5.5"], OURS);
    expect(choice.forOpening(settings)).toEqual({ settings });
    expect(choice.lists.known(settings.provider)).toBeUndefined();
  });

  it("uses what an earlier list offers if no model was named", async () => {
    const { choice, settings } = await stageWith(["gpt-5.5"], OURS);
    await choice.lists.read(settings.provider, unending);
    expect(choice.forOpening(settings)).toMatchObject({
      settings: { model: "gpt-5.5" },
      notice: expect.stringContaining("`gpt-5.5` was used"),
    });
    const named = { ...settings, model: "gpt-6-sol", modelIsOurs: undefined };
    expect(choice.forOpening(named)).toEqual({ settings: named });
  });

  it("with `latest` uses the newest that a list offers, reads it for the next one, and says nothing", async () => {
    const { choice, settings } = await stageWith(["gpt-6.1-sol", "gpt-6.2-sol"], { ...OURS, modelIsOurs: "latest" });
    expect(choice.forOpening(settings)).toEqual({ settings });
    await choice.lists.read(settings.provider, unending);
    expect(choice.forOpening(settings)).toEqual({ settings: { ...settings, model: "gpt-6.2-sol" } });
  });
});
