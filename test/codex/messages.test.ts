import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import { afterAll, describe, expect, it } from "vitest";
import { ITEM_KINDS } from "../../src/engines/codex/translate/items.js";
import { NOTIFICATIONS } from "../../src/engines/codex/translate/notifications.js";
import { SERVER_REQUESTS } from "../../src/engines/codex/translate/serverRequests.js";
import { publishedCodex } from "../support/codexPeers.js";

const program = await publishedCodex("0.166.0");
const folder = mkdtempSync(path.join(tmpdir(), "codex-messages-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** The values of a tag in a generated file of types. */
function tagged(file: string, tag: string): string[] {
  const text = readFileSync(path.join(folder, file), "utf8");
  return [...text.matchAll(new RegExp(`"${tag}": "([^"]+)"`, "g"))].map(([, value = ""]) => value).sort();
}

describe.skipIf(!program)("what the published Codex says that it sends", () => {
  it("is what the tables know", { timeout: 60_000 }, async () => {
    const env = { ...process.env, CODEX_HOME: folder };
    await promisify(execFile)(program ?? "", ["app-server", "generate-ts", "--experimental", "--out", folder], { env, timeout: 50_000 });
    expect({
      notifications: tagged("ServerNotification.ts", "method"),
      requests: tagged("ServerRequest.ts", "method"),
      items: tagged("v2/ThreadItem.ts", "type"),
    }).toEqual({
      notifications: [...NOTIFICATIONS.keys()].sort(),
      requests: [...SERVER_REQUESTS.keys()].sort(),
      items: [...ITEM_KINDS.keys()].sort(),
    });
  });
});
