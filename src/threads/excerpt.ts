/** Lines of a file that somebody wants to look at, counted from 1. */
export interface AskedLines {
  /** From the thread's folder on, or a whole path. */
  readonly file: string;
  readonly first: number;
  readonly last: number;
}

/** Lines of a file with some around them. */
export interface FileExcerpt {
  /** From the thread's folder on. */
  readonly path: string;
  /** The number of the first of `lines`. */
  readonly firstLine: number;
  readonly lines: readonly string[];
  /** Undefined where the file is longer than what is read of it. */
  readonly totalLines: number | undefined;
  /** Lines were left out at the end of what was asked for, or cut. */
  readonly isCut: boolean;
}
