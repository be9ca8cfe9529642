/** A range of lines of a file, counted from 1. */
export interface AskedLines {
  /** Relative to the thread's folder, or absolute. */
  readonly file: string;
  readonly first: number;
  readonly last: number;
}

/** A range of lines of a file, with some lines around it. */
export interface FileExcerpt {
  /** Relative to the thread's folder. */
  readonly path: string;
  /** The number of the first of `lines`. */
  readonly firstLine: number;
  readonly lines: readonly string[];
  /** Undefined if the file is longer than the part that is read. */
  readonly totalLines: number | undefined;
  /** Requested lines are missing at the end, or lines were shortened. */
  readonly isCut: boolean;
}
