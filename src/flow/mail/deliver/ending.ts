import type { Deferral, RecipientOutcome } from './delivery-job.ts';
import { REASONS, type SmtpSession } from './smtp-session.ts';

/** What the way in which a transaction ended says about the mail that comes next. */
export type Ending =
  | { kind: 'worked' }
  /** The peer broke the protocol, which is its fault whoever's mail that was. */
  | { kind: 'broken'; why: Deferral }
  /** The peer ended the session: it may have had enough of one sender, while it goes on serving the others. */
  | { kind: 'turned away'; why: Deferral };

/** Undefined where it says nothing. */
export function endingOf({ connection, mx, used }: SmtpSession, outcomes: RecipientOutcome[]): Ending | undefined {
  const { failure } = connection;
  if (failure?.kind === 'aborted' || used === 0) return undefined;
  if (failure) {
    const why: Deferral = { kind: 'deferred', reason: REASONS[failure.kind], detail: `${mx}: ${failure.detail}`, mx };
    return { kind: failure.kind === 'malformed' ? 'broken' : 'turned away', why };
  }
  for (const outcome of outcomes) {
    if (outcome.kind !== 'deferred') continue;
    const { address: _, ...why } = outcome;
    if (why.reason === 'protocol_error') return { kind: 'broken', why };
    if (why.reply?.code === 421) return { kind: 'turned away', why };
  }
  return { kind: 'worked' };
}
