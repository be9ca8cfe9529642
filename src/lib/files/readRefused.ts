import { AppError } from "../errors.js";

/** `hidden`: not for this reader; `kernel`: made up while it is read; `kind`: no regular file; `moved`: another file meanwhile; `size`: too large. */
export type RefusedRead = "hidden" | "kernel" | "kind" | "moved" | "size";

const WHY: Readonly<Record<Exclude<RefusedRead, "size">, string>> = {
  hidden: "it is kept from this thread and from its commands. Go on without it.",
  kernel: "it lies in /proc, /sys or /dev, which hold no files of a project. Use a command instead.",
  kind: "it is not a regular file",
  moved: "it was moved or replaced while it was looked at. Try again.",
};

const MIB = 1024 * 1024;

/** A file that is not read. The message ends a sentence that names the file. */
export class ReadRefused extends AppError {
  readonly code = "read_refused";

  constructor(
    readonly reason: RefusedRead,
    { maxBytes = 0 }: { readonly maxBytes?: number } = {},
  ) {
    super(reason === "size" ? `it is larger than ${maxBytes >= MIB ? `${maxBytes / MIB} MiB` : `${maxBytes} bytes`}` : WHY[reason]);
  }
}
