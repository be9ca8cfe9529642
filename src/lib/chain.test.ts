import { expect, it } from "vitest";
import { Chain, type Link } from "./chain.js";

class Named implements Link<Named> {
  before: Named | undefined;
  after: Named | undefined;
  constructor(readonly name: string) {}
}

const names = (chain: Chain<Named>) => [...chain].map(({ name }) => name).join("");

it("keeps its members in order, whichever of them leaves", () => {
  for (const leaving of ["a", "b", "c", "ac", "cb", "abc", "bac"]) {
    const chain = new Chain<Named>();
    const members = [..."abc"].map((name) => new Named(name));
    for (const member of members) chain.append(member);
    for (const name of leaving) for (const member of members) if (member.name === name) chain.remove(member);
    expect(names(chain)).toBe("abc".replace(new RegExp(`[${leaving}]`, "g"), ""));
    expect(chain.first?.name ?? "").toBe(names(chain).charAt(0));
  }
});

it("takes back a member that has left, as its last", () => {
  const chain = new Chain<Named>();
  const [a, b] = [new Named("a"), new Named("b")];
  chain.append(a);
  chain.append(b);
  chain.remove(a);
  chain.remove(a);
  chain.append(a);
  expect(names(chain)).toBe("ba");
});

it("may lose members while it is gone through", () => {
  const chain = new Chain<Named>();
  for (const name of "abc") chain.append(new Named(name));
  for (const member of chain) chain.remove(member);
  expect(names(chain)).toBe("");
});
