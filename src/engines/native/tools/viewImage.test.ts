import { mkdirSync, truncateSync, writeFileSync } from "node:fs";
import { expect, it } from "vitest";
import { openToolStage, type ToolStage } from "../../../../test/support/toolStage.js";
import { message } from "../history.js";

/** One transparent pixel. */
const PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==";

function lastItem(stage: ToolStage): unknown {
  return stage.model.requests.at(-1)?.input.at(-1);
}

it("a picture is attached to what the model reads next, whatever its name", async () => {
  await using stage = await openToolStage();
  writeFileSync(stage.path("picture.dat"), Buffer.from(PNG, "base64"));
  const turn = await stage.use("view_image", { path: "picture.dat" });
  expect(turn.output).toBe("attached local image path");
  expect(turn.events).toContainEqual({ type: "imageViewed", callId: "call_1", path: stage.path("picture.dat") });
  const image_url = `data:image/png;base64,${PNG}`;
  expect(lastItem(stage)).toEqual({ type: "message", role: "user", content: [{ type: "input_image", image_url }] });
});

it("a file that only claims to be a picture is not attached, and the model learns why", async () => {
  await using stage = await openToolStage();
  writeFileSync(stage.path("fake.png"), "hello");
  await stage.use("view_image", { path: "fake.png" });
  const why = `Codex cannot attach image at \`${stage.path("fake.png")}\`: unsupported image format \`image/png\`.`;
  expect(lastItem(stage)).toEqual(message("user", why));
});

it("a file that is too large is not read", async () => {
  await using stage = await openToolStage();
  writeFileSync(stage.path("big.png"), Buffer.from(PNG, "base64"));
  truncateSync(stage.path("big.png"), 30 * 1024 * 1024);
  await stage.use("view_image", { path: "big.png" });
  expect(lastItem(stage)).toEqual(message("user", expect.stringContaining("31457280 bytes are too many")));
});

it("a path without a file is an answer", async () => {
  await using stage = await openToolStage();
  mkdirSync(stage.path("folder"));
  const told = async (name: string) => (await stage.use("view_image", { path: name })).output;
  expect([await told("gone.png"), await told("folder")]).toEqual([
    `unable to locate image at \`${stage.path("gone.png")}\`: No such file or directory (os error 2)`,
    `image path \`${stage.path("folder")}\` is not a file`,
  ]);
});
