// Creates a `.git` in the given folder, removes permissions from the folder, and prints the result of `setAside`.
import { chmodSync, existsSync, mkdirSync, openSync, statSync } from "node:fs";
import path from "node:path";
import { setAside } from "../../src/exec/sandbox/watchedNames.js";
import { O_PATH } from "../../src/platform/paths.js";

const [folder = "", mode = ""] = process.argv.slice(2);
const held = openSync(folder, O_PATH);
mkdirSync(path.join(folder, ".git"));
chmodSync(folder, Number.parseInt(mode, 8));
const moved = setAside({ folder: held, name: ".git" }, undefined);
const isOurs = (statSync(folder).mode & 0o700) === 0o700;
console.log(JSON.stringify({ moved: moved !== undefined && existsSync(moved), left: existsSync(path.join(folder, ".git")), isOurs }));
