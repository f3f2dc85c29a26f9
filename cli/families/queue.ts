import { bytesInBrief } from './bytes-in-words.ts';
import { declareAction, declareDetail, declareFamily, declareList, declareReport, withRemaining } from './family.ts';
import type { AnswerOf, ItemOf, Tone } from './family.ts';
import { grouped } from './field-value.ts';

type Destination = AnswerOf<'getQueue'>['destinations'][number];
type Delivery = ItemOf<'listQueuedDeliveries'>;
type State = Delivery['state'];

const TONES: Record<State, Tone> = {
  waiting: 'plain',
  scheduled: 'plain',
  retrying: 'attention',
  awaits_domain: 'attention',
  held: 'attention',
  team_suspended: 'attention',
  under_way: 'good',
  in_doubt: 'bad',
};

export const toneOfDelivery = (state: State): Tone => TONES[state];

const formatReason = ({
  hold_reason: held,
  waits_because: limit = null,
  last_attempt: last,
}: Destination | Delivery): string => {
  if (held !== null) return `Held: ${held}`;
  // A server of an older version has no `waits_because`.
  return limit === null ? (last?.reply ?? last?.explanation ?? '') : `Waiting: ${limit}`;
};

const formatDeliveryReason = (delivery: Delivery): string =>
  delivery.state === 'team_suspended'
    ? 'The team is suspended until somebody resumes it on the server’s machine.'
    : formatReason(delivery);

/** Returns the subject, its hash, or neither, as the operator's setting allows. */
export const formatSubject = ({ subject, subject_hash: hash }: Pick<Delivery, 'subject' | 'subject_hash'>): string =>
  subject ?? (hash === null ? '' : `#${hash}`);

/** The states that anything is in, with how much. */
const inStates = ({ states }: Destination, say: (count: number) => string = String): string =>
  Object.entries(states)
    .filter(([, count]) => count > 0)
    .map(([state, count]) => `${say(count)} ${state}`)
    .join(', ');

const counted = (count: number): string => `${grouped(count)} ${count === 1 ? 'delivery' : 'deliveries'}`;

const REASONS_SHOWN = 3;

const formatReasons = (holds: readonly { reason: string }[]): string =>
  [
    ...holds.slice(0, REASONS_SHOWN).map(({ reason }) => reason),
    ...(holds.length > REASONS_SHOWN ? [`and ${holds.length - REASONS_SHOWN} more`] : []),
  ].join('; ');

