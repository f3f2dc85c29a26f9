import type { BodyOf } from '../../../contract/index.ts';
import {
  offerSample,
  publicEventId,
  type UNTOLD,
  type EventData,
  type EventType,
  type EventDraft,
  type InboxThreadData,
  type RecordedEvent,
} from '../../../mail/events/index.ts';
import { notFound, refuse } from '../../../platform/refusal.ts';
import type { Ctx } from '../../../tenancy/access/index.ts';
import { renderPayload, type PayloadEmail } from './payload.ts';
import { insertPayloads } from './webhook-events.store.ts';
import { findWebhook } from './webhooks.store.ts';
import { isoTime } from '../../../platform/clock.ts';
import type { Ids } from '../../../platform/ids.ts';

/** Event types that endpoints can receive. */
type SampleType = Exclude<EventType, (typeof UNTOLD)[number]>;

const EXPECTED = 'someone@example.org';
const to = [EXPECTED];
const reader = (timestamp: string) => ({ ipAddress: '192.0.2.10', userAgent: 'Mozilla/5.0 (sample)', timestamp });
const noSuchUser = '550 5.1.1 No such user';

const domain = (id: string, now: string): EventData['domain.created'] => ({
  id,
  name: 'mail.example.com',
  status: 'verified',
  created_at: now,
  region: 'us-east-1',
  records: [],
});
const sendingResumed = (id: string): EventData['domain.sending_resumed'] => ({
  id,
  name: 'mail.example.com',
  stream: 'marketing',
  scope: 'domain',
  provider: 'google',
  cause: 'complaints',
});
const suppression = (id: string, now: string): EventData['suppression.added'] => ({
  id: `sup_${id.replaceAll('-', '')}`,
  email: EXPECTED,
  origin: 'bounce',
  source_id: null,
  created_at: now,
});
const contact = (id: string, now: string): EventData['contact.created'] => ({
  id,
  segment_ids: [],
  audience_id: null,
  created_at: now,
  updated_at: now,
  email: EXPECTED,
  first_name: 'Sam',
  last_name: 'Sample',
  unsubscribed: false,
});

const automationRun = (
  id: string,
  now: string,
  status: EventData['automation.run.started']['status'],
): EventData['automation.run.started'] => ({
  id,
  automation_id: id,
  contact_id: id,
  status,
  started_at: now,
  completed_at: status === 'running' ? null : now,
  error: status === 'failed' ? 'thanks: the template does not exist any more' : null,
});

const inbox = (id: string, now: string): EventData['inbox.created'] => ({
  source: 'api',
  inbox_id: id,
  inbox: {
    object: 'inbox',
    id,
    name: 'Support',
    email_address: 'support@example.com',
    domain_id: id,
    receiving_address: null,
    from_name: null,
    channel: 'open',
    signature: null,
    thread_by_subject: false,
    unread: 0,
    drafts: 0,
    last_received: null,
    created_at: now,
    updated_at: now,
  },
});

const inboxThread = (id: string): InboxThreadData => ({
  source: 'api',
  inbox_id: id,
  thread_id: id,
  thread: { object: 'inbox_thread', id, subject: 'A sample', folder: 'inbox', labels: [], read: false },
});

const inboxEmail = (id: string, now: string, direction: 'inbound' | 'outbound'): EventData['inbox.email.received'] => {
  const people = ['Someone <someone@example.org>', 'support@example.com'];
  const [from = '', recipient = ''] = direction === 'inbound' ? people : people.toReversed();
  return {
    ...inboxThread(id),
    source: direction === 'inbound' ? 'system' : 'api',
    email_id: id,
    email: {
      id,
      direction,
      from,
      to: [recipient],
      cc: [],
      bcc: [],
      reply_to: [],
      subject: 'A sample',
      message_id: `<${id}@example.org>`,
      attachments: [],
      read: direction === 'outbound',
      received_at: now,
    },
  };
};

const inboxDraft = (id: string, now: string): EventData['inbox.draft.created'] => ({
  source: 'api',
  inbox_id: id,
  draft_id: id,
  draft: {
    object: 'inbox_draft',
    id,
    type: 'standalone',
    to: ['someone@example.org'],
    cc: [],
    bcc: [],
    subject: 'A sample',
    thread_id: null,
    reply_to_email_id: null,
    email_id: null,
    created_at: now,
    updated_at: now,
    attachments: [],
  },
});

