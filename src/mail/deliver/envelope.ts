import { normalizeAddress } from '../../protocol/address/index.ts';
import { encodeXtext, type Notify } from '../../protocol/dsn.ts';
import type { Reply } from '../../protocol/smtp-reply/index.ts';
import type { DeliveryJob, OutboundMessage, JobOutcome } from './delivery-job.ts';
import { ownBounce } from './delivery-job.ts';
import type { Failure } from './smtp-connection.ts';
import type { SmtpSession } from './smtp-session.ts';

/** The replies to MAIL, to each RCPT, and to DATA, as far as they arrived. */
export interface EnvelopeReplies {
  mail?: Reply;
  rcpt: (Reply | undefined)[];
  data?: Reply;
  /** Why replies are missing. After a 421 they are missing without a failure. */
  failure?: Failure;
  /** The 421 that ended the session, whichever command it answered. */
  closing?: Reply;
}

/** Refuses what this peer cannot accept: addresses that break a command, missing extensions, size. */
export function checkEnvelope(
  session: SmtpSession,
  job: DeliveryJob,
  message: OutboundMessage,
): JobOutcome | undefined {
  const addresses = [job.mailFrom, ...job.recipients];
  const malformed = addresses.find((address) => UNSPEAKABLE.test(address));
  if (malformed !== undefined) {
    return ownBounce(
      'malformed_address',
      553,
      '5.1.3',
      `The address ${JSON.stringify(malformed)} cannot be used in SMTP`,
    );
  }
  const needsSmtpUtf8 = message.needsSmtpUtf8 || addresses.some((address) => BEYOND_ASCII.test(address));
  if (needsSmtpUtf8 && !session.can.smtpUtf8) {
    const detail = `${session.mx} does not accept non-ASCII addresses or headers (SMTPUTF8)`;
    return ownBounce('smtputf8_unsupported', 553, '5.6.7', detail);
  }
  if (message.isEightBit && !session.can.eightBitMime) {
    const detail = `${session.mx} does not accept 8-bit content (8BITMIME); encode it as quoted-printable or base64`;
    return ownBounce('eight_bit_unsupported', 554, '5.6.3', detail);
  }
  if (job.asked?.requiresTls && !session.can.requireTls) {
    const detail = `${session.mx} does not promise to relay the message over TLS only (REQUIRETLS)`;
    return ownBounce('requiretls_unsupported', 550, '5.7.30', detail);
  }
  if (session.can.sizeMax > 0 && message.size > session.can.sizeMax) {
    const detail = `The message has ${message.size} bytes; ${session.mx} accepts at most ${session.can.sizeMax}`;
    return ownBounce('too_large', 552, '5.3.4', detail);
  }
  return undefined;
}

// A control character would end the command and start another one; angle brackets would end the path.
const UNSPEAKABLE = /[\u0000-\u001f\u007f<>]/;
const BEYOND_ASCII = /[^\u0000-\u007f]/;

/** Sends MAIL, RCPT and DATA: pipelined when the peer allows it (RFC 2920), otherwise one by one. */
export function sendEnvelope(
  session: SmtpSession,
  job: DeliveryJob,
  message: OutboundMessage,
): Promise<EnvelopeReplies> {
  const mail = mailCommand(session, job, message);
  return session.can.pipelining ? pipelined(session, job, mail) : oneByOne(session, job, mail);
}

function mailCommand({ can }: SmtpSession, job: DeliveryJob, message: OutboundMessage): string {
  let command = `MAIL FROM:<${job.mailFrom}>`;
  if (can.sizeMax > 0) command += ` SIZE=${message.size}`;
  if (can.eightBitMime) command += ' BODY=8BITMIME';
  const needsSmtpUtf8 = message.needsSmtpUtf8 || [job.mailFrom, ...job.recipients].some((a) => BEYOND_ASCII.test(a));
  if (needsSmtpUtf8) command += ' SMTPUTF8';
  const { asked } = job;
  if (asked?.requiresTls) command += ' REQUIRETLS';
  if (can.dsn && asked?.ret !== undefined) command += ` RET=${asked.ret}`;
  if (can.dsn && asked?.envelopeId !== undefined) command += ` ENVID=${encodeXtext(asked.envelopeId)}`;
  return `${command}\r\n`;
}

