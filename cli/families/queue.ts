import type { AnswerOf } from '../client/index.ts';
import { bytesInBrief, bytesInWords } from './bytes-in-words.ts';
import type { Field, ItemOf, Tone } from './family.ts';
import {
  declareAction,
  asked,
  declareDetail,
  declareList,
  declareReport,
  wide,
  withRemaining,
  type Family,
} from './family.ts';
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

const formatReason = ({ hold_reason: held, last_attempt: last }: Destination | Delivery): string =>
  held === null ? (last?.reply ?? last?.explanation ?? '') : `Held: ${held}`;

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

const destinationColumns: readonly Field<Destination>[] = [
  { name: 'destination', label: 'Destination', kind: 'whole' },
  { name: 'deliveries', label: 'Wait', kind: 'number' },
  {
    name: 'states',
    label: 'States',
    kind: 'state',
    value: (one) => inStates(one),
    words: (one) => inStates(one, grouped),
  },
  { name: 'oldest_at', label: 'Since', kind: 'time' },
  { name: 'next_attempt_at', label: 'Next try', kind: 'time' },
  { name: 'last_attempt', label: 'Why', kind: 'long', value: formatReason },
  ...wide<Destination>({ name: 'hold_id', label: 'Hold', kind: 'id' }),
];

const counted = (count: number): string => `${grouped(count)} ${count === 1 ? 'delivery' : 'deliveries'}`;

const REASONS_SHOWN = 3;

const formatReasons = (holds: readonly { reason: string }[]): string =>
  [
    ...holds.slice(0, REASONS_SHOWN).map(({ reason }) => reason),
    ...(holds.length > REASONS_SHOWN ? [`and ${holds.length - REASONS_SHOWN} more`] : []),
  ].join('; ');

const drop = declareAction('dropQueue', {
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
});

/** The email of a delivery, of any team; it is shown as a story, and `--fields` names these. */
const explained = declareDetail('getQueuedEmail', {
  fields: [
    { name: 'id', label: 'Id', kind: 'id' },
    { name: 'team', label: 'Team', kind: 'whole' },
    { name: 'from', label: 'From', kind: 'name' },
    { name: 'to', label: 'To', kind: 'name' },
    { name: 'cc', label: 'Cc', kind: 'name' },
    { name: 'bcc', label: 'Bcc', kind: 'name' },
    { name: 'last_event', label: 'State', kind: 'state' },
    { name: 'created_at', label: 'Created', kind: 'time' },
    { name: 'scheduled_at', label: 'Scheduled', kind: 'time' },
    { name: 'size', label: 'Size', kind: 'number', words: ({ size }) => bytesInWords(size) },
    { name: 'subject', label: 'Subject', value: formatSubject },
    ...asked<AnswerOf<'getQueuedEmail'>>(
      { name: 'subject_hash', label: 'Subject hash' },
      { name: 'team_id', label: 'Team id', kind: 'id' },
      { name: 'request_id', label: 'Request id' },
      { name: 'events', label: 'Events' },
      { name: 'attempts', label: 'Tries', kind: 'number' },
      { name: 'pending', label: 'Next' },
      { name: 'is_cut', label: 'Cut' },
    ),
  ],
});

export const queue = withRemaining({
  command: 'queue',
  summary: 'show, hold, retry and drop mail in the queue',
  isOperators: true,
  screens: { report: 'destinations' },
  noun: 'a delivery',
  report: declareReport('getQueue', {
    rows: ({ destinations }) => destinations,
    columns: destinationColumns,
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
    columns: [
      { name: 'id', label: 'Id', kind: 'id', shown: 'wide' },
      { name: 'email_id', label: 'Email', kind: 'id' },
      { name: 'destination', label: 'Destination' },
      { name: 'state', label: 'State', kind: 'state', tone: ({ state }) => TONES[state] },
      { name: 'until', label: 'Next try', kind: 'time' },
      { name: 'size', label: 'Size', kind: 'number', words: ({ size }) => bytesInBrief(size) },
      { name: 'team', label: 'Team' },
      { name: 'from', label: 'From' },
      { name: 'subject', label: 'Subject', value: formatSubject },
      { name: 'last_attempt', label: 'Why', kind: 'long', value: formatDeliveryReason, isAside: true },
      ...wide<Delivery>(
        { name: 'attempts', label: 'Tries', kind: 'number' },
        // It waits for its time, and has not begun to.
        {
          name: 'since',
          label: 'Since',
          kind: 'time',
          value: ({ state, since }) => (state === 'scheduled' ? null : since),
        },
        { name: 'recipients', label: 'Recipients', value: ({ recipients }) => recipients.join(' ') },
        { name: 'team_id', label: 'Team id', kind: 'id' },
        { name: 'hold_id', label: 'Hold', kind: 'id' },
      ),
      ...asked<Delivery>(
        { name: 'hold_reason', label: 'Hold reason' },
        { name: 'subject_hash', label: 'Subject hash' },
      ),
    ],
    empty: 'The queue is empty.',
    given: ({ email_id }) => ({ email_id }),
  }),
  get: explained,
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
    drop,
  ],
  elsewhere: { listQueueHolds: true, releaseQueueHold: true },
});

export const queueHolds = {
  command: 'queue',
  summary: 'list and release the holds',
  isOperators: true,
  noun: 'a hold',
  list: declareList('listQueueHolds', {
    columns: [
      { name: 'id', label: 'Id', kind: 'id' },
      { name: 'destination', label: 'Destination', kind: 'whole' },
      { name: 'team_id', label: 'Team', kind: 'id' },
      { name: 'email_id', label: 'Email', kind: 'id' },
      { name: 'created_by', label: 'By' },
      { name: 'created_at', label: 'Since', kind: 'time' },
      { name: 'reason', label: 'Reason', kind: 'long' },
    ],
    empty: 'There are no holds.',
  }),
  actions: [
    declareAction('releaseQueueHold', { describe: ({ deliveries }) => `Released; ${counted(deliveries)} due now.` }),
  ],
} satisfies Family;
