// Replaces FOLDER by a link to OUTSIDE and puts it back, as fast as possible, until it is killed.
//   node swap-folder.mjs FOLDER OUTSIDE
import { renameSync, symlinkSync, unlinkSync } from "node:fs";

const [folder, outside] = process.argv.slice(2);
const away = `${folder}.away`;

console.log("swapping");
for (let round = 0; ; round++) {
  attempt(() => renameSync(folder, away));
  if (attempt(() => symlinkSync(outside, folder))) unlinkSync(folder);
  // Another process may have created a folder with this name meanwhile; it is moved away.
  else attempt(() => renameSync(folder, `${folder}.${round}`));
  attempt(() => renameSync(away, folder));
}

function attempt(change) {
  try {
    change();
    return true;
  } catch {
    return false;
  }
}
