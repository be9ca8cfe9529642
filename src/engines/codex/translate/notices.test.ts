import { describe, expect, it } from "vitest";
import { endingOf, shownAs, type Told } from "../../../../test/support/codex/translatedTurn.js";
import { settingsIn } from "../../../../test/support/threads/rollouts.js";
import { ThreadMemory } from "./threadMemory.js";

const DROPPED = { responseStreamDisconnected: { httpStatusCode: null } };

describe("an error", () => {
  it("that is retried names the next attempt and the reason", () => {
    const error = { message: "Reconnecting... 1/5", codexErrorInfo: DROPPED, additionalDetails: "stream closed" };
    expect(shownAs([["error", { error, willRetry: true }]])).toEqual([
      { type: "modelRetry", attempt: 1, limit: 5, cause: "stream closed" },
    ]);
  });

  it("that is retried withdraws the incomplete answer, which is shown once when complete", () => {
    const cut = (id: string): Told[] => [
      ["item/started", { item: { type: "agentMessage", id, text: "" } }],
      ["item/agentMessage/delta", { itemId: id, delta: "half" }],
    ];
    const error: Told = ["error", { error: { message: "Reconnecting... 1/5" }, willRetry: true }];
    const whole: Told = ["item/completed", { item: { type: "agentMessage", id: "m3", text: "half and half" } }];
    const told = (events: readonly { type: string }[]) => events.filter(({ type }) => type === "itemCompleted");
    const message = (id: string, text: string) => ({ type: "itemCompleted", item: { kind: "agentMessage", id, texts: [text] } });
    const again = [...cut("m1"), error, ...cut("m2"), error, ...cut("m3")];
    const shown = [...shownAs([...again, whole]), ...endingOf([...again, whole], { kind: "completed" })];
    expect(told(shown)).toEqual([message("m3", "half and half")]);
    expect(told(endingOf(again, { kind: "failed", message: "gone" }))).toEqual([message("m3", "half")]);
  });

  it("that is retried without a count is shown once in a turn", () => {
    const memory = new ThreadMemory();
    const told: Told = ["error", { error: { message: "waiting for network" }, willRetry: true }];
    const warning = { type: "warning", message: "waiting for network" };
    expect([shownAs([told, told], { memory }), shownAs([told], { memory })]).toEqual([[warning], [warning]]);
  });

  it("that ends the turn shows as its end, worded as 0.92.0 did", () => {
    const error = { message: "We’re busy.", codexErrorInfo: "internalServerError" };
    const told: Told = ["error", { error, willRetry: false }];
    expect(shownAs([told])).toEqual([]);
    expect(endingOf([told], { kind: "failed", message: "We're busy." })).toEqual([
      { type: "turnFailed", message: "We're busy.", info: "internal_server_error" },
    ]);
  });

  it("that the turn survived is a warning", () => {
    expect(endingOf([["error", { error: { message: "odd" }, willRetry: false }]], { kind: "completed" })).toEqual([
      { type: "warning", message: "odd" },
      { type: "turnCompleted", lastMessage: null },
    ]);
  });
});

describe("a failure without an explanation by Codex", () => {
  const LIMITS = (usedPercent: number) => ({ primary: { usedPercent, windowDurationMins: 300, resetsAt: 1_800_000_000 }, secondary: null });
  const failing = (codexErrorInfo: string, message: string): Told => ["error", { error: { message, codexErrorInfo }, willRetry: false }];

  it.each([
    [
      100,
      "You've hit your usage limit. Try again later.",
      "You've hit your usage limit. Try again later. The limit resets at 2027-01-15T08:00:00.000Z.",
    ],
    [100, "Please try again at 9:00 AM.", "Please try again at 9:00 AM."],
    [40, "You've hit your usage limit.", "You've hit your usage limit."],
  ])("says when a limit that is used to %d %% resets: %s", (used, message, shown) => {
    const told: Told[] = [["account/rateLimits/updated", { rateLimits: LIMITS(used) }], failing("usageLimitExceeded", message)];
    expect(endingOf(told, { kind: "failed", message })).toEqual([{ type: "turnFailed", message: shown, info: "usage_limit_exceeded" }]);
  });

  it.each([
    [true, "unexpected status 401. Run `codex login` on the machine of this server."],
    [false, "unexpected status 401"],
  ])("says how to log in, where the provider wants Codex's login: %s", (requiresOpenaiAuth, message) => {
    const { provider } = settingsIn("/ws");
    const telling = { settings: { provider: { ...provider, requiresOpenaiAuth } } };
    expect(
      endingOf([failing("unauthorized", "unexpected status 401")], { kind: "failed", message: "unexpected status 401" }, telling),
    ).toEqual([{ type: "turnFailed", message, info: "unauthorized" }]);
  });
});

