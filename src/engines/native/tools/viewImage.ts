import path from "node:path";
import * as z from "zod/mini";
import { describe, errorCode } from "../../../lib/errors.js";
import { readGuarded } from "../../../lib/files/guardedRead.js";
import { ReadRefused } from "../../../lib/files/readRefused.js";
import type { RawItem } from "../../../threads/items.js";
import { message } from "../model/items.js";
import { readArguments, type Tool, type ToolRun } from "./tool.js";
import type { ToolRuntime } from "./toolRuntime.js";

const ImageArguments = z.object({ path: z.string() });

/** What providers accept; larger files only cost a refused request. */
const LIMIT = { maxBytes: 20 * 1024 * 1024, larger: "refuse" } as const;

/** `view_image`: shows the model a picture of the workspace. */
export function viewImageTool(runtime: ToolRuntime): Tool {
  return {
    name: "view_image",
    async *run(args, ctx): ToolRun {
      const read = readArguments(args, ImageArguments);
      if ("complaint" in read) return { output: read.complaint };
      const file = path.resolve(runtime.settings.cwd, read.value.path);
      let picture: RawItem;
      try {
        picture = imageMessage(file, (await readGuarded(file, { ...LIMIT, mayRead: runtime.files.mayRead })).bytes);
      } catch (error) {
        if (!(error instanceof ReadRefused && error.reason === "size")) return { output: complaintAbout(file, error) };
        picture = cannotAttach(file, describe(error));
      }
      yield [{ type: "imageViewed", callId: ctx.callId, path: file }];
      return { output: "attached local image path", after: [picture] };
    },
  };
}

function complaintAbout(file: string, error: unknown): string {
  const code = errorCode(error);
  if (code === "EISDIR" || (error instanceof ReadRefused && error.reason === "kind")) return `image path \`${file}\` is not a file`;
  const why = code === "ENOENT" ? "No such file or directory (os error 2)" : describe(error);
  return `unable to locate image at \`${file}\`: ${why}`;
}

function imageMessage(file: string, bytes: Buffer): RawItem {
  const type = imageType(bytes);
  if (type === undefined) return cannotAttach(file, `unsupported image format \`${typeByName(file)}\``);
  const image_url = `data:${type};base64,${bytes.toString("base64")}`;
  return { type: "message", role: "user", content: [{ type: "input_image", image_url }] };
}

function cannotAttach(file: string, why: string): RawItem {
  return message("user", `Codex cannot attach image at \`${file}\`: ${why}.`);
}

/** By what is in the file, not by its name. */
function imageType(bytes: Buffer): string | undefined {
  const starts = (text: string, at = 0) => bytes.subarray(at, at + text.length).toString("latin1") === text;
  if (starts("\x89PNG\r\n\x1a\n")) return "image/png";
  if (starts("\xff\xd8\xff")) return "image/jpeg";
  if (starts("GIF87a") || starts("GIF89a")) return "image/gif";
  if (starts("RIFF") && starts("WEBP", 8)) return "image/webp";
  return undefined;
}

const TYPES: Readonly<Record<string, string>> = {
  ".png": "image/png",
  ".jpg": "image/jpeg",
  ".jpeg": "image/jpeg",
  ".gif": "image/gif",
  ".webp": "image/webp",
};

function typeByName(file: string): string {
  return TYPES[path.extname(file).toLowerCase()] ?? "application/octet-stream";
}
