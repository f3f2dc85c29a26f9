import { expect, it } from 'vitest';
import type { Advised } from '../cli/client/index.ts';
import { createConsoleFormatter, type At } from './advice.ts';
import { listActions, operatorSections, sections } from './catalog.ts';
import { webhooks } from '../cli/families/index.ts';

const ID = '019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e77';
const WEBHOOK = 'wh_019a9c1e7d527c3a9a540b8f4c1f2e01';
const every = [...sections, ...operatorSections];
const open: At = { operation: 'getWebhook', keys: ['webhook_id'] };

it.each<[command: Advised, place: string]>([
  [['listQueueHolds'], ':holds'],
  [['releaseQueueHold', ID], `:holds ${ID}, then e (release)`],
  [['verifyDomain', 'mail.example.com'], ':domains, then v (verify)'],
  [['explain', ID], `:emails ${ID}`],
  [['listAttachments', ID], `:emails ${ID} → attachments`],
  [['listWebhookEvents', WEBHOOK, '--status', 'attempting'], `:webhooks ${WEBHOOK} → events`],
  [['listDomainReports', ID], `:domains ${ID} → reports`],
  [['ready'], ':overview'],
  [['login', '--url', 'https://mail.example.com'], 'rasket login --url https://mail.example.com'],
])('the console shows the command %j as %s', (command, place) => {
  expect(createConsoleFormatter({ sections: every, actions: [] })({ words: 'Next', command })).toBe(`Next: ${place}`);
});

it('advice about the open item names a key or one of its tabs, and omits what is already shown', () => {
  const actions = listActions(webhooks, ['webhook_id'], true);
  const say = createConsoleFormatter({ sections, actions, at: open });
  expect(say({ words: 'Next', command: ['updateWebhook', WEBHOOK, '--status', 'enabled'] })).toBe('Next: u (update)');
  expect(say({ words: 'Next', command: ['webhooks replay', '--parked', '--webhook', WEBHOOK] })).toBe('Next: → parked');
  expect(say({ words: 'Next', command: ['getWebhook', WEBHOOK] })).toBeUndefined();
});

it('advice does not name a screen that this key cannot open', () => {
  const say = createConsoleFormatter({ sections, actions: [] });
  expect(say({ words: 'Next', command: ['listQueueHolds'] })).toBe('Next: rasket queue holds');
});
