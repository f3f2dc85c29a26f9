import type { EmailObject, EmailStatus } from '../../../src/contract/index.ts';
import { ApiFault } from '../../client/index.ts';
import { toneOfEmail } from '../../families/emails.ts';
import { CliFault, styleOf } from '../../output/index.ts';
import type { Session } from '../declare.ts';

const POLL_MS = 250;
const POLL_MS_MAX = 3000;

/** A delivered email may still be opened; whatever has come that far was delivered. */
const SETTLED: Record<EmailStatus, 'delivered' | 'lost' | undefined> = {
  queued: undefined,
  scheduled: undefined,
  sent: undefined,
  delivery_delayed: undefined,
  delivered: 'delivered',
  opened: 'delivered',
  clicked: 'delivered',
  complained: 'delivered',
  bounced: 'lost',
  failed: 'lost',
  suppressed: 'lost',
  canceled: 'lost',
};

/** Asks ever more slowly, because the rate limit is shared by the whole team. */
export async function waitUntilSettled(session: Session, id: string, limitMs: number): Promise<void> {
  const { terminal, isJson } = session;
  const began = performance.now();
  for (let pauseMs = POLL_MS; ; pauseMs = Math.min(pauseMs * 1.5, POLL_MS_MAX)) {
    const email = await look(session, id);
    const verdict = email && SETTLED[email.last_event];
    const waitedMs = performance.now() - began;
    if (email && verdict) {
      terminal.progress('');
      if (isJson) terminal.printJson(email);
      else print(session, email);
      if (verdict === 'lost') session.fail();
      return;
    }
    const state = email?.last_event ?? 'queued';
    if (waitedMs >= limitMs) {
      terminal.progress('');
      if (isJson && email) terminal.printJson(email);
      else terminal.print(`${id}\t${state}`);
      const seconds = Math.round(limitMs / 1000);
      throw new CliFault(`the email is not settled after ${seconds} s (${state}); it is still being tried.`, 'failed', {
        words: 'See what becomes of it with',
        command: ['explain', id],
      });
    }
    terminal.progress(`${id}  ${state}, ${Math.round(waitedMs / 1000)} s`);
    await new Promise((resolve) => void setTimeout(resolve, Math.min(pauseMs, limitMs - waitedMs)));
  }
}

async function look({ client }: Session, id: string): Promise<EmailObject | undefined> {
  try {
    return await client.call('getEmail', { path: { email_id: id } });
  } catch (error) {
    if (!(error instanceof ApiFault)) throw error;
    // Others of the team use the same allowance; there will be some again.
    if (error.body.name === 'rate_limit_exceeded') return undefined;
    if (error.status === 401 || error.status === 403) {
      throw new CliFault(
        `the email was accepted as ${id}, but this key may only send, so its fate cannot be waited for`,
        'auth',
      );
    }
    throw error;
  }
}

function print({ terminal }: Session, email: EmailObject): void {
  const { last_event: state, id } = email;
  if (terminal.isTty) terminal.print(`${terminal.paint(styleOf(toneOfEmail(state)), state)}  ${id}`);
  else terminal.print(`${id}\t${state}`);
}
