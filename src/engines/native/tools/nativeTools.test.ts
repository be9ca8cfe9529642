import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { conversationWith, drain } from "../../../../test/support/clients/conversations.js";
import { openToolStage, type ToolStage } from "../../../../test/support/memory/toolStage.js";
import { call, calls, PlannedModel, says } from "../../../../test/support/model/modelDouble.js";
import { turnContext } from "../../../../test/support/threads/turns.js";
import type { ThreadEvent } from "../../../threads/events.js";
import { message } from "../model/items.js";
import { runTurn } from "../turn.js";

/** The events and the model's result of a call with these arguments. */
async function update(args: string): Promise<{ shown: ThreadEvent[]; output: unknown }> {
  const model = new PlannedModel(calls(call("update_plan", args)), says("ok"));
  const { events } = await drain(runTurn(conversationWith(model), { text: "go" }, turnContext()));
  return { shown: events.filter(({ type }) => type === "planUpdated"), output: model.requests[1]?.input.at(-1)?.["output"] };
}

describe("update_plan", () => {
  it("shows the plan", async () => {
    const plan = [
      { step: "look", status: "completed" },
      { step: "act", status: "in_progress" },
      { step: "rest", status: "pending" },
    ];
    expect(await update(JSON.stringify({ explanation: "why not", plan }))).toEqual({
      shown: [{ type: "planUpdated", explanation: "why not", plan }],
      output: "Plan updated",
    });
  });

  it.each([{ plan: [] }, { plan: [], explanation: null }])("needs no explanation: %j", async (args) => {
    expect(await update(JSON.stringify(args))).toEqual({
      shown: [{ type: "planUpdated", explanation: null, plan: [] }],
      output: "Plan updated",
    });
  });

  it.each([
    ["", /^failed to parse function arguments: EOF while parsing a value at line 1 column 0$/],
    ["{", /^failed to parse function arguments: /],
    ["[]", /^failed to parse function arguments: /],
    ["{}", /: missing field `plan` at line 1 column 2$/],
    ['{"plan":[{"step":"a","status":"someday"}]}', /: unknown variant `someday`, expected one of .* at line 1 column 39$/],
    ['{"plan":[{"status":"pending"}]}', /: missing field `step` at line 1 column 29$/],
  ])("answers broken arguments, and shows nothing: %s", async (args, output) => {
    expect(await update(args)).toEqual({ shown: [], output: expect.stringMatching(output) });
  });
});

it.each(["shell", "shell_command", "local_shell", "container.exec", "exec_command"])(
  "without a shell, %s is no tool, though models call it",
  async (name) => {
    await using stage = await openToolStage({ settings: { features: { shell_tool: false } } });
    const { output } = await stage.use(name, { command: ["touch", "made.txt"], cmd: "touch made.txt" });
    expect([output, existsSync(stage.path("made.txt"))]).toEqual([`unsupported call: ${name}`, false]);
  },
);

/** One transparent pixel. */
const PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==";

function lastItem(stage: ToolStage): unknown {
  return stage.model.requests.at(-1)?.input.at(-1);
}

it("an image is attached to the model's next input, whatever its name", async () => {
  await using stage = await openToolStage();
  writeFileSync(stage.path("image.dat"), Buffer.from(PNG, "base64"));
  const turn = await stage.use("view_image", { path: "image.dat" });
  expect(turn.output).toBe("attached local image path");
  expect(turn.events).toContainEqual({ type: "imageViewed", callId: "call_1", path: stage.path("image.dat") });
  const image_url = `data:image/png;base64,${PNG}`;
  expect(lastItem(stage)).toEqual({ type: "message", role: "user", content: [{ type: "input_image", image_url }] });
});

it("a file that only claims to be an image is not attached, and the model learns why", async () => {
  await using stage = await openToolStage();
  writeFileSync(stage.path("fake.png"), "hello");
  await stage.use("view_image", { path: "fake.png" });
  const why = `Codex cannot attach image at \`${stage.path("fake.png")}\`: unsupported image format \`image/png\`.`;
  expect(lastItem(stage)).toEqual(message("user", why));
});

