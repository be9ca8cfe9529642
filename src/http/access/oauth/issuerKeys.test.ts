import { expect, it } from "vitest";
import { type Deferred, deferred } from "../../../lib/promises.js";
import { IssuerKeys } from "./issuerKeys.js";

const TEN_MINUTES = 600_001;

/** An issuer whose answers the test sets. */
function stage() {
  const clock = { now: 0 };
  const reports: string[] = [];
  const asked: Deferred<string>[] = [];
  const keys = new IssuerKeys<string>({
    load: (signal) => {
      const answer = deferred<string>();
      signal.addEventListener("abort", () => answer.reject(signal.reason), { once: true });
      asked.push(answer);
      return answer.promise;
    },
    report: (line) => reports.push(line),
    now: () => clock.now,
  });
  return { clock, reports, asked, keys };
}

it("all requests that need keys wait for the same response", async () => {
  const { asked, keys } = stage();
  const waiting = [keys.current(), keys.current(), keys.newer()];
  asked[0]?.resolve("keys");
  expect(await Promise.all(waiting)).toEqual(["keys", "keys", "keys"]);
  expect(asked).toHaveLength(1);
});

it("old keys stay in use while newer ones are requested", async () => {
  const { clock, asked, keys } = stage();
  const first = keys.current();
  asked[0]?.resolve("old");
  await first;
  clock.now = TEN_MINUTES;
  expect(await keys.current()).toBe("old");
  asked[1]?.resolve("new");
  await asked[1]?.promise;
  await keys.newer();
  expect(await keys.current()).toBe("new");
});

it("an issuer that is down is reported and retried after half a minute, and the old keys stay in use", async () => {
  const { clock, reports, asked, keys } = stage();
  const first = keys.current();
  asked[0]?.resolve("old");
  await first;
  clock.now = TEN_MINUTES;
  await keys.current();
  asked[1]?.reject(new Error("refused"));
  await keys.close();
  expect(reports).toEqual(["the keys of the OAuth issuer could not be reloaded; the previous ones stay in use: refused"]);
  expect([await keys.current(), asked.length]).toEqual(["old", 2]);
  clock.now += 30_000;
  expect([await keys.current(), asked.length]).toEqual(["old", 3]);
});

it("keys are requested for an unknown key id at most twice a minute", async () => {
  const { clock, asked, keys } = stage();
  const first = keys.current();
  asked[0]?.resolve("old");
  await first;
  expect(await keys.newer()).toBeUndefined();
  clock.now = 30_000;
  const second = keys.newer();
  asked[1]?.resolve("new");
  expect([await second, await keys.newer(), asked.length]).toEqual(["new", undefined, 2]);
});

it("without keys the issuer is asked every five seconds, and requests in between get the failure", async () => {
  const { clock, asked, keys } = stage();
  const first = keys.current();
  asked[0]?.reject(new Error("refused"));
  await expect(first).rejects.toThrow("refused");
  await expect(keys.current()).rejects.toThrow("refused");
  expect(asked).toHaveLength(1);
  clock.now = 5_000;
  const second = keys.current();
  asked[1]?.resolve("keys");
  expect(await second).toBe("keys");
});

it("closing ends a request that the issuer does not answer", async () => {
  const { keys, reports } = stage();
  keys.begin();
  await keys.close();
  expect(reports).toEqual(["the keys of the OAuth issuer could not be loaded: the server is shutting down"]);
});
