import type { Advice, Advices, AnswerOf } from '../client/index.ts';
import type { ItemOf } from './family.ts';
import {
  declareAction,
  declareDetail,
  declareList,
  nameIn,
  wide,
  withRemaining,
  type Family,
  type Field,
  type Flag,
  type Key,
  type Tone,
} from './family.ts';
const OF_WEBHOOK: Key = { word: 'webhook', says: 'the id of the endpoint (wh_…)' };
const EVENT: Key = { word: 'event', says: 'the id of the event (msg_…)' };

type Webhook = ItemOf<'listWebhooks'> | AnswerOf<'getWebhook'>;
/** The API counts no further. */
const COUNTED_MAX = 1000;
const atMost = (count: number): string => (count < COUNTED_MAX ? String(count) : `${COUNTED_MAX} or more`);

/** Every attempt fails, which disables it in the end. */
export const isFailing = ({ status: now, failing_since: since }: Pick<Webhook, 'status' | 'failing_since'>): boolean =>
  now === 'enabled' && typeof since === 'string';

type Event = ItemOf<'listWebhookEvents'> | AnswerOf<'getWebhookEvent'>;

const id: Field<Webhook> = { name: 'id', label: 'Id', kind: 'id' };
const status: Field<Webhook> = {
  name: 'status',
  label: 'Status',
  kind: 'state',
  words: (webhook) => (isFailing(webhook) ? 'enabled, failing' : webhook.status),
  tone: (webhook) => (isFailing(webhook) ? 'attention' : webhook.status === 'enabled' ? 'good' : 'bad'),
};
const answer: Field<Webhook> = {
  name: 'last_http_status',
  label: 'Answer',
  value: ({ last_http_status: code, last_error: error }) => code ?? error,
};
const wrong: Field<Webhook> = { name: 'last_error', label: 'Without an answer' };
const answered: Field<Webhook> = { name: 'last_attempt_at', label: 'Last attempt', kind: 'time' };
const failing: Field<Webhook> = { name: 'failing_since', label: 'Failing since', kind: 'time' };
const waiting: Field<Webhook> = {
  name: 'events_waiting',
  label: 'Wait',
  kind: 'number',
  words: ({ events_waiting: count }) => atMost(count),
};
const parked: Field<Webhook> = {
  name: 'events_parked',
  label: 'Parked',
  kind: 'number',
  words: ({ events_parked: count }) => atMost(count),
};
const endpoint: Field<Webhook> = { name: 'endpoint', label: 'Endpoint', kind: 'name' };
const events: Field<Webhook> = { name: 'events', label: 'Events', value: (webhook) => webhook.events.join(' ') };
const created: Field<Webhook> = { name: 'created_at', label: 'Created', kind: 'time' };
const disabled: Field<Webhook> = { name: 'disabled_at', label: 'Disabled', kind: 'time' };
const because: Field<Webhook> = {
  name: 'disabled_reason',
  label: 'Because',
  value: ({ disabled_reason: reason }) => reason && REASONS[reason],
};
const REASONS = { manual: 'disabled by a person', failing: 'no delivery succeeded for five days' } as const;
const secret: Field<Webhook> = { name: 'signing_secret', label: 'Signing secret', kind: 'whole' };

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

const rotateSecret = declareAction('rotateWebhookSecret', {
  describe: (rotated) => rotated.signing_secret,
  hint: () => ({
    words: 'This is the only time the secret is shown. For 24 hours, deliveries are also signed with the old one.',
  }),
  secret: 'Signing secret',
});

const triggerSample = declareAction('triggerWebhook', {
  describe: ({ id: eventId, webhooks: to, listeners }) =>
    `${eventId} goes to ${[...to, ...(listeners === 0 ? [] : [`${listeners} ${listeners === 1 ? 'listener' : 'listeners'}`])].join(', ')}`,
});