/** Sample data of each type for a subject with this id: the compiler requires every type and field. */
const SAMPLES: { [Type in SampleType]: (id: string, now: string) => EventData[Type] } = {
  'email.scheduled': () => undefined,
  'email.sent': () => undefined,
  'email.canceled': () => undefined,
  'email.delivered': () => ({ to }),
  'email.complained': () => ({ to }),
  'email.delivery_delayed': (_, now) => ({
    to,
    delay: {
      type: 'MailboxFull',
      expirationTime: now,
      delayedRecipients: [{ emailAddress: EXPECTED, diagnosticCode: '452 4.2.2 The mailbox is full' }],
    },
  }),
  'email.bounced': () => ({
    to,
    bounce: {
      type: 'Permanent',
      subType: 'NoEmail',
      message: 'The mailbox does not exist.',
      diagnosticCode: [noSuchUser],
    },
  }),
  'email.suppressed': () => ({
    to,
    suppressed: {
      reason: 'previous_bounce',
      type: 'Suppressed',
      message: 'An earlier message to this address bounced.',
      diagnosticCode: [noSuchUser],
    },
  }),
  'email.failed': () => ({ to, failed: { reason: 'ambiguous_submission' } }),
  'email.opened': (_, now) => ({ to, open: reader(now) }),
  'email.clicked': (_, now) => ({ to, click: { ...reader(now), link: 'https://example.com/sample' } }),
  'email.received': (id, now) => ({
    email_id: id,
    created_at: now,
    from: 'Someone <someone@example.org>',
    to: ['support@example.com'],
    cc: [],
    bcc: [],
    received_for: ['support@example.com'],
    message_id: `<${id}@example.org>`,
    subject: 'A sample',
    attachments: [],
  }),
  'domain.created': domain,
  'domain.updated': domain,
  'domain.deleted': domain,
  'domain.sending_limited': (id, now) => ({
    ...sendingResumed(id),
    action: 'paused',
    messages_per_minute: null,
    bad_recipients: 12,
    recipients: 900,
    window_hours: 24,
    since: now,
    until: now,
  }),
  'domain.sending_resumed': sendingResumed,
  'suppression.added': suppression,
  'suppression.removed': suppression,
  'contact.created': contact,
  'contact.updated': contact,
  'contact.deleted': contact,
  'automation.run.started': (id, now) => automationRun(id, now, 'running'),
  'automation.run.completed': (id, now) => automationRun(id, now, 'completed'),
  'automation.run.failed': (id, now) => automationRun(id, now, 'failed'),
  'inbox.created': inbox,
  'inbox.updated': inbox,
  'inbox.deleted': (id) => ({ source: 'api', inbox_id: id }),
  'inbox.thread.created': (id, now) => inboxEmail(id, now, 'inbound'),
  'inbox.thread.folder.updated': (id) => ({
    ...inboxThread(id),
    from: 'inbox',
    to: 'archive',
  }),
  'inbox.thread.assigned': (id) => ({
    ...inboxThread(id),
    assignee_email: 'ada@example.com',
    assigned_by_email: 'grace@example.com',
    previous_assignee_email: null,
  }),
  'inbox.thread.unassigned': (id) => ({ ...inboxThread(id), previous_assignee_email: 'ada@example.com' }),
  'inbox.thread.labels.updated': (id) => ({
    ...inboxThread(id),
    added: [{ id, name: 'Billing', color: '#00A2C7' }],
    removed: [],
  }),
  'inbox.email.received': (id, now) => inboxEmail(id, now, 'inbound'),
  'inbox.email.sent': (id, now) => inboxEmail(id, now, 'outbound'),
  'inbox.draft.created': inboxDraft,
  'inbox.draft.updated': inboxDraft,
  'inbox.draft.sent': (id, now) => {
    const { draft_id, draft } = inboxDraft(id, now);
    return { ...inboxEmail(id, now, 'outbound'), draft_id, draft: { ...draft, email_id: id } };
  },
  'inbox.draft.deleted': inboxDraft,
};

/** Returns a made-up event, and the email it would have been about. */
function sampleEvent(
  type: SampleType,
  { ids, teamId, at }: { ids: Ids; teamId: string; at: number },
): { event: RecordedEvent; email: PayloadEmail } {
  const subjectId = ids.uuid();
  const data = SAMPLES[type](subjectId, isoTime(at));
  const event = { id: ids.uuid(), teamId, subjectId, at, ...({ type, data } as EventDraft) };
  const email: PayloadEmail = {
    sender: 'You <you@example.com>',
    to_list: JSON.stringify(to),
    subject: 'A sample',
    message_id: `<${subjectId.replaceAll('-', '')}@example.com>`,
    tags: null,
    headers: null,
    template_id: null,
    created_at: at,
  };
  return { event, email };
}

/**
 * Queues a sample like a real event. Nothing happened, so no event is recorded: its body is stored at once, and the
 * node that renders due events finds it.
 */
export async function triggerWebhook(ctx: Ctx, { type, webhook_id: only }: BodyOf<'triggerWebhook'>) {
  const { store, teamId } = ctx;
  const { event, email } = sampleEvent(type, { ids: store.ids, teamId, at: store.clock.now() });
  const { webhooks, listeners } = await store.db.tx(async (tx) => {
    const named = only === undefined ? undefined : await findWebhook(tx, teamId, only);
    if (only !== undefined && !named) throw notFound('Webhook');
    const payload = renderPayload(event, email);
    await insertPayloads(tx, [{ event_id: event.id, team_id: teamId, payload, isOfRecorded: false }]);
    const taken = await offerSample(tx, event, only);
    if (taken.webhooks.length > 0 || taken.listeners > 0) return taken;
    if (named?.status === 'disabled') throw refused(`The webhook ${named.id} is disabled; enable it first.`);
    if (named) throw refused(`The webhook ${named.id} does not subscribe to ${type}; add it to its events.`);
    throw refused(`No enabled webhook and no listener subscribes to ${type}.`);
  });
  return { object: 'webhook_trigger' as const, id: publicEventId(event.id), type, webhooks, listeners };
}

const refused = (say: string) => refuse('validation_error', { status: 422, say });
