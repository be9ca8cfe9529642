import path from "node:path";
import { AppError, describe, errorCode } from "../../../lib/errors.js";
import { readGuarded } from "../../../lib/files/guardedRead.js";
import type { Reach } from "../../../threads/limits.js";
import type { ThreadSettings } from "../../../threads/settings.js";
import type { HostEnvironment } from "./hostEnvironment.js";
import { ThreadFiles } from "./threadFiles.js";

/** The providers' limit; larger files would only cost a refused request. */
export const IMAGE_LIMIT = { maxBytes: 20 * 1024 * 1024, larger: "refuse" } as const;

/** A named image cannot be shown to the model. */
class ImageRefused extends AppError {
  readonly code = "image_refused";
}

interface ImageReader {
  readonly settings: ThreadSettings;
  readonly reach: Reach | undefined;
  readonly host: HostEnvironment;
}

/** An image for a turn as a `data:` URL, read by the same rules as for the thread's commands. Throws `ImageRefused`. */
export async function readImage(named: string, { settings, reach, host }: ImageReader): Promise<string> {
  const file = path.resolve(settings.cwd, named);
  const files = new ThreadFiles(settings, host, { running: { reach }, workspace: host.workspaceOf(settings.cwd) });
  try {
    const { bytes } = await readGuarded(file, { ...IMAGE_LIMIT, mayRead: files.mayReadUnasked });
    const address = imageUrlOf(bytes);
    if (address !== undefined) return address;
  } catch (error) {
    const why = errorCode(error) === "ENOENT" ? "there is no such file" : describe(error);
    throw new ImageRefused(`The image ${file} cannot be attached: ${why}`, { cause: error });
  } finally {
    files.close();
  }
  throw new ImageRefused(`The image ${file} cannot be attached: it is not a PNG, JPEG, GIF or WebP`);
}

/** Undefined for formats that models do not accept; judged by the content, not by the name. */
export function imageUrlOf(bytes: Buffer): string | undefined {
  const type = imageType(bytes);
  return type && `data:${type};base64,${bytes.toString("base64")}`;
}

function imageType(bytes: Buffer): string | undefined {
  const starts = (text: string, at = 0) => bytes.subarray(at, at + text.length).toString("latin1") === text;
  if (starts("\x89PNG\r\n\x1a\n")) return isWholePng(bytes) ? "image/png" : undefined;
  if (starts("\xff\xd8\xff")) return "image/jpeg";
  if (starts("GIF87a") || starts("GIF89a")) return "image/gif";
  if (starts("RIFF") && starts("WEBP", 8)) return "image/webp";
  return undefined;
}

const PNG_SIGNATURE_BYTES = 8;
/** The length, the name and the checksum of a chunk. */
const PNG_FRAME_BYTES = 12;

/** A PNG that was cut is refused by providers, and with it the whole request. */
function isWholePng(bytes: Buffer): boolean {
  for (let at = PNG_SIGNATURE_BYTES; at + PNG_FRAME_BYTES <= bytes.length; at += PNG_FRAME_BYTES + bytes.readUInt32BE(at))
    if (bytes.toString("latin1", at + 4, at + 8) === "IEND") return true;
  return false;
}