it("a warning that comes with every turn is shown once on a thread", () => {
  const memory = new ThreadMemory();
  const told: Told = ["warning", { message: "unknown model" }];
  expect([shownAs([told, told], { memory }), shownAs([told], { memory })]).toEqual([[{ type: "warning", message: "unknown model" }], []]);
});

const IGNORED = "Codex is ignoring settings: unrecognized configuration setting. Check for typos or deprecated settings.";

it.for([
  ["our own table", ["user (/h/config.toml): `mcp_server` is ignored.", "session-flags: `mcp_server.wait_seconds` is ignored."], false],
  ["another setting too", ["user (/h/config.toml): `mcp_server` is ignored.", "user (/h/config.toml): `mcp_serverr` is ignored."], true],
] as const)("a warning that Codex does not know %s is shown: %j", ([, settings, isShown]) => {
  const message = [IGNORED, ...settings].join("\n  ");
  expect(shownAs([["warning", { message }]])).toEqual(isShown ? [{ type: "warning", message }] : []);
});

const WARNINGS: readonly (readonly [Told, string])[] = [
  [["guardianWarning", { message: "careful" }], "careful"],
  [["configWarning", { summary: "1 key ignored.", details: "typo?", path: "/h/config.toml" }], "1 key ignored. typo? (/h/config.toml)"],
  [["model/rerouted", { fromModel: "a", toModel: "b", reason: "policy" }], "The model a was replaced by b (policy)"],
  [
    ["windows/worldWritableWarning", { samplePaths: ["C:\\x", "C:\\y"] }],
    "Folders that everyone may write are not protected by the sandbox: C:\\x, C:\\y",
  ],
];

it.each(WARNINGS)("is a warning: %j", (told, message) => {
  expect(shownAs([told])).toEqual([{ type: "warning", message }]);
});

const NOTES: readonly (readonly [Told, string])[] = [
  [["hook/completed", { run: { eventName: "stop", status: "failed", statusMessage: "exit 1" } }], "Hook stop: failed (exit 1)"],
  [["modelProvider/authRecoveryStarted", { provider: "p", message: "renewing" }], "renewing"],
  [["modelProvider/authRecoveryCompleted", { provider: "p" }], "Renewing the login at p"],
  [["model/verification", { verifications: [] }], "The provider requires a verified account for this model"],
  [["model/safetyBuffering/updated", { reasons: ["x", "y"] }], "The answer is held back for a safety check (x, y)"],
  [["item/autoApprovalReview/started", {}], "A second model judges whether this may run"],
  [["item/autoApprovalReview/completed", { review: { status: "approved" } }], "The second model's judgement: approved"],
  [["autoApprovalReview/strictReviewRequired", {}], "Everything that runs from here on is judged by a second model"],
  [["mcpServer/oauthLogin/completed", { name: "s", success: true }], "Logged in to the MCP server s"],
  [["mcpServer/oauthLogin/completed", { name: "s", success: false, error: "denied" }], "No login to the MCP server s (denied)"],
];

it.each(NOTES)("is noted: %j", (told, message) => {
  expect(shownAs([told])).toEqual([{ type: "backgroundNote", message }]);
});

it("a deprecation is shown once, with its details if there are any", () => {
  const told: Told = ["deprecationNotice", { summary: "old key", details: "use the new one" }];
  expect(shownAs([told, told, ["deprecationNotice", { summary: "other", details: null }]])).toEqual([
    { type: "deprecation", summary: "old key", details: "use the new one" },
    { type: "deprecation", summary: "other" },
  ]);
});
