/**
 * The patch format as a Lark grammar, for models that are held to it while they write. Stricter than the parser: no blank lines
 * between sections, no empty new files, a chunk's lines all with their prefix.
 */
export const PATCH_GRAMMAR = `start: "*** Begin Patch" LF section+ "*** End Patch" LF?

section: added | deleted | updated
added: "*** Add File: " path LF new_line+
deleted: "*** Delete File: " path LF
updated: "*** Update File: " path LF moved? first_chunk chunk*
moved: "*** Move to: " path LF

first_chunk: anchor? lines
chunk: anchor lines
anchor: "@@" (" " heading)? LF
lines: line+ at_end?
at_end: "*** End of File" LF

line: kept_line | new_line | old_line
kept_line: / [^\\r\\n]*/ LF
new_line: /\\+[^\\r\\n]*/ LF
old_line: /-[^\\r\\n]*/ LF

path: /[^\\r\\n]+/
heading: /[^\\r\\n]+/

%import common.LF
`;
