// Bundles a program into several CommonJS files; the later ones are loaded with `import()`. A file imports the modules of earlier files from those files,
// so that each module, and each class in it, exists once in a process.
import path from "node:path";
import { build } from "esbuild";

/**
 * `files`: `{ file, sources, after, apartFrom }`, earlier ones first; the first is the program. A file contains its sources and their imports, except
 * those in the file that it comes `after` and in the ones before that. It may have copies of modules that are also in the files that it is
 * `apartFrom`: a process does not load both files, or does not pass objects of these modules from one to the other.
 * `libraries`: `{ file, source }`, packages with a file of their own. Resolves with esbuild's result for each file.
 */
export async function bundle({ files, libraries, options, bannerOf }) {
  const plan = await planFiles(files, libraries, options);
  const names = await exportedNames(files.flatMap(({ file, sources }) => [...sources, ...plan.get(file).asked]));
  const ours = files.map(({ file, sources, after }) =>
    build({
      ...options,
      stdin: { contents: exposing(sources, plan.get(file).asked), resolveDir: "." },
      outfile: `dist/${file}`,
      banner: { js: bannerOf(file) },
      plugins: [elsewhere({ files, libraries, after, plan, names }), builtins],
    }),
  );
  const theirs = libraries.map(({ file, source }) =>
    // A library may use `import()` for its own purposes.
    build({ ...options, supported: {}, entryPoints: [source], outfile: `dist/${file}`, banner: { js: bannerOf(file) } }),
  );
  return Promise.all([...ours, ...theirs]);
}

/** For each file the modules that it `holds`, and those of them that other files need (`asked`). */
async function planFiles(files, libraries, options) {
  const plan = new Map();
  for (const { file, sources, after } of files) {
    plan.set(file, { holds: new Set(), asked: new Set() });
    const { metafile } = await build({
      ...options,
      stdin: { contents: exposing(sources, []), resolveDir: "." },
      outdir: "dist",
      write: false,
      plugins: [elsewhere({ files, libraries, after, plan })],
    });
    for (const module of Object.keys(metafile.inputs)) if (/^src\/.*\.ts$/.test(module)) plan.get(file).holds.add(module);
  }
  const twice = heldTwice(files, plan);
  if (twice.length > 0) throw new Error(`These files contain the same modules. Let one of them come after the other:\n${twice.join("\n")}`);
  return plan;
}

function heldTwice(files, plan) {
  const areApart = (one, other) => one.apartFrom === "all" || one.apartFrom?.includes(other.file);
  return files.flatMap((one, at) =>
    files.slice(0, at).flatMap((other) => {
      if (areApart(one, other) || areApart(other, one)) return [];
      const shared = [...plan.get(one.file).holds].filter((module) => plan.get(other.file).holds.has(module));
      return shared.length === 0 ? [] : [`${other.file}, ${one.file}: ${shared.join(", ")}`];
    }),
  );
}

/** The text of a file's entry module: runs its sources, and exports them and the modules that other files need, by path. */
function exposing(sources, asked) {
  const shown = [...new Set([...asked, ...sources])];
  const imports = shown.map((module, at) => `import * as m${at} from "./${module}";`);
  return `${imports.join("\n")}\nexport const modules = { ${shown.map((module, at) => `"${module}": m${at}`).join(", ")} };`;
}

/** The export names of each module. */
async function exportedNames(modules) {
  const { metafile } = await build({ entryPoints: [...new Set(modules)], format: "esm", outdir: "dist", write: false, metafile: true });
  return new Map(Object.values(metafile.outputs).map(({ entryPoint, exports }) => [entryPoint, exports]));
}

