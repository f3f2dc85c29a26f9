import type { Reply } from '../../protocol/smtp-reply/index.ts';
import { replyText } from '../../protocol/smtp-reply/index.ts';
import { onAbort } from './abort-watch.ts';
import type { EnvelopeReplies } from './envelope.ts';
import { isAccepted, checkEnvelope, sendEnvelope } from './envelope.ts';
import { messageBlocks, sendContent } from './send-content.ts';
import type {
  DeliverContext,
  DeliveryJob,
  OutboundMessage,
  RecipientOutcome,
  TlsInfo,
  JobOutcome,
} from './delivery-job.ts';
import { forEachRecipient } from './delivery-job.ts';
import { isTooManyRecipients, toOutcome } from './reply-outcome.ts';
import { failureText, type Failure } from './smtp-connection.ts';
import type { SmtpSession } from './smtp-session.ts';
import { REASONS } from './smtp-session.ts';

export type Transmission =
  | { kind: 'done'; outcomes: RecipientOutcome[] }
  /** We refused the message ourselves, and nothing was sent to the peer. */
  | { kind: 'refused'; outcomes: RecipientOutcome[] }
  /**
   * A reused connection turned out to be closed before the peer answered, or was closed by this reply; the job counts as not
   * tried.
   */
  | { kind: 'stale'; reply?: Reply };

/** One mail transaction (RFC 5321 §3.3). Afterwards the session is ready for the next one or its connection failed. */
export async function transmit(session: SmtpSession, job: DeliveryJob, ctx: DeliverContext): Promise<Transmission> {
  const { connection } = session;
  const message = await ctx.message();
  // The steps of the previous message, which may be another team's, are dropped before anything can end this attempt.
  connection.transcript.begin();
  const refusal = checkEnvelope(session, job, message);
  if (refusal) return { kind: 'refused', outcomes: forEachRecipient(job, refusal) };
  const reused = session.used > 0;
  session.used += 1;
  const unwatch = onAbort(ctx.signal, () => connection.fail({ kind: 'aborted', detail: 'the delivery was aborted' }));
  try {
    if (ctx.signal.aborted) connection.fail({ kind: 'aborted', detail: 'the delivery was aborted' });
    if (connection.isOutOfStep) {
      loseTrack(session);
      return reused ? { kind: 'stale' } : done(forEachRecipient(job, brokenOff(session, connection.failure)));
    }
    const replies = await withinTime(session, () => sendEnvelope(session, job, message));
    if (reused && isStale(replies)) {
      connection.fail({ kind: 'lost', detail: 'the idle connection had been closed' });
      return { kind: 'stale', ...(replies.closing ? { reply: replies.closing } : {}) };
    }
    const outcomes = envelopeOutcomes(session, replies, job.recipients);
    if (outcomes.every((outcome) => outcome !== undefined)) {
      await leaveTransaction(session, replies);
      return done(dealOut(session, job, outcomes, undefined));
    }
    const end = await sendContentAndDot(session, message, ctx, unwatch);
    return done(dealOut(session, job, outcomes, end));
  } catch (defect) {
    // The caller's own message() or intend() failed: the peer waits for content that will not come.
    connection.fail({ kind: 'lost', detail: 'closed by this server' });
    throw defect;
  } finally {
    unwatch();
  }
}

async function withinTime<T>({ connection, timeouts }: SmtpSession, dialogue: () => Promise<T>): Promise<T> {
  const detail = `the dialogue before the content took longer than ${timeouts.envelopeMs / 1000} s`;
  const callOff = connection.failAfter(timeouts.envelopeMs, { kind: 'timeout', detail });
  try {
    return await dialogue();
  } finally {
    callOff();
  }
}

function done(outcomes: RecipientOutcome[]): Transmission {
  return { kind: 'done', outcomes };
}

/** True when the peer answered nothing, or only that the session is over: it had given up the idle connection. */
function isStale({ mail, failure, closing }: EnvelopeReplies): boolean {
  if (mail && mail !== closing) return false;
  return closing !== undefined || failure?.kind === 'lost';
}

/** Returns for each recipient why it gets no further, or undefined if it was accepted and DATA may begin. */
function envelopeOutcomes(
  session: SmtpSession,
  replies: EnvelopeReplies,
  recipients: readonly string[],
): (JobOutcome | undefined)[] {
  const unanswered = (recipient: string): JobOutcome =>
    replies.closing ? toOutcome(replies.closing, 'RCPT TO', session, recipient) : brokenOff(session, replies.failure);
  let accepted = 0;
  return recipients.map((recipient, index) => {
    const { mail, data } = replies;
    const rcpt = replies.rcpt[index];
    if (!mail) return unanswered(recipient);
    if (mail.code !== 250) return toOutcome(mail, 'MAIL FROM', session, recipient);
    if (!rcpt) return unanswered(recipient);
    if (!isAccepted(rcpt)) return rcptOutcome(rcpt, session, recipient, accepted);
    accepted += 1;
    if (!data) return unanswered(recipient);
    return data.code === 354 ? undefined : toOutcome(data, 'DATA', session, recipient);
  });
}

