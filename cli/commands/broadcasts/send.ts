import { setTimeout as wait } from 'node:timers/promises';
import type { AnswerOf } from '../../client/index.ts';
import { broadcastInWords, resumeIt } from '../../families/index.ts';
import { buildCall } from '../../input/index.ts';
import { cleanLines } from '../../output/index.ts';
import type { Session } from '../declare.ts';
import { prepare, printResponse, type Call } from '../run-action.ts';
import { progressBar } from '../progress-bar.ts';

type Broadcast = AnswerOf<'getBroadcast'>;

const LOOK_MS = 500;

export async function runSend(session: Session, call: Call): Promise<void> {
  const { client, terminal, isJson } = session;
  const [path, body] = await prepare(session, call);
  const answer = await client.call(...buildCall(call.action, path, body));
  if (call.options['watch'] !== true) return printResponse(session, call, answer, body);
  const last = await follow(session, (answer as { id: string }).id);
  const isStopped = last.held !== null || last.paused !== null;
  if (isStopped || last.status === 'canceled' || last.status === 'failed') session.fail();
  if (isJson) return terminal.printJson(last);
  const [said = '', ...more] = broadcastInWords(last);
  terminal.print(said);
  for (const line of more) terminal.warn(`rasket: ${cleanLines(line)}`);
  if (isStopped) session.advise(resumeIt(last));
}

/**
 * Follows until there is nothing to wait for: a broadcast that is scheduled for later, paused or held would be waited for
 * in vain.
 */
async function follow({ client, terminal }: Session, id: string): Promise<Broadcast> {
  for (;;) {
    const seen = await client.call('getBroadcast', { path: { broadcast_id: id } });
    const isForLater = seen.next_at !== null && Date.parse(seen.next_at) > Date.now();
    const isStopped = seen.held !== null || seen.paused !== null;
    const isOver = isForLater || isStopped || (seen.status !== 'queued' && seen.status !== 'sending');
    const done = seen.recipients + seen.excluded;
    const bar = progressBar(done, Math.max(seen.total ?? 0, done), `${seen.excluded} excluded`, terminal.columns);
    terminal.progress(isOver ? '' : bar);
    if (isOver) return seen;
    await wait(LOOK_MS);
  }
}
