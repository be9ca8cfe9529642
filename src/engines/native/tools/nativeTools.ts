import path from "node:path";
import * as z from "zod/mini";
import { describe, errorCode } from "../../../lib/errors.js";
import { readGuarded } from "../../../lib/files/guardedRead.js";
import { ReadRefused } from "../../../lib/files/readRefused.js";
import type { RawItem } from "../../../threads/items.js";
import type { ThreadSettings } from "../../../threads/settings.js";
import { message } from "../model/items.js";
import { patchTool } from "./applyPatch.js";
import { commandToolsOf, patchToolOf } from "./declarations.js";
import { execTools } from "./execCommand.js";
import type { HostEnvironment } from "./hostEnvironment.js";
import { IMAGE_LIMIT, imageUrlOf } from "./images.js";
import { shellCommandTool, shellTools } from "./shell.js";
import { type RecordedStruct, readArguments, type Tool, type ToolContext, type ToolRun } from "./tool.js";
import { type CurrentTurn, ToolRuntime } from "./toolRuntime.js";

/** The built-in tools of one thread. */
export interface NativeTools {
  readonly runtime: ToolRuntime;
  find(name: string): Tool | undefined;
}

export function openNativeTools(settings: ThreadSettings, host: HostEnvironment, turns: CurrentTurn): NativeTools {
  const runtime = new ToolRuntime(settings, host, turns);
  const tools = new Map(understoodTools(runtime).map((tool) => [tool.name, tool]));
  return { runtime, find: (name) => tools.get(name) };
}

/** The offered tools and, with any shell tool, all other shell tools: models call the one they were trained on. */
function understoodTools(runtime: ToolRuntime): readonly Tool[] {
  const offered = commandToolsOf(runtime.settings);
  const shells = offered === "none" ? [] : [...shellTools(runtime), shellCommandTool(runtime)];
  const sessions = offered === "sessions" ? execTools(runtime) : [];
  const patches = patchToolOf(runtime.settings) === "none" ? [] : [patchTool(runtime)];
  return [...shells, ...sessions, planTool, ...patches, viewImageTool(runtime)];
}

const PlanArguments = z.strictObject({
  explanation: z.optional(z.nullable(z.string())),
  plan: z.array(z.strictObject({ step: z.string(), status: z.enum(["pending", "in_progress", "completed"]) })),
});

const PLAN: RecordedStruct = {
  name: "UpdatePlanArgs",
  fields: ["explanation", "plan"],
  firstNeeded: 1,
  entries: { plan: { name: "PlanItemArg", fields: ["step", "status"] } },
};

/** `update_plan`: the model's list of steps, shown to readers. */
export const planTool: Tool = {
  name: "update_plan",
  async *run(args, ctx): ToolRun {
    const read = readArguments(args, PlanArguments, ctx, PLAN);
    if ("complaint" in read) return { output: read.complaint };
    yield [{ type: "planUpdated", explanation: read.value.explanation ?? null, plan: read.value.plan }];
    return { output: "Plan updated" };
  },
};

const ImageArguments = z.object({ path: z.string() });

/** `view_image`: shows the model an image of the workspace. */
function viewImageTool(runtime: ToolRuntime): Tool {
  return {
    name: "view_image",
    async *run(args, ctx): ToolRun {
      const read = readArguments(args, ImageArguments, ctx, { name: "ViewImageArgs", fields: ["path"] });
      if ("complaint" in read) return { output: read.complaint };
      const file = path.resolve(runtime.settings.cwd, read.value.path);
      const shown = ctx.asRecorded ? joined(runtime.settings.cwd, read.value.path) : file;
      let image: RawItem;
      try {
        image = imageMessage(shown, (await readGuarded(file, { ...IMAGE_LIMIT, mayRead: runtime.files.mayRead })).bytes, ctx);
      } catch (error) {
        if (!(error instanceof ReadRefused && error.reason === "size")) return { output: complaintAbout(shown, error) };
        image = cannotAttach(shown, describe(error));
      }
      yield [{ type: "imageViewed", callId: ctx.callId, path: shown }];
      return { output: "attached local image path", after: [image] };
    },
  };
}

/** Joins the two as the model wrote them, without resolving dots. */
function joined(folder: string, file: string): string {
  return path.isAbsolute(file) ? file : `${folder}/${file}`;
}

function complaintAbout(file: string, error: unknown): string {
  const code = errorCode(error);
  if (code === "EISDIR" || (error instanceof ReadRefused && error.reason === "kind")) return `image path \`${file}\` is not a file`;
  const why = code === "ENOENT" ? "No such file or directory (os error 2)" : describe(error);
  return `unable to locate image at \`${file}\`: ${why}`;
}

/** Codex 0.92.0 could not read GIF and WebP. */
const RECORDED_KINDS = /^data:image\/(?:png|jpeg);/;

function imageMessage(file: string, bytes: Buffer, { asRecorded }: Pick<ToolContext, "asRecorded">): RawItem {
  const image_url = imageUrlOf(bytes);
  if (image_url === undefined || (asRecorded && !RECORDED_KINDS.test(image_url))) return notAnImage(file);
  return { type: "message", role: "user", content: [{ type: "input_image", image_url }] };
}

/** The file's name decides the wording: an invalid image, or a file that is not an image at all. */
function notAnImage(file: string): RawItem {
  const type = TYPES[path.extname(file).toLowerCase()];
  if (type?.startsWith("image/")) return cannotAttach(file, `unsupported image format \`${type}\``);
  const told = type === undefined ? "(unknown)" : `\`${type}\``;
  return message("user", `Codex could not read the local image at \`${file}\`: unsupported MIME type ${told}`);
}

function cannotAttach(file: string, why: string): RawItem {
  return message("user", `Codex cannot attach image at \`${file}\`: ${why}.`);
}

const TYPES: Readonly<Record<string, string>> = {
  ".png": "image/png",
  ".jpg": "image/jpeg",
  ".jpeg": "image/jpeg",
  ".gif": "image/gif",
  ".webp": "image/webp",
  ".bmp": "image/bmp",
  ".svg": "image/svg+xml",
  ".tif": "image/tiff",
  ".tiff": "image/tiff",
  ".ico": "image/x-icon",
  ".txt": "text/plain",
  ".log": "text/plain",
  ".md": "text/markdown",
  ".html": "text/html",
  ".htm": "text/html",
  ".css": "text/css",
  ".csv": "text/csv",
  ".js": "text/javascript",
  ".json": "application/json",
  ".xml": "text/xml",
  ".pdf": "application/pdf",
  ".zip": "application/zip",
};