it("a PNG that was cut is not attached", async () => {
  await using stage = await openToolStage();
  writeFileSync(stage.path("cut.png"), Buffer.from(PNG, "base64").subarray(0, -1));
  await stage.use("view_image", { path: "cut.png" });
  expect(lastItem(stage)).toEqual(message("user", expect.stringContaining("unsupported image format `image/png`")));
});

it("a GIF is attached, except as recorded, with the path as the model wrote it", async () => {
  for (const asRecorded of [false, true]) {
    await using stage = await openToolStage({ settings: { asRecorded } });
    writeFileSync(stage.path("moving.gif"), "GIF89a");
    const { events } = await stage.use("view_image", { path: "./moving.gif" });
    const shown = stage.path("moving.gif").replace("moving", asRecorded ? "./moving" : "moving");
    expect(events).toContainEqual({ type: "imageViewed", callId: "call_1", path: shown });
    const why = `Codex cannot attach image at \`${shown}\`: unsupported image format \`image/gif\`.`;
    const attached = { type: "input_image", image_url: "data:image/gif;base64,R0lGODlh" };
    expect(lastItem(stage)).toMatchObject(asRecorded ? message("user", why) : { content: [attached] });
  }
});

it("a file that is too large is not read", async () => {
  await using stage = await openToolStage();
  writeFileSync(stage.path("big.png"), Buffer.from(PNG, "base64"));
  truncateSync(stage.path("big.png"), 30 * 1024 * 1024);
  await stage.use("view_image", { path: "big.png" });
  expect(lastItem(stage)).toEqual(message("user", expect.stringContaining("it is larger than 20 MiB")));
});

it("a path without a file is reported to the model", async () => {
  await using stage = await openToolStage();
  mkdirSync(stage.path("folder"));
  const told = async (name: string) => (await stage.use("view_image", { path: name })).output;
  expect([await told("gone.png"), await told("folder")]).toEqual([
    `unable to locate image at \`${stage.path("gone.png")}\`: No such file or directory (os error 2)`,
    `image path \`${stage.path("folder")}\` is not a file`,
  ]);
});

it("an image that is hidden from commands is not shown, and its kind is not revealed", async () => {
  await using stage = await openToolStage({ secretFiles: ["secret.png"] });
  const hidden = path.join(stage.stage.codexHome, "log");
  mkdirSync(hidden);
  for (const file of [stage.path("secret.png"), path.join(hidden, "image.png")]) writeFileSync(file, Buffer.from(PNG, "base64"));
  symlinkSync("secret.png", stage.path("link"));
  symlinkSync(hidden, stage.path("folder"));
  for (const name of ["secret.png", "link", "folder/image.png", "folder/missing.png"]) {
    const turn = await stage.use("view_image", { path: name });
    expect(turn.output).toBe(
      `unable to locate image at \`${stage.path(name)}\`: it is kept from this thread and from its commands. Go on without it.`,
    );
    expect(JSON.stringify([turn.events, stage.model.requests])).not.toContain(PNG);
  }
});

it.runIf(process.platform === "linux")("endless files, pipes and devices are refused at once", async () => {
  await using stage = await openToolStage({ sandbox: "danger-full-access" });
  symlinkSync("/proc/self/pagemap", stage.path("endless.png"));
  symlinkSync("/dev/zero", stage.path("zero.png"));
  execFileSync("mkfifo", [stage.path("pipe.png")]);
  const told = async (name: string) => (await stage.use("view_image", { path: name })).output;
  expect([await told("endless.png"), await told("zero.png"), await told("pipe.png")]).toEqual([
    expect.stringContaining("it lies in /proc, /sys or /dev"),
    expect.stringContaining("it lies in /proc, /sys or /dev"),
    `image path \`${stage.path("pipe.png")}\` is not a file`,
  ]);
});