export const queue = withRemaining({
  summary: 'show, hold, retry and drop mail in the queue',
  isOperators: true,
  screens: { report: 'destinations' },
  noun: 'a delivery',
  report: declareReport<'getQueue', Destination>('getQueue', {
    rows: ({ destinations }) => destinations,
    fields: {
      destination: { kind: 'whole' },
      deliveries: { label: 'Wait', kind: 'number' },
      states: { kind: 'state', value: (one) => inStates(one), words: (one) => inStates(one, grouped) },
      oldest_at: 'Since',
      next_attempt_at: 'Next try',
      last_attempt: { label: 'Why', kind: 'long', value: formatReason },
    },
    columns: ['destination', 'deliveries', 'states', 'oldest_at', 'next_attempt_at', 'last_attempt'],
    wide: ['hold_id'],
    given: ({ destination }) => ({ destination }),
    describe: ({ deliveries, destination_count: destinations, holds, sending }) =>
      [
        deliveries === 0
          ? 'The queue is empty.'
          : `${grouped(deliveries)} waiting, for ${grouped(destinations)} ${destinations === 1 ? 'destination' : 'destinations'}.`,
        ...(holds > 0 ? [`${grouped(holds)} ${holds === 1 ? 'hold' : 'holds'} in force.`] : []),
        ...(sending.is_on ? [] : [`Sending is off${sending.reason === null ? '' : ` (${sending.reason})`}.`]),
      ].join(' '),
    hint: ({ holds }) => (holds > 0 ? { words: 'List the holds with', command: ['listQueueHolds'] } : undefined),
  }),
  list: declareList('listQueuedDeliveries', {
    fields: {
      id: { shown: 'wide' },
      state: { tone: ({ state }) => TONES[state] },
      until: 'Next try',
      size: { kind: 'number', words: ({ size }) => bytesInBrief(size) },
      from: { kind: 'text' },
      subject: { value: formatSubject },
      last_attempt: { label: 'Why', kind: 'long', value: formatDeliveryReason, isAside: true },
      attempts: 'Tries',
      // It waits for its time, and has not begun to.
      since: { value: ({ state, since }) => (state === 'scheduled' ? null : since) },
      recipients: { join: ' ' },
      team_id: 'Team id',
      hold_reason: 'Hold reason',
    },
    columns: ['id', 'email_id', 'destination', 'state', 'until', 'size', 'team', 'from', 'subject', 'last_attempt'],
    wide: ['attempts', 'since', 'recipients', 'team_id', 'hold_id'],
    asked: ['hold_reason', 'subject_hash'],
    empty: 'The queue is empty.',
    given: ({ email_id }) => ({ email_id }),
  }),
  /** The email of a delivery, of any team; it is shown as a story, and `--fields` names these. */
  get: declareDetail('getQueuedEmail', {
    fields: {
      team: { kind: 'whole' },
      subject: { value: formatSubject },
      team_id: 'Team id',
      request_id: { label: 'Request id', kind: 'text' },
      attempts: { label: 'Tries', kind: 'number' },
      pending: 'Next',
      is_cut: 'Cut',
    },
    columns: ['id', 'team', 'from', 'to', 'cc', 'bcc', 'last_event', 'created_at', 'scheduled_at', 'size', 'subject'],
    asked: ['subject_hash', 'team_id', 'request_id', 'events', 'attempts', 'pending', 'is_cut'],
  }),
  actions: [
    declareAction('createQueueHold', {
      done: 'Held',
      hint: ({ id, destination, team_id: team, email_id: email }) => {
        const what =
          destination === null
            ? team === null
              ? `the email ${email}`
              : `mail of the team ${team}`
            : `mail to ${destination}`;
        return { words: `The hold stops ${what} until you release it with`, command: ['releaseQueueHold', id] };
      },
    }),
    declareAction('retryQueue', {
      describe: ({ deliveries, held, holds }) =>
        `${counted(deliveries)} due now.${held === 0 ? '' : ` ${grouped(held)} ${held === 1 ? 'is' : 'are'} held: ${formatReasons(holds)}.`}`,
      hint: ({ held, holds: [hold, ...more] }) => {
        if (held === 0) return undefined;
        return hold && more.length === 0
          ? { words: 'Release it with', command: ['releaseQueueHold', hold.id] }
          : { words: 'List the holds with', command: ['listQueueHolds'] };
      },
    }),
    declareAction('dropQueue', {
      describe: ({ deliveries }) => `${grouped(deliveries)} dropped.`,
      hint: ({ left }) =>
        left > 0
          ? { words: `${grouped(left)} are being delivered or were handed over, and stay in the queue.` }
          : undefined,
      destroysNamed: ({ destination, team_id: team, email_id: email }) => {
        const name = [destination, team, email].filter((one) => typeof one === 'string');
        if (name.length !== 1) return undefined;
        const which = destination !== undefined ? 'to' : team !== undefined ? 'of the team' : 'of the email';
        return { says: `drop all queued mail ${which} ${name[0]}`, name: name[0] ?? '' };
      },
    }),
  ],
  elsewhere: { listQueueHolds: true, releaseQueueHold: true },
});

export const queueHolds = declareFamily({
  isOperators: true,
  noun: 'a hold',
  list: declareList('listQueueHolds', {
    fields: { destination: { kind: 'whole' }, created_by: 'By', created_at: 'Since', reason: { kind: 'long' } },
    columns: ['id', 'destination', 'team_id', 'email_id', 'created_by', 'created_at', 'reason'],
    empty: 'There are no holds.',
  }),
  actions: [
    declareAction('releaseQueueHold', { describe: ({ deliveries }) => `Released; ${counted(deliveries)} due now.` }),
  ],
});
