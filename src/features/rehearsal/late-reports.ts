import { connect, type Socket } from 'node:net';
import { isoTime, type Clock } from '../../platform/clock.ts';
import type { LateBounce, Minutes } from './behaviour.ts';
import { decideFate, type Host, type Receiver } from './receivers.ts';
import type { Seen, SeenMessage, SeenReport } from './seen.ts';

export interface SendingServer {
  host: string;
  port: number;
}

export interface LateReportParts {
  clock: Clock;
  random: () => number;
  seen: Seen;
  /** Returns the port at which the sending server receives mail; without one, reports are recorded as failed. */
  back: () => SendingServer | undefined;
  onComplaint(receiver: Receiver, from: string): void;
}

export interface LateReports {
  /** Plans the reports about a message that a receiver has accepted. */
  plan(receiver: Receiver, message: SeenMessage, about: { from: string; head: string }): void;
  /** Resolves when no report is being sent; those whose time has not come are not waited for. */
  settled(): Promise<void>;
  close(): void;
}

const MINUTE_MS = 60_000;
const TRIES = 4;
const RETRY_MS = 5 * MINUTE_MS;

/** Sends bounces and complaints about accepted mail to its return path, as mailbox providers do minutes or hours later. */
export function createLateReports({ clock, random, seen, back, onComplaint }: LateReportParts): LateReports {
  const cancels = new Set<() => void>();
  const sockets = new Set<Socket>();
  const running = new Set<Promise<void>>();
  let isClosed = false;

  function later(ms: number, work: () => Promise<void>): void {
    const cancel = clock.timer(ms, () => {
      cancels.delete(cancel);
      const done = work().finally(() => running.delete(done));
      running.add(done);
    });
    cancels.add(cancel);
  }

  function plan(receiver: Receiver, message: SeenMessage, { from, head }: { from: string; head: string }): void {
    const { bounce_later: bounce, complain_later: complaint } = receiver.behaviour;
    if (message.mailFrom === '') return;
    const host = receiver.hosts.find(({ name }) => name === message.host);
    if (!host) return;
    for (const recipient of message.recipients) {
      const about = { host, message, recipient, head };
      const fate = decideFate(receiver.behaviour, recipient);
      if (bounce && fate === 'bounces') {
        begin('bounce', bounce.after_minutes, about, () => composeBounce(about, bounce, clock.now()));
      } else if (complaint && fate === 'complains') {
        const compose = (): string => {
          onComplaint(receiver, from);
          return composeComplaint(about, from, clock.now());
        };
        begin('complaint', complaint.after_minutes, about, compose);
      }
    }
  }

  function begin(kind: SeenReport['kind'], [from, to]: Minutes, about: About, compose: () => string): void {
    const ms = (from + (to - from) * random()) * MINUTE_MS;
    const report: SeenReport = {
      kind,
      provider: about.message.provider,
      recipient: about.recipient,
      returnPath: about.message.mailFrom,
      dueAt: clock.now() + ms,
      state: 'waiting',
    };
    seen.reports.push(report);
    let text: string | undefined;
    const attempt = async (triesLeft: number): Promise<void> => {
      text ??= compose();
      const mailFrom = kind === 'bounce' ? '' : `feedback@${about.host.name}`;
      const reply = await submit({ mailFrom, to: report.returnPath, text, host: about.host });
      report.reply = reply;
      if (reply.startsWith('2')) report.state = 'delivered';
      else if (isClosed || triesLeft <= 1 || reply.startsWith('5')) report.state = 'failed';
      else later(RETRY_MS, () => attempt(triesLeft - 1));
      seen.changed();
    };
    later(ms, () => attempt(TRIES));
  }

  /** Returns the reply to the message, or the one that ended the dialogue. */
  async function submit({ mailFrom, to, text, host }: Submission): Promise<string> {
    const server = back();
    if (!server) return '521 5.3.2 the sending server receives no mail';
    const socket = connect({ ...server, localAddress: host.address });
    sockets.add(socket);
    const read = createReplyReader(socket);
    try {
      const lines = [`EHLO ${host.name}`, `MAIL FROM:<${mailFrom}>`, `RCPT TO:<${to}>`, 'DATA'];
      let reply = await read();
      for (const line of lines) {
        if (!/^[23]/.test(reply)) return reply;
        socket.write(`${line}\r\n`);
        reply = await read();
      }
      if (!reply.startsWith('354')) return reply;
      socket.write(`${text.replaceAll(/^\./gm, '..')}\r\n.\r\n`);
      reply = await read();
      socket.write('QUIT\r\n');
      return reply;
    } finally {
      sockets.delete(socket);
      socket.end();
    }
  }

  return {
    plan,
    async settled() {
      while (running.size > 0) await Promise.all(running);
    },
    close() {
      isClosed = true;
      for (const cancel of cancels) cancel();
      for (const socket of sockets) socket.destroy();
    },
  };
}

