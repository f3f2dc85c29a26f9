import type { Advice, Advices, AnswerOf } from '../client/index.ts';
import type { ItemOf } from './family.ts';
import { idEnd } from './flag.ts';
import {
  actionOf,
  currentIn,
  detailOf,
  listOf,
  nameIn,
  wide,
  type Family,
  type Field,
  type Flag,
  type Key,
  type Tone,
} from './family.ts';

const WEBHOOK: Key = { word: 'webhook', says: 'its id (wh_…)' };
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
const REASONS = { manual: 'somebody disabled it', failing: 'nothing was delivered to it in five days' } as const;
const secret: Field<Webhook> = { name: 'signing_secret', label: 'Signing secret', kind: 'whole' };

function nextFor(webhook: Webhook): Advices {
  if (isFailing(webhook)) return seeTried(webhook.id);
  if (webhook.status === 'enabled') return undefined;
  return [
    { ...enable(webhook.id), words: 'What happens meanwhile is parked. Enable it with' },
    { words: 'Then send what was parked, with', command: ['webhooks replay', '--parked', '--webhook', webhook.id] },
  ];
}

export const seeTried = (webhook: string): Advice => ({
  words: 'See what is tried again with',
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

const rotateSecret = actionOf('rotateWebhookSecret', {
  verb: 'rotate-secret',
  key: 'o',
  summary: 'give an endpoint a new signing secret',
  description:
    'Gives an endpoint a new signing secret and shows it once. Deliveries carry a signature of the old one too for 24 hours.',
  example: 'webhooks rotate-secret wh_019a9c1e7d527c3a9a540b8f4c1f2e01',
  path: { webhook_id: WEBHOOK },
  tell: (rotated) => rotated.signing_secret,
  hint: () => ({
    words: 'This is the only time the secret is shown. Deliveries carry a signature of the old one for 24 hours.',
  }),
  secret: 'Signing secret',
});

const triggerSample = actionOf('triggerWebhook', {
  verb: 'trigger',
  key: 't',
  summary: 'send a sample event to your endpoints',
  description:
    'Sends a made-up event as a real one would be sent: signed, to every enabled endpoint and every listener that takes its type, or to one endpoint. It is marked as a test, changes nothing and is counted in no metric.',
  example: 'webhooks trigger email.bounced',
  flags: {
    type: { value: '<type>', says: 'the type of event', syntax: 'event type', isWord: true, isRequired: true },
    webhook_id: { flag: 'endpoint', value: '<id>', says: 'only to this endpoint (wh_…), which must take the type' },
  },
  tell: ({ id: eventId, webhooks: to, listeners }) =>
    `${eventId} goes to ${[...to, ...(listeners === 0 ? [] : [`${listeners} listening`])].join(', ')}`,
});

export const webhooks = {
  command: 'webhooks',
  summary: 'tell your programs what happens, over signed webhooks',
  noun: 'an endpoint',
  list: listOf('listWebhooks', {
    summary: 'list endpoints, newest first',
    example: 'webhooks list',
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
    empty: 'There are no endpoints yet.',
  }),
  get: detailOf('getWebhook', {
    summary: 'show an endpoint',
    example: 'webhooks get wh_019a9c1e7d527c3a9a540b8f4c1f2e01',
    path: { webhook_id: WEBHOOK },
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
    actionOf('createWebhook', {
      verb: 'create',
      key: 'c',
      summary: 'add an endpoint',
      description: 'Adds an endpoint and shows its signing secret, this once. A connection to it is tried first.',
      example: 'webhooks create https://example.com/hooks --events email.delivered,email.bounced',
      flags: {
        endpoint: {
          value: '<url>',
          says: 'where events are sent to: https, on a public address',
          isWord: true,
          isRequired: true,
        },
        events: { ...eventTypes, isRequired: true },
      },
      tell: (made) => made.signing_secret,
      hint: () => ({
        words: 'This is the only time the signing secret is shown; your program needs it to verify what arrives.',
      }),
      secret: 'Signing secret',
    }),
    actionOf('updateWebhook', {
      verb: 'update',
      key: 'u',
      summary: 'change, disable or enable an endpoint',
      description:
        'Changes what is named and leaves the rest as it is. What happens while an endpoint is disabled is parked; enabling it again sends new events only.',
      example: 'webhooks update wh_019a9c1e7d527c3a9a540b8f4c1f2e01 --status disabled',
      path: { webhook_id: WEBHOOK },
      flags: {
        status: { value: '<status>', says: 'enabled or disabled', choices: ['enabled', 'disabled'] },
        endpoint: { value: '<url>', says: 'where events are sent to: https, on a public address' },
        events: { ...eventTypes, says: `${eventTypes.says}, in place of those before` },
      },
      current: currentIn('getWebhook'),
      done: 'Changed',
      hint: ({ id: webhook }, { status: now }) =>
        now === 'enabled'
          ? { words: 'See what was parked meanwhile with', command: ['listParkedWebhookEvents', webhook] }
          : undefined,
    }),
    actionOf('deleteWebhook', {
      verb: 'delete',
      key: 'd',
      summary: 'remove an endpoint and its events',
      example: 'webhooks delete wh_019a9c1e7d527c3a9a540b8f4c1f2e01',
      path: { webhook_id: WEBHOOK },
      done: 'Removed',
      destroys: {
        says: 'remove the endpoint with all its events, those that wait to be sent among them',
        name: nameIn('getWebhook', (webhook) => new URL(webhook.endpoint).host),
      },
    }),
    rotateSecret,
    triggerSample,
  ],
} satisfies Family;

/** Parked is what waits for a replay; the API says of it how far it had come, the console that it is parked. */
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

/** What names one event. */
export const EVENT_OF_ENDPOINT = { webhook_id: OF_WEBHOOK, event_id: EVENT } as const;

const replayEvent = actionOf('replayWebhookEvent', {
  verb: 'replay',
  key: 'e',
  summary: 'send an event again',
  example: 'webhooks replay wh_019a9c1e7d527c3a9a540b8f4c1f2e01 msg_019a9c1e7d527c3a9a540b8f4c1f2e04',
  path: { webhook_id: OF_WEBHOOK, event_id: EVENT },
  done: 'Replayed',
});

export const webhookEvents = {
  command: 'webhooks',
  summary: 'what an endpoint was told',
  noun: 'an event',
  list: listOf('listWebhookEvents', {
    verb: 'events',
    summary: 'list the events of an endpoint, newest first',
    example: 'webhooks events wh_019a9c1e7d527c3a9a540b8f4c1f2e01 --status failed',
    path: { webhook_id: OF_WEBHOOK },
    filters: {
      status: {
        value: '<status>',
        says: 'only those that are pending, attempting, success or failed',
        choices: Object.keys(TONES),
      },
      type: { value: '<type>', says: 'only those of this type, such as email.bounced' },
      start_date: { value: '<time>', says: 'only those created at this ISO 8601 time or later' },
      end_date: { value: '<time>', says: 'only those created at this ISO 8601 time or earlier' },
      id_end: idEnd,
    },
    columns: eventColumns,
    empty: 'There are no events yet.',
  }),
  get: detailOf('getWebhookEvent', {
    verb: 'event',
    summary: 'show an event and its payload',
    example: 'webhooks event wh_019a9c1e7d527c3a9a540b8f4c1f2e01 msg_019a9c1e7d527c3a9a540b8f4c1f2e04',
    path: { webhook_id: OF_WEBHOOK, event_id: EVENT },
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
  summary: 'what happened while an endpoint was disabled',
  noun: 'an event',
  list: listOf('listParkedWebhookEvents', {
    verb: 'parked',
    summary: 'list what happened while an endpoint was disabled, oldest first',
    description:
      'Lists what happened while an endpoint was disabled, and what was waiting for its next attempt then; oldest first. The command replay sends them, with --parked.',
    example: 'webhooks parked wh_019a9c1e7d527c3a9a540b8f4c1f2e01',
    path: { webhook_id: OF_WEBHOOK },
    filters: { start_date: { value: '<time>', says: 'only those created at this ISO 8601 time or later' } },
    // In the API it keeps the state that it was parked in.
    columns: eventColumns.map((column) =>
      column === eventStatus ? { ...column, value: () => 'parked', tone: () => 'attention' } : column,
    ),
    empty: 'Nothing is parked.',
    isForward: true,
  }),
  actions: [replayEvent],
} satisfies Family;

export const webhookAttempts = {
  command: 'webhooks',
  summary: 'the attempts to deliver an event',
  noun: 'an attempt',
  list: listOf('listWebhookAttempts', {
    verb: 'attempts',
    summary: 'list the attempts to deliver an event, newest first',
    example: 'webhooks attempts wh_019a9c1e7d527c3a9a540b8f4c1f2e01 msg_019a9c1e7d527c3a9a540b8f4c1f2e04',
    path: { webhook_id: OF_WEBHOOK, event_id: EVENT },
    columns: [
      { name: 'id', label: 'Id', kind: 'id' },
      { name: 'sent_at', label: 'Sent', kind: 'moment' },
      { name: 'attempt_number', label: 'Attempt', kind: 'number' },
      { name: 'http_status_code', label: 'HTTP', kind: 'number' },
      { name: 'duration_ms', label: 'Ms', kind: 'number' },
      { name: 'response', label: 'Answer', value: (attempt) => attempt.error ?? attempt.response },
      { name: 'error', label: 'Error', shown: 'asked' },
    ],
    empty: 'There are no attempts yet.',
  }),
} satisfies Family;
