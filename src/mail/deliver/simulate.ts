import { SIMULATED } from '../../protocol/explain-delivery.ts';
import type { Reply } from '../../protocol/smtp-reply/index.ts';
import type { DeliveryJob, RecipientOutcome } from './delivery-job.ts';

const DELAY_MS = 2_000;

/** The mailbox simulator: each recipient's local part says how its delivery ends. Nothing leaves the process. */
export function simulate(job: DeliveryJob): RecipientOutcome[] {
  return job.recipients.map((address) => simulateOne(job, address));
}

function simulateOne(job: DeliveryJob, address: string): RecipientOutcome {
  const mx = job.domain;
  switch (extractMailbox(address)) {
    case 'delivered':
      return delivered(address, mx);
    case 'complained':
      return { ...delivered(address, mx), then: ['complained'] };
    case 'opened':
      return { ...delivered(address, mx), then: ['opened'] };
    case 'clicked':
      return { ...delivered(address, mx), then: ['clicked'] };
    case 'suppressed':
      return { kind: 'suppressed', address };
    case 'full':
      return bounced(address, mx, reply(552, '5.2.2', 'Mailbox full'));
    case 'delayed':
      return job.attempt > 1 ? delivered(address, mx) : deferred(address, mx);
    case 'bounced':
    default:
      return bounced(address, mx, reply(550, '5.1.1', 'No such user'));
  }
}

function extractMailbox(address: string): string {
  const local = address.slice(0, address.lastIndexOf('@')).toLowerCase();
  return local.split('+', 1)[0] ?? local;
}

type Delivered = Extract<RecipientOutcome, { kind: 'delivered' }>;

function delivered(address: string, mx: string): Delivered {
  return {
    kind: 'delivered',
    address,
    reply: reply(250, '2.0.0', SIMULATED),
    mx,
    tls: null,
  };
}

function bounced(address: string, mx: string, answer: Reply): RecipientOutcome {
  return { kind: 'bounced', address, reason: 'refused', detail: formatDetail(answer), reply: answer, mx };
}

function deferred(address: string, mx: string): RecipientOutcome {
  const answer = reply(451, '4.3.0', 'Try again in a moment');
  const detail = formatDetail(answer);
  return { kind: 'deferred', address, reason: 'refused_for_now', detail, reply: answer, mx, retryAfterMs: DELAY_MS };
}

function reply(code: number, enhanced: string, text: string): Reply {
  return { code, enhanced, lines: [text] };
}

function formatDetail(answer: Reply): string {
  return `The mailbox simulator replied to RCPT TO with ${answer.code} ${answer.enhanced ?? ''} ${answer.lines.join(' ')}`;
}
