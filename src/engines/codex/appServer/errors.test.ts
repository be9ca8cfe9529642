import { describe, expect, it } from "vitest";
import { RpcError } from "../../../jsonrpc/errors.js";
import { newThreadId } from "../../../lib/ids.js";
import { ThreadBusyElsewhere, ThreadNotFound } from "../../../threads/errors.js";
import { AppServerGone, CodexRefused, codexRefusal, threadRefusal } from "./errors.js";

function refused(message: string): RpcError {
  return new RpcError(-32600, message);
}

describe("a refusal by Codex", () => {
  const id = newThreadId();

  it.each([
    [`no rollout found for thread id ${id}`, new ThreadNotFound(id)],
    [`no archived rollout found for thread id ${id}`, new ThreadNotFound(id)],
    [`thread not found: ${id}`, new ThreadNotFound(id)],
    [`thread ${id} already has an active writer`, new ThreadBusyElsewhere(id, "a Codex")],
    [`session ${id} is archived. Run it first.`, new CodexRefused(`Thread ${id} is archived. Unarchive it first.`)],
    ["something else", new CodexRefused(`Codex did not fork thread ${id}: something else`)],
  ])("of a thread is recognised by its words: %s", (message, told) => {
    expect(threadRefusal(refused(message), id, "fork")).toEqual(told);
  });

  it("says what to do about it", () => {
    expect(codexRefusal(refused("unknown variant `x`"), "list its models")).toEqual(
      new CodexRefused("This Codex cannot list its models. Update it (npm install -g @openai/codex)."),
    );
    expect(codexRefusal(refused("no network."), "get a code", "Try later.")).toEqual(
      new CodexRefused("Codex did not get a code: no network. Try later."),
    );
  });

  it.each([
    "failed to load configuration: /home/u/.codex/config.toml:1:19: unknown variant `x`",
    "invalid configuration: unknown variant `x`\n",
  ])("of a value in config.toml is not taken for that of a method: %s", (message) => {
    expect(codexRefusal(refused(message), "start a thread")).toEqual(
      new CodexRefused(`Codex did not start a thread: ${message.trimEnd()}. Correct that, or use --engine native.`),
    );
  });

  it("is distinguished from other failures", () => {
    const gone = new AppServerGone("gone");
    expect([codexRefusal(gone, "x"), threadRefusal(gone, id, "x")]).toEqual([gone, gone]);
  });
});
