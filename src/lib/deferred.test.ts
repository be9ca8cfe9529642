import { expect, it } from "vitest";
import { deferred } from "./deferred.js";

it("settles once, with whatever came first", async () => {
  const kept = deferred<string>();
  kept.resolve("first");
  kept.resolve("second");
  kept.reject(new Error("too late"));
  expect(await kept.promise).toBe("first");

  const broken = deferred<string>();
  broken.reject(new Error("first"));
  broken.resolve("too late");
  await expect(broken.promise).rejects.toThrow("first");
});
