import { expect, it } from "vitest";
import { ConfigInvalid } from "./errors.js";
import { profileLayer } from "./profile.js";

it("without a chosen profile there is nothing to lay over", () => {
  expect(profileLayer({ profiles: { fast: { model: "f" } } })).toEqual({});
});

it("the chosen profile's keys become top-level settings", () => {
  const fast = { model: "f", sandbox_mode: "read-only", features: { undo: true }, tools_web_search: true, tools_view_image: false };
  expect(profileLayer({ profile: "fast", profiles: { fast } })).toEqual({
    model: "f",
    sandbox_mode: "read-only",
    features: { undo: true },
    tools: { web_search: true, view_image: false },
  });
});

it.each(["nobody", "constructor", ""])("a profile %j that nobody wrote is refused by name", (profile) => {
  expect(() => profileLayer({ profile, profiles: { fast: {} } })).toThrow(new ConfigInvalid(`config profile \`${profile}\` not found`));
});
