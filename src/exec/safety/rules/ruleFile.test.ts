import { describe, expect, it } from "vitest";
import { matchedPrefix, readPrefixRules } from "./ruleFile.js";

it("a file of rules is read", () => {
  const source = `# what the agent may do
prefix_rule(pattern=["touch"], decision="allow")
prefix_rule(
    pattern = ['git', ["push", 'fetch'],],  # either
    decision = 'prompt',
    justification = """talks to
the "remote\\"""",
    match = ["git push origin", ["git", "fetch"]],
    not_match = ["git status", 'git "pu sh"'],
)
prefix_rule(pattern=["r\\x6d", "\\u002drf"], decision='''forbidden''')
prefix_rule(pattern=["ls"])
`;
  expect(readPrefixRules(source)).toEqual([
    { pattern: [["touch"]], decision: "allow" },
    { pattern: [["git"], ["push", "fetch"]], decision: "prompt", justification: 'talks to\nthe "remote"' },
    { pattern: [["rm"], ["-rf"]], decision: "forbidden" },
    { pattern: [["ls"]], decision: "allow" },
  ]);
});

it.each(["", "\n\n# nothing\n", "# nothing"])("%j holds no rules", (source) => expect(readPrefixRules(source)).toEqual([]));

describe("anything else is an error with its line", () => {
  it.each<[string, number, string]>([
    ["import x", 1, "expected prefix_rule, found import"],
    ["\nx = 1", 2, 'unexpected "1"'],
    ["prefix_rule", 1, "expected (, found the end of the file"],
    ["prefix_rule(pattern=['a']", 1, "expected ), found the end of the file"],
    ["prefix_rule(['a'])", 1, "expected ), found ["],
    ["prefix_rule(pattern=['a'] 'b')", 1, "expected ), found b"],
    ["prefix_rule(pattern=['a' 'b'])", 1, "expected ], found b"],
    ["prefix_rule(pattern=['a'] + ['b'])", 1, 'unexpected "+"'],
    ["prefix_rule(pattern=[x])", 1, "expected a string or a list, found x"],
    ["prefix_rule(\n\npattern='a')", 1, "pattern must be a non-empty list"],
    ["prefix_rule(pattern=[])", 1, "pattern must be a non-empty list"],
    ["prefix_rule(decision='allow')", 1, "pattern must be a non-empty list"],
    ["prefix_rule(pattern=[[]])", 1, "a word of pattern must be a string or a list of strings"],
    ["prefix_rule(pattern=[[['a']]])", 1, "a word of pattern must be a string or a list of strings"],
    ["prefix_rule(pattern=['a'], decision='deny')", 1, "decision must be one of allow, prompt, forbidden"],
    ["prefix_rule(pattern=['a'], decision=['allow'])", 1, "decision must be one of allow, prompt, forbidden"],
    ["prefix_rule(pattern=['a'], justification=' ')", 1, "justification must be a non-empty string"],
    ["prefix_rule(pattern=['a'], justification=['x'])", 1, "justification must be a non-empty string"],
    ["prefix_rule(pattern=['a'],\n pattern=['b'])", 2, "pattern is given twice"],
    ["prefix_rule(pattern=['a'], color='red')", 1, "prefix_rule has no argument color"],
    ["\nprefix_rule(pattern=['a']) prefix_rule(pattern=['b'])", 2, "a second call on the same line"],
    ["prefix_rule(pattern=['a\n'])", 1, `unexpected "'"`],
    ["prefix_rule(pattern=['a])", 1, `unexpected "'"`],
    ["\n\nprefix_rule(pattern=['\\q'])", 3, "unknown escape \\q in a string"],
    ["prefix_rule(pattern=['a'], match=['b'])", 1, 'the rule does not match its example ["b"]'],
    ["prefix_rule(pattern=['a'], not_match=[['a', 'b']])", 1, 'the rule matches ["a","b"], an example it should not match'],
    ["prefix_rule(pattern=['a'], match='a')", 1, "examples must be a list"],
    ["prefix_rule(pattern=['a'], match=['a \"'])", 1, "an example must be a command line or a list of words"],
    ["prefix_rule(pattern=['a'], match=[''])", 1, "an example must be a command line or a list of words"],
    ["prefix_rule(pattern=['a'])\n# fine\nprefix_rule(pattern=['b'], match=['c'])", 3, 'the rule does not match its example ["c"]'],
  ])("%j", (source, line, message) => {
    expect(() => readPrefixRules(source)).toThrow(expect.objectContaining({ code: "rule_syntax", line, message }));
  });
});

it.each<[string[], string[] | undefined]>([
  [
    ["git", "push"],
    ["git", "push"],
  ],
  [
    ["git", "fetch", "--all"],
    ["git", "fetch"],
  ],
  [["git"], undefined],
  [["git", "pull"], undefined],
  [["hg", "push"], undefined],
  [[], undefined],
])("a rule about git push and git fetch matches %j by %j", (argv, prefix) => {
  expect(matchedPrefix({ pattern: [["git"], ["push", "fetch"]], decision: "allow" }, argv)).toEqual(prefix);
});
