// Makes a release from main: node scripts/release.mjs 1.2.3
// Runs checks and tests, puts the unreleased changes of the changelog under the version, sets the version in the manifest, commits and tags.
// Pushing the tag publishes the release (.github/workflows/release.yml).
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";

const UNRELEASED = "## Unreleased\n";
const [version = ""] = process.argv.slice(2);

const git = (...args) => execFileSync("git", args, { encoding: "utf8" }).trim();
const fail = (reason) => {
  console.error(`No release: ${reason}`);
  process.exit(1);
};

if (!/^\d+\.\d+\.\d+(?:-[\w.]+)?$/.test(version)) fail("name a version, for example: npm run release 1.2.3");
if (git("status", "--porcelain") !== "") fail("there are uncommitted changes");
if (git("branch", "--show-current") !== "main") fail("releases are made on main");
if (git("tag", "--list", `v${version}`) !== "") fail(`v${version} exists already`);

const changelog = readFileSync("CHANGELOG.md", "utf8");
const [before, after] = changelog.split(UNRELEASED);
if (after === undefined) fail("CHANGELOG.md has no section `Unreleased`");
if (/^\s*(?:## |$)/.test(after)) fail("CHANGELOG.md has no entries under `Unreleased`");

for (const command of ["check", "test"]) execFileSync("npm", ["run", command], { stdio: "inherit" });
const today = new Date().toISOString().slice(0, 10);
writeFileSync("CHANGELOG.md", `${before}${UNRELEASED}\n## ${version} - ${today}\n${after}`);
// The first release may have the version that the manifest has already.
execFileSync("npm", ["version", version, "--no-git-tag-version", "--ignore-scripts", "--allow-same-version"], { stdio: "inherit" });
git("commit", "--all", "--message", `Release ${version}`);
git("tag", "--annotate", `v${version}`, "--message", `Release ${version}`);
console.log(`Released ${version} here. To publish it: git push origin main v${version}`);
