import { readFile, stat } from "node:fs/promises";
import path from "node:path";
import * as z from "zod/mini";
import { describe, errorCode } from "../../../lib/errors.js";
import type { RawItem } from "../../../threads/model.js";
import { message } from "../history.js";
import { readArguments } from "./arguments.js";
import type { Tool, ToolRun } from "./tool.js";
import type { Workbench } from "./workbench.js";

const ImageArguments = z.object({ path: z.string() });

/** What providers accept; larger files only cost a refused request. */
const MAX_IMAGE_BYTES = 20 * 1024 * 1024;

/** `view_image`: shows the model a picture of the workspace. */
export function viewImageTool(bench: Workbench): Tool {
  return {
    name: "view_image",
    async *run(args, ctx): ToolRun {
      const read = readArguments(args, ImageArguments);
      if ("complaint" in read) return { output: read.complaint };
      const file = path.resolve(bench.settings.cwd, read.value.path);
      const complaint = await complaintAbout(file);
      if (complaint !== undefined) return { output: complaint };
      yield [{ type: "imageViewed", callId: ctx.callId, path: file }];
      return { output: "attached local image path", after: [await imageMessage(file)] };
    },
  };
}

async function complaintAbout(file: string): Promise<string | undefined> {
  try {
    return (await stat(file)).isFile() ? undefined : `image path \`${file}\` is not a file`;
  } catch (error) {
    const why = errorCode(error) === "ENOENT" ? "No such file or directory (os error 2)" : describe(error);
    return `unable to locate image at \`${file}\`: ${why}`;
  }
}

async function imageMessage(file: string): Promise<RawItem> {
  const cannot = (why: string) => message("user", `Codex cannot attach image at \`${file}\`: ${why}.`);
  try {
    const { size } = await stat(file);
    if (size > MAX_IMAGE_BYTES) return cannot(`${size} bytes are too many`);
    const bytes = await readFile(file);
    const type = imageType(bytes);
    if (type === undefined) return cannot(`unsupported image format \`${typeByName(file)}\``);
    const image_url = `data:${type};base64,${bytes.toString("base64")}`;
    return { type: "message", role: "user", content: [{ type: "input_image", image_url }] };
  } catch (error) {
    return cannot(describe(error));
  }
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
