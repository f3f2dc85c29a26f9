import type { Happening } from '../../src/mail/events/index.ts';
import type { TriedRecipient } from '../../src/mail/emails/index.ts';
import type { Dice } from './dice.ts';

/** One thing that happens to an email, so many milliseconds after it was accepted. */
export type Moment = { after: number } & (
  | { happens: Happening }
  /** A try to deliver. */
  | { tried: TriedRecipient; attempt: number }
);

const SECOND = 1000;
const MINUTE = 60 * SECOND;

const ENDINGS = [
  ['delivered', 40],
  ['opened', 34],
  ['clicked', 13],
  ['bounced', 4],
  ['full', 1.5],
  ['complained', 0.7],
  ['late', 3],
  ['failed', 0.8],
  ['suppressed', 2],
  ['canceled', 1],
] as const;

const AGENTS = ['Mozilla/5.0 (Macintosh)', 'Mozilla/5.0 (Windows NT 10.0)', 'Mozilla/5.0 (iPhone)'];

/** What becomes of one email, in the order in which it happens. */
export function tellStory(dice: Dice, email: string, at: number): Moment[] {
  const ending = pickEnding(dice);
  const to = [email];
  const happen = (after: number, happens: Happening): Moment => ({ after, happens });
  const queued = happen(0, { type: 'email.queued' });
  if (ending === 'canceled') {
    return [happen(0, { type: 'email.scheduled' }), happen(20 * MINUTE, { type: 'email.canceled' })];
  }
  if (ending === 'suppressed') return [queued, happen(SECOND, { type: 'email.suppressed', data: suppressed(to) })];
  const sent = happen(SECOND, { type: 'email.sent' });
  if (ending === 'failed') {
    return [
      ...[queued, sent, tryOf(email, { outcome: 'ambiguous', reason: null, reply: null }, 2 * SECOND)],
      happen(120 * MINUTE, { type: 'email.failed', data: { to, failed: { reason: 'ambiguous_submission' } } }),
    ];
  }
  if (ending === 'bounced' || ending === 'full') {
    const isFull = ending === 'full';
    const reply = isFull ? '552 5.2.2 The mailbox is full' : '550 5.1.1 No such user here';
    const bounce = isFull
      ? { type: 'Transient' as const, subType: 'MailboxFull', message: 'The mailbox is full.', diagnosticCode: [reply] }
      : { type: 'Permanent' as const, subType: 'NoEmail', message: 'No such mailbox.', diagnosticCode: [reply] };
    const bounced = tryOf(email, { outcome: 'bounced', reason: null, reply }, 2 * SECOND);
    return [queued, sent, bounced, happen(3 * SECOND, { type: 'email.bounced', data: { to, bounce } })];
  }
  const late = ending === 'late' ? delayed(email, at) : [];
  const deliveredAt = ending === 'late' ? 31 * MINUTE : 3 * SECOND;
  const ok = { outcome: 'delivered' as const, reason: null, reply: '250 2.0.0 Queued' };
  const begun = [queued, sent, ...late, tryOf(email, ok, deliveredAt, late.length === 0 ? 1 : 2)];
  const delivered = [...begun, happen(deliveredAt + 1, { type: 'email.delivered', data: { to } })];
  if (ending === 'complained') return [...delivered, happen(90 * MINUTE, { type: 'email.complained', data: { to } })];
  if (ending !== 'opened' && ending !== 'clicked') return delivered;
  return [...delivered, ...engagement(dice, at, ending === 'clicked')];
}

function pickEnding(dice: Dice): (typeof ENDINGS)[number][0] {
  let left = dice.roll() * ENDINGS.reduce((sum, [, weight]) => sum + weight, 0);
  for (const [ending, weight] of ENDINGS) if ((left -= weight) < 0) return ending;
  return 'delivered';
}

const tryOf = (email: string, ended: Omit<TriedRecipient, 'email'>, after: number, attempt = 1): Moment => ({
  after,
  attempt,
  tried: { email, ...ended },
});

const suppressed = (to: string[]) => ({
  to,
  suppressed: {
    reason: 'previous_bounce' as const,
    type: 'Suppressed' as const,
    message: 'An earlier message to this address bounced.',
    diagnosticCode: ['550 5.1.1 No such user here'],
  },
});

function delayed(email: string, at: number): Moment[] {
  const reply = '451 4.7.1 Try again later';
  const delay = {
    type: 'TransientCommunicationFailure',
    expirationTime: new Date(at + 48 * 60 * MINUTE).toISOString(),
    delayedRecipients: [{ emailAddress: email, diagnosticCode: reply }],
  };
  return [
    tryOf(email, { outcome: 'deferred', reason: null, reply }, 2 * SECOND),
    { after: 3 * SECOND, happens: { type: 'email.delivery_delayed', data: { to: [email], delay } } },
  ];
}

function engagement(dice: Dice, at: number, isClicked: boolean): Moment[] {
  const openedAfter = Math.floor((2 + dice.roll() * 240) * MINUTE);
  const reader = (after: number) => ({
    ipAddress: `192.0.2.${1 + Math.floor(dice.roll() * 250)}`,
    userAgent: dice.pick(AGENTS),
    timestamp: new Date(at + after).toISOString(),
  });
  const opened: Moment = {
    after: openedAfter,
    happens: { type: 'email.opened', data: { open: reader(openedAfter) } },
  };
  if (!isClicked) return [opened];
  const after = openedAfter + MINUTE;
  const click = { ...reader(after), link: 'https://shop.example.com/orders' };
  return [opened, { after, happens: { type: 'email.clicked', data: { click } } }];
}
