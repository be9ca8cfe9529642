const FENCE = /^ {0,3}(`{3,}|~{3,})/;
/** A line that continues the list or quotation before an empty line. */
const CONTINUES = /^(?:\s+\S|[-*+>]\s|\d{1,9}[.)]\s|\|)/;

/**
 * Splits the text into blocks that are rendered separately, so that a streaming answer renders only its last block again. Blocks end at empty lines
 * outside of fenced code and lists.
 */
export function markdownBlocks(text: string): readonly string[] {
  const blocks: string[] = [];
  let block: string[] = [];
  let fence: string | undefined;
  for (const line of text.split("\n")) {
    const isAfterGap = fence === undefined && block.length > 0 && block.at(-1)?.trim() === "";
    if (isAfterGap && line.trim() !== "" && !CONTINUES.test(line)) {
      blocks.push(block.join("\n"));
      block = [];
    }
    const mark = FENCE.exec(line)?.[1];
    if (mark && fence === undefined) fence = mark;
    else if (mark && fence && mark.startsWith(fence)) fence = undefined;
    block.push(line);
  }
  if (block.length > 0) blocks.push(block.join("\n"));
  return blocks;
}
