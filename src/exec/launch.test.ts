import { describe, expect, it } from "vitest";
import { deferred } from "../lib/promises.js";
import { CommandStarter, type Launch } from "./launch.js";

const SANDBOXED = { sandboxed: true };

function recorder() {
  const done: string[] = [];
  const launch = (name: string): Launch => {
    done.push(`made ${name}`);
    const release = () => {
      done.push(`released ${name}`);
      return [];
    };
    return { program: name, args: [], cwd: "/", env: {}, descriptors: [], containment: { kind: "namespace", mark: name }, release };
  };
  return { done, launch };
}

describe("the launch of a command", () => {
  it("is made ahead once the promise that it waits for has resolved, and is then used", async () => {
    const { done, launch } = recorder();
    const looked = deferred<void>();
    await using starter = new CommandStarter({ now: async () => launch("now"), ahead: async () => launch("ahead") });
    starter.prepare(SANDBOXED, { after: () => looked.promise });
    const used = starter.launch(SANDBOXED);
    done.push("looked");
    looked.resolve();
    expect([(await used).program, done]).toEqual(["ahead", ["looked", "made ahead"]]);
  });

  it("is made when the command starts if it could not be made ahead, or is needed without the sandbox", async () => {
    const { done, launch } = recorder();
    await using starter = new CommandStarter({ now: async ({ sandboxed }) => launch(`${sandboxed}`), ahead: async () => undefined });
    starter.prepare(SANDBOXED, { after: undefined });
    await starter.launch(SANDBOXED);
    await starter.launch({ sandboxed: false });
    expect(done).toEqual(["made true", "made false"]);
  });

  it("is released if it is not used", async () => {
    const { done, launch } = recorder();
    {
      await using starter = new CommandStarter({ now: async () => launch("now"), ahead: async () => launch("ahead") });
      starter.prepare(SANDBOXED, { after: undefined });
    }
    expect(done).toEqual(["made ahead", "released ahead"]);
  });

  it("fails where it is used", async () => {
    await using starter = new CommandStarter({
      now: async () => recorder().launch("now"),
      ahead: () => Promise.reject(new Error("the folder is gone")),
    });
    starter.prepare(SANDBOXED, { after: undefined });
    await expect(starter.launch(SANDBOXED)).rejects.toThrow("the folder is gone");
  });
});
