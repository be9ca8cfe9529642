/**
 * What a calling model should know before it looks at any tool. Some clients load only this text and the tool names, and truncate the text
 * at 2,048 characters.
 */
export const INSTRUCTIONS = `Codex is a second coding agent on this machine.
- \`codex-query\`: ask about code or get a second opinion. It cannot write and never asks; safe in plan mode, several at once.
- \`codex\`: have work done. Give a self-contained prompt, an absolute \`cwd\`, and \`sandbox: "workspace-write"\` if files must change (unless configured otherwise they cannot).
- \`codex-review\`: have changes reviewed, with findings as data.
- \`codex-reply\`: continue the same work on its \`threadId\`; start over with \`codex\`.
Turns take 1 to 20 minutes. If a result says \`status: "running"\`, call \`codex-wait\` with its \`threadId\` (or \`codex-reply\` without a prompt); never send the task again. If it lists approvals that wait, ask the user, then call \`codex-answer\`. \`codex-steer\` tells a running turn more, \`codex-manage\` stops it. Check \`files\` in the result rather than the summary. Omit \`model\` unless the user names one. Lost an id, or an answer was cut: \`codex-threads\`.`;
