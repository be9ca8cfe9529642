/** A request that ends here: the status, a sentence for people, and what the answer's headers must say. */
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

/** How a problem is worded in a JSON body; each protocol has its own form. */
export type ProblemText = (problem: HttpProblem) => string;
