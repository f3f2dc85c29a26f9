import { putThrottle } from '../../src/mail/throttles/index.ts';
import { addresses, type Scenario } from '../rig/scenario.ts';

export const scenario: Scenario = {
  title: 'mail to Gmail waits while an operator has suspended it, and flows without a limit afterwards',
  internet: `
    summary = "Gmail"
    [[domains]]
    name = "gmail.com"
    provider = "google"
    share = 1
    [[domains]]
    name = "yahoo.com"
    provider = "yahoo"
    share = 1

    [providers.google]
    unknown = false
    full = false
    delays = { greeting_ms = 0, mail_ms = 0, rcpt_ms = 0, dot_ms = 0 }
    [providers.yahoo]
    unknown = false
    full = false
    complain_later = false
    delays = { greeting_ms = 0, mail_ms = 0, rcpt_ms = 0, dot_ms = 0 }
  `,
  config: { providers: { google: { connections: 1, idle_seconds: 120 } } },
  async run({ scene, send, pass, skip, noteLimits }) {
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
      until_at: scene.clock.now() + 10 * 60_000,
      step: 0,
      reaction: '',
      reason: 'Gmail asked us to wait',
    };
    await putThrottle(scene.app.world.db, row);
    await pass('10 s');
    await send(addresses(8, 'gmail.com'));
    await send(addresses(1, 'yahoo.com'));
    await pass('1 min');
    await noteLimits();
    await skip('8 min');
    await pass('1 min');
  },
  account: `
    0:01 limit: google suspend until 0:10 because of Gmail asked us to wait
    google accepted 8 messages from 0:10 to 0:10; 1 connection, at most 1 at once, 8 messages on one, 8 accepted in a minute
    yahoo accepted 1 message from 0:00 to 0:00; 1 connection, at most 1 at once, 1 messages on one, 1 accepted in a minute
    9 emails: queued, sent, delivered
    queue: empty
  `,
};
