import { Receipt } from "../../agent/receipt.js";
import { type Call, seesStructuredContent } from "../call.js";
import type { TurnCall } from "../tools/tools.js";
import { type CallToolResult, turnResult } from "../wording/callResult.js";
import { TurnView } from "../wording/turnView.js";
import { ElicitationChannel } from "./elicitationChannel.js";

/**
 * Attaches a call to its turn: the client sees what happens until the turn ends, and a cancelled call interrupts it.
 * The call does not own the turn; others may read the same log.
 */
export async function followTurn(turnCall: TurnCall, call: Call): Promise<CallToolResult> {
  const { turn, agent, presentation, ifSilent } = turnCall;
  const interrupt = () => turn.interrupt();
  call.signal.addEventListener("abort", interrupt, { once: true });
  if (call.signal.aborted) interrupt();
  const receipt = new Receipt();
  const client = new TurnView(turn, call, presentation);
  const questions = new ElicitationChannel(call, turnCall);
  try {
    for await (const batch of turn.log.read()) {
      for (const { value } of batch) {
        client.show(value);
        questions.take(value);
        receipt.observe(value);
        // Within a batch too: a reader that was behind gets everything it missed in one.
        const congestion = call.peer.congested();
        if (congestion) await congestion;
      }
    }
    const { threadId } = turn;
    const nameThreadInText = !seesStructuredContent(call);
    const { results } = presentation;
    return turnResult(await turn.outcome, { threadId, engine: agent.engineName, receipt, ifSilent, nameThreadInText, results });
  } finally {
    client.close();
    await questions.close();
    call.signal.removeEventListener("abort", interrupt);
  }
}
