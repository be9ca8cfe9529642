import { describe, expect, it } from "vitest";
import type { ReviewTarget } from "../../threads/events.js";
import { reviewHint, reviewPrompt } from "./reviewPrompt.js";

describe("a reviewer", () => {
  it.each<[ReviewTarget, string, RegExp]>([
    [{ type: "uncommittedChanges" }, "the uncommitted changes", /git diff HEAD.*untracked files whole/s],
    [{ type: "baseBranch", branch: "main" }, "the changes against main", /git merge-base HEAD main/],
    [{ type: "commit", sha: "0123456789abcdef" }, "commit 0123456789ab", /git show 0123456789abcdef/],
    [{ type: "commit", sha: "0123456", title: "Mend it" }, "commit 0123456: Mend it", /`0123456` \(Mend it\)/],
    [{ type: "custom", instructions: "Only the\n  locking." }, "Only the locking.", /# What to review\nOnly the\n {2}locking\.$/],
  ])("is told what to look at and how: %j", (target, hint, task) => {
    expect(reviewHint(target)).toBe(hint);
    expect(reviewPrompt(target)).toMatch(task);
    expect(reviewPrompt(target)).toMatch(/^Review a change.*change no files.*file:line.*say so in one sentence/s);
  });

  it("is announced in one line, however long its instructions are", () => {
    const hint = reviewHint({ type: "custom", instructions: `Look at ${"🎉".repeat(100)}\nclosely` });
    expect(hint).toMatch(/^Look at 🎉+…$/u);
    expect([...hint]).toHaveLength(80);
  });
});
