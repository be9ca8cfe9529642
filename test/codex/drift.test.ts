import { describe, expect, it } from "vitest";
import { createCodexEngine } from "../../src/engines/codex/engine.js";
import { ITEM_KINDS } from "../../src/engines/codex/translate/items.js";
import { NOTIFICATIONS } from "../../src/engines/codex/translate/notifications.js";
import { SERVER_REQUESTS } from "../../src/engines/codex/translate/serverRequests.js";
import { newThreadId } from "../../src/lib/ids.js";
import { newestOnNpm, publishedCodex, publishedVersions } from "../support/codex/codexPeers.js";
import { setCodexStage } from "../support/codex/codexStage.js";
import { type CodexSurface, codexSurface, namesBeyond, recordedSurfaces } from "../support/codex/codexSurface.js";
import { lastMessageOf, playTurn } from "../support/threads/turns.js";

const newest = await newestOnNpm();
const tried = await publishedVersions();
const unseen = newest === undefined || tried.some(({ version }) => version === newest) ? undefined : await publishedCodex(newest);
/** The tested versions, and the newest release if it is newer. */
const VERSIONS = [...tried, ...(unseen === undefined ? [] : [{ version: newest ?? "", program: unseen }])];
const RECORDED = recordedSurfaces();

describe.each(VERSIONS)("Codex $version", { timeout: 120_000 }, ({ version, program }) => {
  it("has the recorded names; those of an unrecorded version are printed, see `npm run drift`", async () => {
    const surface = await codexSurface({ program });
    const known = RECORDED.get(version);
    // A new release of Codex must not fail our tests. It gives a reason to look, and the next test shows whether it works.
    if (known === undefined) console.warn([`Codex ${version} is new. It has these names more:`, ...namesBeyondAll(surface)].join("\n  "));
    expect(surface).toEqual(known ?? surface);
  });

  it("sends nothing unknown when its default model does everything in one turn", async () => {
    await using stage = await setCodexStage({ model: undefined });
    const reported: string[] = [];
    const engine = createCodexEngine({ codexBin: program, env: stage.env, cwd: stage.workspace, report: (line) => reported.push(line) });
    try {
      const sandboxPolicy = { type: "danger-full-access" } as const;
      const thread = await engine.openThread({
        id: newThreadId(),
        settings: { ...stage.settings, approvalPolicy: "never", sandboxPolicy, features: { goals: false } },
      });
      const script =
        "!think hm\n!shell echo hi\n!patch new.txt hello\n!plan look|leap\n!spawn helper !shell echo there ;; !say helped\n!say done with all";
      expect(lastMessageOf(await playTurn(thread, script))).toBe("done with all");
      await playTurn(thread, { text: "", work: { kind: "review", target: { type: "custom", instructions: "!say fine" } } });
      await playTurn(thread, { text: "", work: { kind: "compact" } });
      const unknown = reported.filter((line) => line.includes("not known here"));
      if (unknown.length > 0) console.warn(unknown.join("\n"));
      expect(RECORDED.has(version) ? unknown : []).toEqual([]);
    } finally {
      await engine.close?.();
    }
  });
});

it("the tables know exactly what the recorded versions can send", () => {
  const of = (part: "notifications" | "requests" | "items") =>
    [...new Set([...RECORDED.values()].flatMap((surface) => surface[part]))].sort();
  expect({
    notifications: [...NOTIFICATIONS.keys()].sort(),
    requests: [...SERVER_REQUESTS.keys()].sort(),
    items: [...ITEM_KINDS.keys()].sort(),
  }).toEqual({
    notifications: of("notifications"),
    requests: of("requests"),
    items: of("items"),
  });
});

/** Names that no recorded version has. */
function namesBeyondAll(surface: CodexSurface): readonly string[] {
  const seen = [...RECORDED.values()].map((recorded) => new Set(namesBeyond(surface, recorded)));
  const [first, ...others] = seen;
  return [...(first ?? [])].filter((name) => others.every((names) => names.has(name)));
}
