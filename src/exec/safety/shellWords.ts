/** The words of one command line, quotes and backslashes resolved, nothing expanded; undefined when a quote stays open. */
export function shellWords(line: string): string[] | undefined {
  const words: string[] = [];
  let word: string | undefined;
  const token = /\s+|'([^']*)'|"((?:[^"\\]|\\.)*)"|\\(.)|([^\s'"\\]+)/gsy;
  let end = 0;
  for (let match = token.exec(line); match; match = token.exec(line)) {
    end = token.lastIndex;
    const [blank, single, double, escaped, bare] = match;
    const piece = single ?? double?.replace(/\\([$`"\\])/g, "$1") ?? escaped ?? bare;
    if (piece !== undefined) word = (word ?? "") + piece;
    else if (blank && word !== undefined) {
      words.push(word);
      word = undefined;
    }
  }
  if (end < line.length) return undefined;
  return word === undefined ? words : [...words, word];
}
