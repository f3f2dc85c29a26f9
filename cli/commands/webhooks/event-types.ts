import type { WebhookEventType } from '../../../src/contract/index.ts';

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
  'suppression.added': true,
  'suppression.removed': true,
  'contact.created': true,
  'contact.updated': true,
  'contact.deleted': true,
  'automation.run.started': true,
  'automation.run.completed': true,
  'automation.run.failed': true,
};

/** `Event types:` and a line for each kind of thing that happens. */
export function eventTypesHelp(): string {
  const byKind = Map.groupBy(Object.keys(TYPES), (type) => type.slice(0, type.indexOf('.')));
  return ['Event types:', ...[...byKind.values()].map((types) => `  ${types.join(', ')}`)].join('\n');
}

export const typesIn = (text: string): string[] => text.split(',').map((type) => type.trim());