interface Submission {
  mailFrom: string;
  to: string;
  text: string;
  host: Host;
}

/** Reads whole replies, one at each call; a connection that ends is a temporary failure. */
function createReplyReader(socket: Socket): () => Promise<string> {
  let pending = '';
  let ended: string | undefined;
  let wake = (): void => undefined;
  socket.on('data', (bytes: Buffer) => {
    pending += bytes.toString('utf8');
    wake();
  });
  socket.on('error', (error) => {
    ended = `451 4.4.1 ${error.message}`;
    wake();
  });
  socket.on('close', () => {
    ended ??= '451 4.4.2 the connection ended';
    wake();
  });
  return async () => {
    for (;;) {
      const found = /^(?:\d{3}-[^\n]*\n)*\d{3}(?: [^\n]*)?\r?\n/.exec(pending);
      if (found) {
        pending = pending.slice(found[0].length);
        return found[0].trimEnd();
      }
      if (ended !== undefined) return ended;
      await new Promise<void>((done) => (wake = done));
    }
  };
}

interface About {
  host: Host;
  message: SeenMessage;
  recipient: string;
  /** The header of the message. */
  head: string;
}

const lines = (...all: string[]): string => all.join('\r\n');

/** Formats a delivery status notification (RFC 3464). */
function composeBounce({ host, message, recipient, head }: About, bounce: LateBounce, now: number): string {
  return lines(
    `From: Mail Delivery Subsystem <mailer-daemon@${host.name}>`,
    `To: <${message.mailFrom}>`,
    'Subject: Undelivered Mail Returned to Sender',
    `Date: ${formatDate(now)}`,
    `Message-ID: <${now}.${hashRecipient(recipient, message)}@${host.name}>`,
    'Auto-Submitted: auto-replied',
    'MIME-Version: 1.0',
    'Content-Type: multipart/report; report-type=delivery-status; boundary="report"',
    '',
    '--report',
    'Content-Type: text/plain; charset=utf-8',
    '',
    `Your message could not be delivered to <${recipient}>.`,
    '',
    '--report',
    'Content-Type: message/delivery-status',
    '',
    `Reporting-MTA: dns; ${host.name}`,
    '',
    `Final-Recipient: rfc822; ${recipient}`,
    'Action: failed',
    `Status: ${bounce.status}`,
    `Diagnostic-Code: ${bounce.diagnostic.replaceAll('{recipient}', recipient).replaceAll('{host}', host.name)}`,
    '',
    '--report',
    'Content-Type: text/rfc822-headers',
    '',
    head.trimEnd(),
    '',
    '--report--',
  );
}

/** Formats a complaint (RFC 5965). */
function composeComplaint({ host, message, recipient, head }: About, from: string, now: number): string {
  return lines(
    `From: Feedback <feedback@${host.name}>`,
    `To: <${message.mailFrom}>`,
    'Subject: Complaint about a message',
    `Date: ${formatDate(now)}`,
    `Message-ID: <${now}.${hashRecipient(recipient, message)}@${host.name}>`,
    'MIME-Version: 1.0',
    'Content-Type: multipart/report; report-type=feedback-report; boundary="report"',
    '',
    '--report',
    'Content-Type: text/plain; charset=utf-8',
    '',
    'A reader has marked the attached message as unwanted.',
    '',
    '--report',
    'Content-Type: message/feedback-report',
    '',
    'Feedback-Type: abuse',
    'User-Agent: rehearsal/1.0',
    'Version: 1',
    `Original-Mail-From: <${message.mailFrom}>`,
    `Original-Rcpt-To: <${recipient}>`,
    `Source-IP: ${from}`,
    `Arrival-Date: ${formatDate(message.at)}`,
    '',
    '--report',
    'Content-Type: text/rfc822-headers',
    '',
    head.trimEnd(),
    '',
    '--report--',
  );
}

const formatDate = (ms: number): string => new Date(isoTime(ms)).toUTCString().replace('GMT', '+0000');

const hashRecipient = (recipient: string, { connection, messageId }: SeenMessage): string =>
  Buffer.from(`${connection} ${messageId} ${recipient}`).toString('base64url').slice(-40);
