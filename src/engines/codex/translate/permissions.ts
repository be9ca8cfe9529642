import type { Fields } from "../../../lib/fields.js";
import { fieldsOf, listOf, saidText, textsOf } from "./read.js";

/** What a set of asked permissions would allow, in words; undefined when it is nothing. */
export function permissionsInWords(profile: unknown): string | undefined {
  const { network, fileSystem } = fieldsOf(profile);
  const words = [...(fieldsOf(network)["enabled"] === true ? ["use the network"] : []), ...placesInWords(fieldsOf(fileSystem))];
  return words.length === 0 ? undefined : words.join("; ");
}

/** Newer versions list entries, and repeat them as the older lists. */
function placesInWords({ entries, read, write }: Fields): string[] {
  if (listOf(entries).length > 0) return listOf(entries).map((entry) => entryInWords(fieldsOf(entry)));
  return [...textsOf(read).map((place) => `read ${place}`), ...textsOf(write).map((place) => `write ${place}`)];
}

function entryInWords({ access, path: place }: Fields): string {
  return `${saidText(access) ?? "use"} ${saidText(fieldsOf(place)["path"]) ?? JSON.stringify(place)}`;
}
