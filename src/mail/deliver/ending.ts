import type { Deferral } from './delivery-job.ts';
import { wantsLogin } from './reply-outcome.ts';
import { REASONS, type SmtpSession } from './smtp-session.ts';
import type { Transmission } from './transmit.ts';

/** Consequences of the end of a transaction for later mail. */
export type Ending =
  | { kind: 'worked' }
  /** The peer broke the protocol, which is its own fault, whichever team's mail it was. Every team sees the reason. */
  | { kind: 'broken'; why: Deferral }
  /** The peer ended the session: it may refuse more from this team, and still serve the others. */
  | { kind: 'turned away'; why: Deferral }
  /** The peer is a relay that does not accept our login, or requires one: no mail can use it for now. */
  | { kind: 'login required'; why: Deferral }
  /** The peer takes mail only over TLS, and this connection has none: the next one has to try the handshake again. */
  | { kind: 'tls required' }
  /** The connection had been closed while it was idle. */
  | { kind: 'stale' };

/** Returns what a transaction says about later mail; undefined if nothing, for example after an abort or our own refusal. */
export function deriveEnding({ connection, mx, tls }: SmtpSession, sent: Transmission): Ending | undefined {
  if (sent.kind === 'stale') return { kind: 'stale' };
  if (sent.kind === 'refused') return undefined;
  const { failure } = connection;
  if (failure?.kind === 'aborted') return undefined;
  if (failure) {
    const why: Deferral = { kind: 'deferred', reason: REASONS[failure.kind], detail: `${mx}: ${failure.detail}`, mx };
    return { kind: failure.kind === 'malformed' ? 'broken' : 'turned away', why };
  }
  for (const outcome of sent.outcomes) {
    if (outcome.kind !== 'deferred') continue;
    const { address: _, ...why } = outcome;
    // A relay that refuses some recipients alone still takes the others.
    if (why.reason === 'relay_misconfigured' && why.reply && wantsLogin(why.reply))
      return { kind: 'login required', why: withoutWords(why, mx) };
    if (why.cause === 'tls_required' && tls === null) return { kind: 'tls required' };
    if (why.reason === 'protocol_error') return { kind: 'broken', why: withoutWords(why, mx) };
    // A server that greylists closes some sessions with 421; the message waits, and the destination works.
    if (why.reply?.code === 421 && why.cause !== 'greylist') return { kind: 'turned away', why };
  }
  return { kind: 'worked' };
}

/** Returns the failure without the peer's words, which may name a recipient, for other teams. */
function withoutWords({ kind, reason, reply }: Deferral, mx: string): Deferral {
  const what =
    reason === 'relay_misconfigured' ? 'does not let this server send' : 'sent a reply that matches no command';
  return { kind, reason, detail: `${mx} ${what}: ${reply?.code}`, mx };
}