/** Resolves modules of other files to those files. Without `names` the result cannot run; it is for planning only. */
function elsewhere({ files, libraries, after, plan, names }) {
  const holderOf = (module) => {
    for (let file = after; file; file = files.find((one) => one.file === file).after) if (plan.get(file).holds.has(module)) return file;
    return undefined;
  };
  const laterHolderOf = (module) => files.find(({ sources }) => sources.includes(module))?.file;
  return {
    name: "elsewhere",
    setup({ onResolve, onLoad, resolve }) {
      onResolve({ filter: /./, namespace: "elsewhere" }, ({ path: file }) => ({ path: file, external: true }));
      onResolve({ filter: /./ }, async ({ path: name, kind, resolveDir, pluginData }) => {
        if (pluginData === "asked" || (kind !== "import-statement" && kind !== "dynamic-import")) return undefined;
        const { path: found } = await resolve(name, { kind: "import-statement", resolveDir, pluginData: "asked" });
        const module = path.relative(".", found);
        const late = kind === "dynamic-import";
        const library = late && libraries.find(({ source }) => source === module);
        if (library) return { path: `./${library.file}`, external: true };
        const holder = holderOf(module) ?? (late ? laterHolderOf(module) : undefined);
        if (holder === undefined) {
          // Otherwise the module would become a part of the file that imports it, and every start would load it.
          if (late && module.startsWith("src/")) throw new Error(`${module} is loaded with import(), but no file has it as a source`);
          return undefined;
        }
        plan.get(holder)?.asked.add(module);
        return { path: module, namespace: "elsewhere", pluginData: holder };
      });
      // As an ES module; otherwise esbuild copies the exports for every module that imports them.
      onLoad({ filter: /./, namespace: "elsewhere" }, ({ path: module, pluginData: holder }) => ({
        contents: names
          ? `export const { ${names.get(module).join(", ")} } = require("./${holder}").modules["${module}"];`
          : "module.exports = {};",
      }));
    },
  };
}

/** Modules of Node that take milliseconds to load. Their functions load them with the first call. */
const LOADED_WITH_FIRST_CALL = ["node:crypto", "node:child_process"];

/**
 * Node's modules as ES modules, so that only the used exports remain; otherwise esbuild copies all exports for each file that imports the whole module.
 * Not `node:fs`, which loads its promises when they are accessed; no file imports it whole.
 */
const builtins = {
  name: "builtins",
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^node:/ }, ({ path: name, kind }) =>
      kind === "import-statement" && name !== "node:fs" ? { path: name, namespace: "builtin" } : undefined,
    );
    onLoad({ filter: /./, namespace: "builtin" }, async ({ path: name }) => {
      const found = await import(name);
      const names = Object.keys(found).filter((key) => key !== "default" && key !== "module.exports");
      return { contents: LOADED_WITH_FIRST_CALL.includes(name) ? calledLater(name, found, names) : pickedAtOnce(name, names) };
    });
  },
};

function pickedAtOnce(name, names) {
  const picks = names.map((key) => `export const ${key} = /* @__PURE__ */ pick("${key}");`);
  return `const builtin = require("${name}");\nconst pick = (name) => builtin[name];\nexport default builtin;\n${picks.join("\n")}`;
}

/**
 * Loads a built-in module with the first call of one of its functions. Classes, constants and functions with properties of their own (such as a form for
 * `promisify`) cannot wait for a call: if any of them is imported, the module is loaded at once.
 */
function calledLater(name, found, names) {
  const isPlain = (key) =>
    /^[a-z]/.test(key) && typeof found[key] === "function" && Reflect.ownKeys(found[key]).every((own) => IN_EVERY_FUNCTION.has(own));
  const exports = names.map((key) =>
    isPlain(key) ? `export const ${key} = (...args) => whole().${key}(...args);` : `export const ${key} = /* @__PURE__ */ pick("${key}");`,
  );
  // `require` is called once, because every call looks the module up again.
  return `let builtin;\nconst whole = () => builtin ??= require("${name}");\nconst pick = (name) => whole()[name];\n${exports.join("\n")}`;
}

const IN_EVERY_FUNCTION = new Set(["length", "name", "prototype", "arguments", "caller"]);
