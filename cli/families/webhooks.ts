import type { Advice, Advices } from '../client/index.ts';
import { declareAction, declareDetail, declareFamily, declareList, readIn, withRemaining } from './family.ts';
import type { AnswerOf, Fields, FieldsOf, Flag, ItemIn, ItemOf, Key, Tone } from './family.ts';

const OF_WEBHOOK: Key = { word: 'webhook', says: 'the id of the endpoint (wh_…)' };
const EVENT: Key = { word: 'event', says: 'the id of the event (msg_…)' };

type Webhook = ItemIn<'listWebhooks' | 'getWebhook'>;
/** The API counts no further. */
const COUNTED_MAX = 1000;
const atMost = (count: number): string => (count < COUNTED_MAX ? String(count) : `${COUNTED_MAX} or more`);

/** Every attempt fails, which disables it in the end. */
export const isFailing = ({ status: now, failing_since: since }: Pick<Webhook, 'status' | 'failing_since'>): boolean =>
  now === 'enabled' && typeof since === 'string';

const fields: Fields<Webhook> = {
  status: {
    words: (webhook) => (isFailing(webhook) ? 'enabled, failing' : webhook.status),
    tone: (webhook) => (isFailing(webhook) ? 'attention' : webhook.status === 'enabled' ? 'good' : 'bad'),
  },
  last_http_status: {
    label: 'Answer',
    kind: 'text',
    value: ({ last_http_status: code, last_error: error }) => code ?? error,
  },
  last_error: 'Without an answer',
  failing_since: 'Failing since',
  events_waiting: { label: 'Wait', words: ({ events_waiting: count }) => atMost(count) },
  events_parked: { label: 'Parked', words: ({ events_parked: count }) => atMost(count) },
  events: { join: ' ' },
  disabled_reason: { label: 'Because', value: ({ disabled_reason: reason }) => reason && REASONS[reason] },
};
const REASONS = { manual: 'disabled by a person', failing: 'no delivery succeeded for five days' } as const;

function nextFor(webhook: Webhook): Advices {
  if (isFailing(webhook)) return seeTried(webhook.id);
  if (webhook.status === 'enabled') return undefined;
  return [
    { ...enable(webhook.id), words: 'Events are parked while it is disabled. Enable it with' },
    { words: 'Then send the parked events with', command: ['webhooks replay', '--parked', '--webhook', webhook.id] },
  ];
}

export const seeTried = (webhook: string): Advice => ({
  words: 'List the events that are being retried with',
  command: ['listWebhookEvents', webhook, '--status', 'attempting'],
});

export const enable = (webhook: string): Advice => ({
  words: 'Enable it with',
  command: ['updateWebhook', webhook, '--status', 'enabled'],
});

export const eventTypes: Flag = {
  value: '<types>',
  says: 'the types of event to send, separated by commas',
  isList: true,
  syntax: 'event types',
};

