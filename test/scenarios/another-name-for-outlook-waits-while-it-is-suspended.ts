import { putThrottle } from '../../src/mail/throttles/index.ts';
import { addresses, type Scenario } from '../rig/scenario.ts';

export const scenario: Scenario = {
  title: 'mail to another name for a server of Outlook.com waits while Outlook.com is suspended',
  internet: `
    summary = "Outlook.com under another name"
    [[domains]]
    name = "outlook.com"
    provider = "microsoft-consumer"
    share = 1
    [[domains]]
    name = "one.example"
    provider = "microsoft-consumer"
    share = 1
    hosts = ["mx.one.example"]
    [providers.microsoft-consumer]
    addresses = 1
    unknown = false
    full = false
    delays = { greeting_ms = 0, mail_ms = 0, rcpt_ms = 0, dot_ms = 0 }
    complain_later = false
  `,
  isCrowded: true,
  async run({ scene, send, pass, skip, noteLimits }) {
    await send(addresses(1, 'outlook.com'));
    await pass('30 s');
    const row = {
      id: scene.app.world.ids.uuid(),
      source: '',
      provider: 'microsoft-consumer',
      servers: '',
      sender_domain: '',
      stream: '' as const,
      kind: 'suspend' as const,
      value: null,
      started_at: scene.clock.now(),
      until_at: scene.clock.now() + 10 * 60_000,
      step: 0,
      reaction: '',
      reason: 'Outlook.com asked us to wait',
    };
    await putThrottle(scene.app.world.db, row);
    await pass('10 s');
    await send(addresses(3, 'one.example'));
    await pass('1 min');
    await noteLimits();
    await skip('8 min');
    await pass('2 min');
  },
  account: `
    0:01 limit: microsoft-consumer suspend until 0:10 because of Outlook.com asked us to wait
    microsoft-consumer accepted 4 messages from 0:00 to 0:10; no more than 5 connections at once, 50 messages on one
    4 emails: queued, sent, delivered
    queue: empty
  `,
};