function rcptOutcome(rcpt: Reply, session: SmtpSession, recipient: string, acceptedBefore: number): JobOutcome {
  const { mx } = session;
  const outcome = toOutcome(rcpt, 'RCPT TO', session, recipient);
  if (!isTooManyRecipients(rcpt, acceptedBefore)) return outcome;
  return { kind: 'deferred', reason: 'refused_for_now', detail: outcome.detail, reply: rcpt, cause: 'protocol', mx };
}

function brokenOff(session: SmtpSession, failure: Failure | undefined): JobOutcome {
  const why: Failure = failure ?? session.connection.failure ?? { kind: 'lost', detail: 'no reply' };
  return { kind: 'deferred', reason: REASONS[why.kind], detail: `${session.mx}: ${failureText(why)}`, mx: session.mx };
}

/** Ends a transaction in which no recipient was accepted, so that the connection can carry the next one. */
async function leaveTransaction(session: SmtpSession, replies: EnvelopeReplies): Promise<void> {
  const { connection, timeouts } = session;
  if (connection.failure) return;
  if (replies.closing) return connection.quit(timeouts.quitMs);
  if (replies.data && replies.data.code < 400 && replies.data.code !== 354) return loseTrack(session);
  session.needsReset = replies.mail?.code === 250;
  if (replies.data?.code !== 354) return;
  if (replies.rcpt.some(isAccepted)) {
    // The peer took recipients but not the sender: an empty message must not reach them.
    return connection.fail({ kind: 'malformed', detail: 'the peer asked for content after it refused the sender' });
  }
  // RFC 2920 §3.1: DATA was accepted although no recipient was; a single dot ends the empty transfer.
  connection.send('.\r\n');
  session.needsReset = true;
  const { failure } = await connection.read(1, timeouts.dataMs);
  if (failure) connection.fail(failure);
}

/** Ends the connection after an unexpected reply: the peer may take the next command for something else. */
function loseTrack({ connection }: SmtpSession): void {
  connection.fail({ kind: 'malformed', detail: 'the peer sent replies out of order' });
}

type End =
  | { kind: 'delivered'; reply: Reply; mx: string; tls: TlsInfo }
  | { kind: 'ambiguous'; detail: string; mx: string }
  /** The message was refused, and each recipient is judged separately: the text may name one of them. */
  | { kind: 'refused'; reply: Reply }
  | JobOutcome;

const SMALL_BYTES = 64 * 1024;
const DOT = Buffer.from('.\r\n');

/**
 * Sends the content and, once the ledger entry is durable, the final dot. After a crash a delivery without the entry is
 * sent again; one with it only if the log that `mark` writes shows that the dot was not reached. A large message's
 * entry is written after its content has left, because the transfer may take minutes and may be broken off.
 */
async function sendContentAndDot(
  session: SmtpSession,
  message: OutboundMessage,
  { handOff }: DeliverContext,
  unwatch: () => void,
): Promise<End> {
  const { connection, timeouts } = session;
  let last = DOT;
  if (message.size <= SMALL_BYTES && Array.isArray(message.content)) {
    last = Buffer.concat([...messageBlocks(message.content), DOT]);
  } else {
    await sendContent(session, message);
    const stopped = stoppedBy(session);
    if (stopped) return stopped;
  }
  await handOff.intend();
  const stopped = stoppedBy(session);
  if (stopped) return stopped;
  // An abort after this point would cut the connection after the dot, and leave the delivery in doubt.
  unwatch();
  handOff.mark();
  connection.write(last);
  const { replies, failure } = await connection.read(1, timeouts.dataDoneMs);
  return deriveEnd(session, replies[0], failure);
}

/** Returns why the dot must not be written: the connection failed, or a reply arrived before it. */
function stoppedBy(session: SmtpSession): End | undefined {
  const { failure, earlyReply } = session.connection;
  if (failure) return brokenOff(session, failure);
  if (!earlyReply) return undefined;
  loseTrack(session);
  return { kind: 'refused', reply: earlyReply };
}

function deriveEnd(session: SmtpSession, reply: Reply | undefined, failure: Failure | undefined): End {
  const { mx, tls } = session;
  if (!reply) {
    const why = failure ? failureText(failure) : 'no reply';
    return { kind: 'ambiguous', detail: `${mx}: after the final dot: ${why}`, mx };
  }
  if (reply.code === 421) session.connection.quit(session.timeouts.quitMs);
  if (isAccepted(reply)) return { kind: 'delivered', reply, mx, tls };
  if (reply.code >= 400) return { kind: 'refused', reply };
  loseTrack(session);
  return { kind: 'ambiguous', detail: `${mx} replied to the final dot with ${replyText(reply)}`, mx };
}

function dealOut(
  session: SmtpSession,
  job: DeliveryJob,
  outcomes: (JobOutcome | undefined)[],
  end: End | undefined,
): RecipientOutcome[] {
  const noticed = job.asked && session.can.dsn ? { isNoticed: true } : {};
  return job.recipients.map((address, index) => {
    const last = outcomes[index] ?? end;
    if (!last) throw new Error('accepted recipient has no outcome');
    const outcome = last.kind === 'refused' ? toOutcome(last.reply, 'the message', session, address) : last;
    return { ...outcome, ...(outcome.kind === 'delivered' ? noticed : {}), address } as RecipientOutcome;
  });
}
