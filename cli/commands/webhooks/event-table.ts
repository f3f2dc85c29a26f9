import type { WebhookEventListItem } from '../../../src/contract/index.ts';
import { formatTable, formatTime, type Style, type Terminal } from '../../output/index.ts';

const STYLES: Record<WebhookEventListItem['status'], Style> = {
  pending: 'plain',
  attempting: 'yellow',
  success: 'green',
  failed: 'red',
};

export function formatEvents(terminal: Terminal, events: readonly WebhookEventListItem[]): string {
  return formatTable(terminal, events, [
    { title: 'ID', value: (event) => event.id, isWhole: true },
    { title: 'CREATED', value: (event) => formatTime(terminal, event.created_at) },
    { title: 'TYPE', value: (event) => event.type },
    { title: 'STATUS', value: (event) => event.status, style: (event) => STYLES[event.status] },
    { title: 'ATTEMPTS', value: (event) => event.attempt_count },
    { title: 'HTTP', value: (event) => event.last_http_status },
  ]);
}
