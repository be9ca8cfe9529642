import { ALLOWED, READERS, STILL_OPEN } from "./layout.js";
import {
  barrels,
  fileReaders,
  hiddenFileImports,
  importCycles,
  longFiles,
  lostTimeouts,
  mutualFolders,
  namesExportedTwice,
  scraps,
  unknownImports,
  upwardImports,
} from "./rules.js";
import type { Sources } from "./sources.js";

/** The result of one rule for all sources. */
export interface Finding {
  readonly rule: string;
  /** All findings of the rule, including known open ones. */
  readonly found: readonly string[];
  /** Findings that break the rule. */
  readonly broken: readonly string[];
}

export function findings(sources: Sources): Finding[] {
  return [
    strict("every import leads to a file", unknownImports(sources)),
    strict("there is no import cycle", importCycles(sources)),
    open("every folder imports only what is below it", upwardImports(sources, ALLOWED), STILL_OPEN.upwardImports),
    open("no two folders import each other", mutualFolders(sources), STILL_OPEN.mutualFolders),
    exportedOnce(sources),
    strict("no file only re-exports others", barrels(sources)),
    open("a file past 300 lines says why (`Long because …`)", longFiles(sources), STILL_OPEN.longFiles),
    fewScraps(sources),
    strict("only listed files read from disk", readersOutOfList(sources)),
    strict("no file gets the file system without importing it", hiddenFileImports(sources)),
    strict("every time limit is held by its timer (`timeoutSignal`)", lostTimeouts(sources)),
  ];
}

function strict(rule: string, found: readonly string[]): Finding {
  return { rule, found, broken: found };
}

function open(rule: string, found: readonly string[], known: readonly string[]): Finding {
  return { rule, found, broken: found.filter((item) => !known.includes(item)) };
}

function exportedOnce(sources: Sources): Finding {
  const known: readonly string[] = STILL_OPEN.namesExportedTwice;
  const lines = [...namesExportedTwice(sources)].map(([name, files]) => ({ name, line: `${name}: ${files.join(", ")}` }));
  return {
    rule: "a name is exported by one file",
    found: lines.map(({ line }) => line),
    broken: lines.filter(({ name }) => !known.includes(name)).map(({ line }) => line),
  };
}

function fewScraps(sources: Sources): Finding {
  const most = STILL_OPEN.scrapCount;
  const found = [...scraps(sources)].map(([file, importer]) => `${file} (${sources.get(file)?.lineCount} lines) ← ${importer}`);
  return {
    rule: `at most ${most} files shorter than a screen have a single importer (${found.length} now)`,
    found,
    broken: found.length > most ? found : [],
  };
}

/** Files that read without being listed, and listed files that do not read. */
function readersOutOfList(sources: Sources): string[] {
  const reading = fileReaders(sources);
  const unlisted = reading.filter((file) => READERS[file] === undefined).map((file) => `${file} reads files and is not listed`);
  const idle = Object.keys(READERS).filter((file) => !reading.includes(file));
  return [...unlisted, ...idle.map((file) => `${file} is listed and reads no files`)];
}