export const webhooks = withRemaining({
  command: 'webhooks',
  summary: 'send events to your programs, as signed webhooks',
  noun: 'an endpoint',
  list: declareList('listWebhooks', {
    columns: [
      id,
      status,
      endpoint,
      answer,
      failing,
      waiting,
      events,
      created,
      ...wide<Webhook>(wrong, answered, parked, disabled, because, secret),
    ],
  }),
  get: declareDetail('getWebhook', {
    fields: [
      id,
      endpoint,
      status,
      disabled,
      because,
      answer,
      wrong,
      answered,
      failing,
      waiting,
      parked,
      events,
      secret,
      created,
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
      destroys: { name: nameIn('getWebhook', (webhook) => new URL(webhook.endpoint).host) },
    }),
    rotateSecret,
    triggerSample,
  ],
  elsewhere: {
    listWebhookEvents: true,
    getWebhookEvent: true,
    listWebhookAttempts: true,
    replayWebhookEvent: true,
    listParkedWebhookEvents: true,
  },
});

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

const eventId: Field<Event> = { name: 'id', label: 'Id', kind: 'id' };
const eventCreated: Field<Event> = { name: 'created_at', label: 'Created', kind: 'moment' };
const eventType: Field<Event> = { name: 'type', label: 'Type', kind: 'whole' };
const eventStatus: Field<Event> = {
  name: 'status',
  label: 'Status',
  kind: 'state',
  tone: (event) => PARKED[event.status] ?? TONES[event.status],
};
const attempts: Field<Event> = { name: 'attempt_count', label: 'Attempts', kind: 'number' };
const lastAnswer: Field<Event> = { name: 'last_http_status', label: 'HTTP', kind: 'number' };

const sample: Field<Event> = { name: 'test', label: 'Sample', kind: 'whole', shown: 'wide' };

const eventColumns = [eventId, eventCreated, eventType, eventStatus, attempts, lastAnswer, sample];

/** The parameters that identify one event. */
export const EVENT_OF_ENDPOINT = { webhook_id: OF_WEBHOOK, event_id: EVENT } as const;

const replayEvent = declareAction('replayWebhookEvent', { done: 'Replayed' });

export const webhookEvents = {
  command: 'webhooks',
  summary: 'list the events of an endpoint',
  noun: 'an event',
  list: declareList('listWebhookEvents', { columns: eventColumns, empty: 'There are no events yet.' }),
  get: declareDetail('getWebhookEvent', {
    fields: [
      eventId,
      eventType,
      eventCreated,
      eventStatus,
      attempts,
      { ...lastAnswer, label: 'Last answer' },
      { name: 'next_attempt_at', label: 'Next attempt', kind: 'time' },
      { ...sample, shown: undefined },
      { name: 'payload', label: 'Payload', kind: 'body' },
    ],
  }),
  actions: [replayEvent],
} satisfies Family;

export const parkedWebhookEvents = {
  command: 'webhooks',
  summary: 'list the events that happened while an endpoint was disabled',
  noun: 'an event',
  list: declareList('listParkedWebhookEvents', {
    // The API keeps the status in which it was paused.
    columns: eventColumns.map((column) =>
      column === eventStatus ? { ...column, value: () => 'parked', tone: () => 'attention' } : column,
    ),
    empty: 'There are no parked events.',
    isForward: true,
  }),
  actions: [replayEvent],
} satisfies Family;

export const webhookAttempts = {
  command: 'webhooks',
  summary: 'list the attempts to deliver an event',
  noun: 'an attempt',
  list: declareList('listWebhookAttempts', {
    columns: [
      { name: 'id', label: 'Id', kind: 'id' },
      { name: 'sent_at', label: 'Sent', kind: 'moment' },
      { name: 'attempt_number', label: 'Attempt', kind: 'number' },
      { name: 'http_status_code', label: 'HTTP', kind: 'number' },
      { name: 'duration_ms', label: 'Ms', kind: 'number' },
      { name: 'response', label: 'Answer', value: (attempt) => attempt.error ?? attempt.response },
      { name: 'error', label: 'Error', shown: 'asked' },
    ],
  }),
} satisfies Family;
