/** What can be recorded. `UNTOLD` are ours alone: no endpoint can subscribe to them. */
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
  'email.unsubscribed',
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

export const UNTOLD = ['email.queued', 'email.unsubscribed'] as const satisfies readonly EventType[];