const ALWAYS_ASKED: readonly Notify[] = ['FAILURE', 'DELAY'];

/**
 * Passes the sender's wishes for notices on to a peer that offers DSN (RFC 3461 §5.2.1). The return path is ours:
 * failures and delays are always asked for, because they become events and keep dead addresses off the next send; of
 * these, we send the sender only what it asked for.
 */
function rcptCommand({ can }: SmtpSession, { asked }: DeliveryJob, address: string): string {
  const { notify, original } = (can.dsn && asked?.recipients[normalizeAddress(address)]) || {};
  let command = `RCPT TO:<${address}>`;
  if (notify !== undefined)
    command += ` NOTIFY=${[...notify.filter((what) => !ALWAYS_ASKED.includes(what)), ...ALWAYS_ASKED].join(',')}`;
  if (original !== undefined) {
    const type = original.indexOf(';') + 1;
    command += ` ORCPT=${original.slice(0, type)}${encodeXtext(original.slice(type))}`;
  }
  return `${command}\r\n`;
}

async function pipelined(session: SmtpSession, job: DeliveryJob, mail: string): Promise<EnvelopeReplies> {
  const { connection, timeouts } = session;
  const reset = session.needsReset;
  session.needsReset = false;
  let commands = reset ? `RSET\r\n${mail}` : mail;
  for (const address of job.recipients) commands += rcptCommand(session, job, address);
  connection.send(`${commands}DATA\r\n`);
  const expected = job.recipients.length + 2 + (reset ? 1 : 0);
  const silenceMs = Math.max(timeouts.mailMs, timeouts.rcptMs, timeouts.dataMs);
  const { replies, failure } = await connection.read(expected, silenceMs);
  const closing = cutAtClosing(replies);
  if (reset) replies.shift();
  const answered: EnvelopeReplies = { rcpt: replies.slice(1, job.recipients.length + 1) };
  if (replies[0]) answered.mail = replies[0];
  const data = replies[job.recipients.length + 1];
  if (data) answered.data = data;
  if (failure) answered.failure = failure;
  if (closing) answered.closing = closing;
  return answered;
}

async function oneByOne(session: SmtpSession, job: DeliveryJob, mail: string): Promise<EnvelopeReplies> {
  const { timeouts } = session;
  const answered: EnvelopeReplies = { rcpt: [] };
  const ask = async (command: string, silenceMs: number): Promise<Reply | undefined> => {
    session.connection.send(command);
    const { replies, failure } = await session.connection.read(1, silenceMs);
    if (failure) answered.failure = failure;
    if (replies[0]?.code === 421) answered.closing = replies[0];
    return replies[0];
  };
  if (session.needsReset) {
    session.needsReset = false;
    const reset = await ask('RSET\r\n', timeouts.rsetMs);
    if (!reset || answered.closing) return answered;
  }
  const answer = await ask(mail, timeouts.mailMs);
  if (!answer) return answered;
  answered.mail = answer;
  if (answer.code !== 250) return answered;
  for (const address of job.recipients) {
    answered.rcpt.push(await ask(rcptCommand(session, job, address), timeouts.rcptMs));
    if (answered.failure || answered.closing) return answered;
  }
  if (!answered.rcpt.some(isAccepted)) return answered;
  const data = await ask('DATA\r\n', timeouts.dataMs);
  if (data) answered.data = data;
  return answered;
}

/** RFC 5321 §4.3.2: 250, 251 (will forward) and 252 (cannot verify, will try) all take the recipient. */
export function isAccepted(reply: Reply | undefined): boolean {
  return reply !== undefined && reply.code >= 200 && reply.code < 300;
}

/** Finds the 421, which is the peer's last reply (RFC 5321 §3.8), and drops all replies after it. */
function cutAtClosing(replies: Reply[]): Reply | undefined {
  const at = replies.findIndex((reply) => reply.code === 421);
  if (at === -1) return undefined;
  replies.length = at + 1;
  return replies[at];
}
