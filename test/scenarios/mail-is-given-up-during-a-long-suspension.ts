import { putThrottle } from '../../src/mail/throttles/index.ts';
import { addresses, type Scenario } from '../rig/scenario.ts';

export const scenario: Scenario = {
  title: 'mail to a suspended provider bounces when it is 48 hours old',
  internet: `
    summary = "Gmail"
    [[domains]]
    name = "gmail.com"
    provider = "google"
    share = 1

    [providers.google]
    unknown = false
    full = false
    delays = { greeting_ms = 0, mail_ms = 0, rcpt_ms = 0, dot_ms = 0 }
  `,
  config: { providers: { google: { connections: 1, idle_seconds: 120 } } },
  async run({ scene, send, pass, skip }) {
    const row = {
      id: scene.app.world.ids.uuid(),
      source: '',
      provider: 'google',
      servers: '',
      sender_domain: '',
      stream: '' as const,
      kind: 'suspend' as const,
      value: null,
      started_at: scene.clock.now(),
      until_at: scene.clock.now() + 72 * 3_600_000,
      step: 0,
      reaction: '',
      reason: 'Gmail asked us to wait',
    };
    await putThrottle(scene.app.world.db, row);
    await pass('10 s');
    await send(addresses(3, 'gmail.com'));
    await skip('47 h');
    await send(addresses(2, 'gmail.com', 11));
    await skip('59 min');
    await pass('2 min');
  },
  account: `
    3 emails: queued, sent, bounced
    2 emails: queued
    queue: 2 × gmail.com waiting until 72:00 after 0 attempts: not tried
    limit: google suspend until 72:00 because of Gmail asked us to wait
  `,
};