export const webhooks = withRemaining({
  summary: 'send events to your programs, as signed webhooks',
  list: declareList('listWebhooks', {
    fields,
    columns: [
      'id',
      'status',
      'endpoint',
      'last_http_status',
      'failing_since',
      'events_waiting',
      'events',
      'created_at',
    ],
    wide: ['last_error', 'last_attempt_at', 'events_parked', 'disabled_at', 'disabled_reason', 'signing_secret'],
  }),
  get: declareDetail('getWebhook', {
    fields,
    columns: [
      'id',
      'endpoint',
      'status',
      'disabled_at',
      'disabled_reason',
      'last_http_status',
      'last_error',
      'last_attempt_at',
      'failing_since',
      'events_waiting',
      'events_parked',
      'events',
      'signing_secret',
      'created_at',
    ],
    hint: nextFor,
  }),
  actions: [
    declareAction('createWebhook', {
      describe: (made) => made.signing_secret,
      hint: () => ({
        words: 'This is the only time the signing secret is shown; your program needs it to verify events.',
      }),
      secret: 'Signing secret',
    }),
    declareAction('updateWebhook', {
      hint: ({ id: webhook }, { status: now }) =>
        now === 'enabled'
          ? { words: 'List the parked events with', command: ['listParkedWebhookEvents', webhook] }
          : undefined,
    }),
    declareAction('deleteWebhook', {
      done: 'Removed',
      destroys: { name: readIn('getWebhook', (webhook) => new URL(webhook.endpoint).host) },
    }),
    declareAction('rotateWebhookSecret', {
      describe: (rotated) => rotated.signing_secret,
      hint: () => ({
        words: 'This is the only time the secret is shown. For 24 hours, deliveries are also signed with the old one.',
      }),
      secret: 'Signing secret',
    }),
    declareAction('triggerWebhook', {
      describe: ({ id, webhooks: to, listeners }) =>
        `${id} goes to ${[...to, ...(listeners === 0 ? [] : [`${listeners} ${listeners === 1 ? 'listener' : 'listeners'}`])].join(', ')}`,
    }),
  ],
  elsewhere: {
    listWebhookEvents: true,
    getWebhookEvent: true,
    listWebhookAttempts: true,
    replayWebhookEvent: true,
    listParkedWebhookEvents: true,
  },
});

type Event = ItemOf<'listWebhookEvents'> | AnswerOf<'getWebhookEvent'>;

/**
 * A paused event waits for a replay; the API returns the status that it had reached, the console shows it as parked.
 */
const PARKED: Readonly<Record<string, Tone>> = { parked: 'attention' };
const TONES: Record<Event['status'], Tone> = {
  pending: 'plain',
  attempting: 'attention',
  success: 'good',
  failed: 'bad',
};

const eventFields: FieldsOf<'listWebhookEvents' | 'getWebhookEvent'> = {
  created_at: { kind: 'moment' },
  type: { kind: 'whole' },
  status: { tone: (event) => PARKED[event.status] ?? TONES[event.status] },
  attempt_count: 'Attempts',
  last_http_status: { label: 'HTTP', kind: 'number' },
  test: { label: 'Sample', kind: 'whole' },
};
const eventColumns = ['id', 'created_at', 'type', 'status', 'attempt_count', 'last_http_status'] as const;

/** The parameters that identify one event. */
export const EVENT_OF_ENDPOINT = { webhook_id: OF_WEBHOOK, event_id: EVENT } as const;

const replayEvent = declareAction('replayWebhookEvent', { done: 'Replayed' });

export const webhookEvents = declareFamily({
  list: declareList('listWebhookEvents', { fields: eventFields, columns: eventColumns, wide: ['test'] }),
  get: declareDetail('getWebhookEvent', {
    fields: { ...eventFields, last_http_status: { label: 'Last answer', kind: 'number' } },
    columns: [
      'id',
      'type',
      'created_at',
      'status',
      'attempt_count',
      'last_http_status',
      'next_attempt_at',
      'test',
      'payload',
    ],
  }),
  actions: [replayEvent],
});

export const parkedWebhookEvents = declareFamily({
  list: declareList('listParkedWebhookEvents', {
    // The API returns the status that the event had reached; until it is replayed, it is shown as parked.
    fields: { ...eventFields, status: { value: () => 'parked', tone: () => 'attention' } },
    columns: eventColumns,
    wide: ['test'],
    empty: 'There are no parked events.',
    isForward: true,
  }),
  actions: [replayEvent],
});

export const webhookAttempts = declareFamily({
  noun: 'an attempt',
  list: declareList('listWebhookAttempts', {
    fields: {
      sent_at: { kind: 'moment' },
      attempt_number: 'Attempt',
      response: { label: 'Answer', value: (attempt) => attempt.error ?? attempt.response },
    },
    columns: ['id', 'sent_at', 'attempt_number', 'http_status_code', 'duration_ms', 'response'],
  }),
});
