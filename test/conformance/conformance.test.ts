// MCP's own conformance suite, played against the shipped server, and against the same transports in both eras with the tools that the
// suite expects.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type ListeningServer, startOurs } from "../../bench/listening.js";
import { type Stage, setStage, stageEnvironment } from "../support/stage.js";
import { type FixtureServer, openFixtureServer } from "./fixtureServer.js";
import { type Check, type Checks, installSuite, requiredScenarios, runSuite, type Suite } from "./suite.js";

/** Scenarios that do not depend on a server's tools. */
const FOR_ANY_SERVER = {
  "2025-11-25": [
    "server-initialize",
    "server-session-lifecycle",
    "ping",
    "logging-set-level",
    "tools-list",
    "server-sse-multiple-streams",
    "dns-rebinding-protection",
  ],
  "2026-07-28": [
    "server-stateless",
    "http-header-validation",
    "tools-list",
    "server-sse-multiple-streams",
    "dns-rebinding-protection",
    "input-required-result-unsupported-methods",
    "input-required-result-validate-input",
  ],
} as const;
const REVISIONS = ["2025-11-25", "2026-07-28"] as const;
/**
 * The suite recommends an interval for reconnecting. Our streams end early only when a connection breaks, and then the client knows best.
 */
const ACCEPTED_REMARKS = ["server-sse-retry-field"];
/** The suite does not check this yet; `test/stateless` and the unit tests do. */
const NOTHING_LOOKED_AT = ["tasks-status-notifications"];

const suite = await findSuite();

describe.runIf(suite)("the server as it is shipped", () => {
  let stage: Stage;
  let server: ListeningServer;
  beforeAll(async () => {
    stage = await setStage();
    server = await startOurs({ cwd: stage.workspace, env: stageEnvironment(stage, { name: "", about: "", steps: [] }, {}) });
  });
  afterAll(async () => {
    await server?.[Symbol.asyncDispose]();
    await stage?.[Symbol.asyncDispose]();
  });

  it.each(REVISIONS)(
    "conforms to %s",
    async (revision) => {
      const checks = await runOn(server.url, revision);
      const scenarios = new Map(FOR_ANY_SERVER[revision].map((scenario) => [scenario, (checks.get(scenario) ?? []).filter(isTestable)]));
      expect(objectionsIn(scenarios)).toEqual({});
    },
    120_000,
  );
});

describe.runIf(suite)("transports, sessions, the era without them and tasks, with the suite's tools", () => {
  let server: FixtureServer;
  beforeAll(async () => {
    server = await openFixtureServer();
  });
  afterAll(() => server?.[Symbol.asyncDispose]());

  it.each(REVISIONS)(
    "conform to %s",
    async (revision) => {
      const checks = await runOn(server.url, revision);
      const looked = new Map([...checks].filter(([scenario]) => !NOTHING_LOOKED_AT.includes(scenario)));
      expect(objectionsIn(looked)).toEqual({});
      expect([...looked.keys()]).toEqual(expect.arrayContaining([...(await required(revision))]));
      if (revision === "2026-07-28") expect([...looked.keys()].filter((scenario) => scenario.startsWith("tasks-"))).toHaveLength(9);
    },
    120_000,
  );
});

/** Scenario → failed checks. A scenario without any check proves nothing. */
function objectionsIn(checks: Checks): Readonly<Record<string, readonly unknown[]>> {
  const objections = [...checks].map(([scenario, made]): [string, readonly unknown[]] => [
    scenario,
    made.some(({ status }) => status === "SUCCESS") ? made.filter(isObjection) : ["nothing was checked", ...made],
  ]);
  return Object.fromEntries(objections.filter(([, wrong]) => wrong.length > 0));
}

function isObjection({ id, status }: Check): boolean {
  return (status === "FAILURE" || status === "WARNING") && !ACCEPTED_REMARKS.includes(id);
}

/** Some checks of general scenarios need a tool of the suite. Another one needs a tool list that changes, and ours never does. */
function isTestable({ id, errorMessage }: Check): boolean {
  return id !== "sep-2575-server-sends-tools-list-changed-on-subscription" && errorMessage?.startsWith("Not testable") !== true;
}

function runOn(url: string, revision: string): Promise<Checks> {
  return runSuite(found(), { url, revision });
}

function required(revision: string): Promise<readonly string[]> {
  return requiredScenarios(found(), revision);
}

function found(): Suite {
  if (suite) return suite;
  throw new Error("the conformance suite is not there");
}

/** Without access to the registry these tests are skipped; REQUIRE_CONFORMANCE=1 makes that a failure. */
async function findSuite(): Promise<Suite | undefined> {
  try {
    return await installSuite();
  } catch (error) {
    if (process.env["REQUIRE_CONFORMANCE"] === "1") throw error;
    console.warn(
      `Tests of conformance are skipped: the suite cannot be installed. ${error instanceof Error ? error.message : String(error)}`,
    );
    return undefined;
  }
}
