import { createNativeEngine } from "../src/engines/native/engine.js";
import { createScriptedEngine } from "../src/engines/native/scripted/scriptedEngine.js";
import { WritablePlaces } from "../src/exec/outside/outsidePrograms.js";
import { type EngineUnderTest, engineContract } from "./contracts/engine.js";
import { startResponsesServer } from "./support/model/responsesServer.js";
import { settingsIn, tempHome } from "./support/threads/rollouts.js";

const PATIENT = { streamIdleTimeoutMs: 60_000 };

engineContract("scripted", { makeEngine: scripted });
engineContract("native", { makeEngine: native });

async function scripted(): Promise<EngineUnderTest> {
  const home = tempHome();
  // Without a context window: a script would play a failure again during the compaction.
  const settings = settingsIn(home.path, { model: "mock-model", asRecorded: true });
  const engine = createScriptedEngine({ codexHome: home.path, env: process.env, serverCwd: home.path, writable: new WritablePlaces([]) });
  return {
    engine,
    settings: { ...settings, provider: { ...settings.provider, ...PATIENT } },
    async [Symbol.asyncDispose]() {
      await engine.close?.();
      home[Symbol.dispose]();
    },
  };
}

async function native(): Promise<EngineUnderTest> {
  const home = tempHome();
  const server = await startResponsesServer({ keepRequests: false });
  const settings = settingsIn(home.path, { model: "mock-model", asRecorded: true });
  const engine = createNativeEngine({
    codexHome: home.path,
    env: process.env,
    serverCwd: home.path,
    writable: new WritablePlaces([]),
    userAgent: "test/1",
  });
  return {
    engine,
    settings: { ...settings, provider: { ...settings.provider, ...PATIENT, baseUrl: server.url } },
    async [Symbol.asyncDispose]() {
      await engine.close?.();
      await server.close();
      home[Symbol.dispose]();
    },
  };
}
