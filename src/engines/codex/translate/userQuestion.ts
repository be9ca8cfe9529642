import type { Fields } from "../../../lib/fields.js";
import { NEEDS_PERSON, type Question } from "./question.js";
import { fieldsOf, listOf, saidText, textOf, textsOf } from "./read.js";

/** The agent asks its user something. Without an answer it goes on by its own judgement. */
export const userQuestion: Question = {
  read(params, { settings }) {
    const questions = questionsOf(params);
    if (questions.length === 0 || settings.approvalPolicy === "never") return { kind: "answer", result: { answers: {} } };
    // A form shows what is typed, and clients may keep it.
    if (questions.some((question) => question["isSecret"] === true)) return { kind: "refuse", message: "secrets cannot be asked for here" };
    return {
      kind: "ask",
      subject: {
        kind: "form",
        callId: textOf(params["itemId"]),
        ...NEEDS_PERSON,
        server: "codex",
        message: questions.map((question) => textOf(question["question"])).join("\n"),
        requestedSchema: {
          type: "object",
          properties: Object.fromEntries(questions.map((question) => [textOf(question["id"]), property(question)])),
        },
      },
    };
  },
  answer(decision, params) {
    const content = decision.kind === "answered" ? decision.content : {};
    const answered = questionsOf(params)
      .map((question) => textOf(question["id"]))
      .flatMap((id) => {
        const answers = answersOf(content[id]);
        return answers.length === 0 ? [] : [[id, { answers }]];
      });
    return { answers: Object.fromEntries(answered) };
  },
};

function questionsOf(params: Fields): Fields[] {
  return listOf(params["questions"])
    .map(fieldsOf)
    .filter((question) => saidText(question["id"]) !== undefined);
}

/** Where other answers than the offered ones are welcome, the offers are only described. */
function property(question: Fields): Fields {
  const options = listOf(question["options"]).map(fieldsOf);
  const offers = options.map((option) => `${textOf(option["label"])}: ${textOf(option["description"])}`);
  const isClosed = options.length > 0 && question["isOther"] !== true;
  return {
    type: "string",
    title: saidText(question["header"]) ?? textOf(question["id"]),
    description: [textOf(question["question"]), ...offers].join("\n"),
    ...(isClosed ? { enum: options.map((option) => textOf(option["label"])) } : {}),
  };
}

function answersOf(value: unknown): string[] {
  const said = saidText(value);
  return said === undefined ? textsOf(value) : [said];
}
