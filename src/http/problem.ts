/** A request that fails: the status, a message for people, and the response's headers. */
export class HttpProblem extends Error {
  override readonly name: string = "HttpProblem";
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;

  constructor(status: number, message: string, headers: Readonly<Record<string, string>> = {}) {
    super(message);
    this.status = status;
    this.headers = headers;
  }
}

/** The JSON body of a problem; each protocol has its own format. */
export type ProblemText = (problem: HttpProblem) => string;
