import { putThrottle, removeThrottles } from '../../src/mail/throttles/index.ts';
import { addresses, type Scenario } from '../rig/scenario.ts';

export const scenario: Scenario = {
  title: 'Gmail gets new mail at once after an operator has resumed it',
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
  async run({ scene, send, pass, noteLimits }) {
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
      until_at: scene.clock.now() + 2 * 3_600_000,
      step: 0,
      reaction: '',
      reason: 'Gmail asked us to wait',
    };
    await putThrottle(scene.app.world.db, row);
    await pass('10 s');
    await noteLimits();
    await removeThrottles(scene.app.world.db, { provider: 'google', servers: '' });
    await pass('10 s');
    await send(addresses(5, 'gmail.com'));
  },
  account: `
    0:00 limit: google suspend until 2:00 because of Gmail asked us to wait
    google accepted 5 messages from 0:00 to 0:00; 1 connection, at most 1 at once, 5 messages on one, 5 accepted in a minute
    5 emails: queued, sent, delivered
    queue: empty
  `,
};
