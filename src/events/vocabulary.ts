/** What can be recorded. `email.queued` is ours alone: no endpoint can subscribe to it. */
export const EVENT_TYPES = [
  'email.queued',
  'email.scheduled',
  'email.sent',
  'email.delivery_delayed',
  'email.delivered',
  'email.opened',
  'email.clicked',
  'email.bounced',
  'email.complained',
  'email.failed',
  'email.suppressed',
  'email.canceled',
  'email.received',
  'domain.created',
  'domain.updated',
  'domain.deleted',
  'suppression.added',
  'suppression.removed',
  'contact.created',
  'contact.updated',
  'contact.deleted',
  'automation.run.started',
  'automation.run.completed',
  'automation.run.failed',
] as const;

export type EventType = (typeof EVENT_TYPES)[number];
