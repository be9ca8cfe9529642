import { lazily } from "../../lib/lazily.js";
import type { Engine } from "../../threads/engine.js";
import { type ClientFactory, type NativeEngineOptions, openNativeThread } from "./engine.js";
import { ScriptedModel } from "./model/script.js";
import { ScriptedClient } from "./model/scripted.js";
import { Machine } from "./tools/machine.js";

/** The native loop on the scripted model: no key, no network, and it says so. */
export function createScriptedEngine(options: Omit<NativeEngineOptions, "userAgent">): Engine {
  const machine = new Machine(options);
  const model = new ScriptedModel();
  const clientFor: ClientFactory = ({ provider }) => new ScriptedClient(model, provider.streamIdleTimeoutMs);
  const { services } = options;
  return {
    name: "scripted",
    openThread: (opening) => openNativeThread(opening, machine, clientFor),
    ...(services && {
      services: lazily(async () => (await import("./services/nativeServices.js")).scriptedServices(services, machine)).get,
    }),
    close: () => machine.close(),
  };
}
