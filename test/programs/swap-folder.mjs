// Until it is killed: takes FOLDER away, puts a link to OUTSIDE in its place, and puts the folder back, as fast as it can.
//   node swap-folder.mjs FOLDER OUTSIDE
import { renameSync, symlinkSync, unlinkSync } from "node:fs";

const [folder, outside] = process.argv.slice(2);
const away = `${folder}.away`;

console.log("swapping");
for (let round = 0; ; round++) {
  attempt(() => renameSync(folder, away));
  if (attempt(() => symlinkSync(outside, folder))) unlinkSync(folder);
  // Somebody may have made a folder of the same name while ours was away: it is put out of the way.
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
