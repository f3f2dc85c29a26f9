import type { WebhookEventType } from '../../src/contract/index.ts';
import { CliFault, nearestTo } from '../output/cli-fault.ts';

/** Every type there is: the compiler misses none. */
const TYPES: Record<WebhookEventType, true> = {
  'email.sent': true,
  'email.scheduled': true,
  'email.delivered': true,
  'email.delivery_delayed': true,
  'email.bounced': true,
  'email.complained': true,
  'email.opened': true,
  'email.clicked': true,
  'email.failed': true,
  'email.suppressed': true,
  'email.canceled': true,
  'email.received': true,
  'domain.created': true,
  'domain.updated': true,
  'domain.deleted': true,
  'domain.sending_limited': true,
  'domain.sending_resumed': true,
  'suppression.added': true,
  'suppression.removed': true,
  'contact.created': true,
  'contact.updated': true,
  'contact.deleted': true,
  'automation.run.started': true,
  'automation.run.completed': true,
  'automation.run.failed': true,
  'inbox.created': true,
  'inbox.updated': true,
  'inbox.deleted': true,
  'inbox.thread.created': true,
  'inbox.thread.folder.updated': true,
  'inbox.thread.assigned': true,
  'inbox.thread.unassigned': true,
  'inbox.thread.labels.updated': true,
  'inbox.email.received': true,
  'inbox.email.sent': true,
  'inbox.draft.created': true,
  'inbox.draft.updated': true,
  'inbox.draft.sent': true,
  'inbox.draft.deleted': true,
};

/** `Event types:` and a line for each kind of thing that happens. */
export const eventTypesHelp = (): string => `Event types (or all):\n${typesByKind()}`;

function typesByKind(): string {
  const byKind = Map.groupBy(Object.keys(TYPES), (type) => type.slice(0, type.indexOf('.')));
  return [...byKind.values()].map((types) => `  ${types.join(', ')}`).join('\n');
}

/** Reads the types in a text, separated by commas; each must exist, and `all` is every one. */
export function typesIn(text: string): WebhookEventType[] {
  if (text.trim() === 'all') return Object.keys(TYPES).filter(isType);
  return text.split(',').map((word) => typeIn(word));
}

/** The one type that a text names. */
export function typeIn(text: string): WebhookEventType {
  const type = text.trim();
  if (isType(type)) return type;
  const nearest = nearestTo(type, Object.keys(TYPES));
  const advice = nearest === undefined ? `; the types are:\n${typesByKind()}` : `. Did you mean ${nearest}?`;
  throw new CliFault(`${JSON.stringify(type)} is not an event type${advice}`, 'usage');
}

const isType = (text: string): text is WebhookEventType => Object.hasOwn(TYPES, text);
