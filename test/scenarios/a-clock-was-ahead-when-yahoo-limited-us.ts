import { addresses, type Scenario } from '../rig/scenario.ts';

const YEAR_MS = 365 * 24 * 3_600_000;

export const scenario: Scenario = {
  title:
    'a clock that was a year ahead when Yahoo suspended us is corrected, and the suspension ends after its usual time',
  internet: `
    summary = "Yahoo that complains once"
    [[domains]]
    name = "yahoo.com"
    provider = "yahoo"
    share = 1
    [providers.yahoo]
    delays = { greeting_ms = 0, mail_ms = 0, rcpt_ms = 0, dot_ms = 0 }
  `,
  countsConnections: false,
  async run({ scene, send, pass, noteLimits, change }) {
    change('yahoo', {
      tempfail: [
        {
          reply:
            '421 4.7.0 [TSS04] Messages from {ip} temporarily deferred due to unexpected volume or user complaints',
        },
      ],
    });
    scene.clock.step(YEAR_MS);
    await pass('10 s');
    await send(addresses(1, 'yahoo.com'));
    scene.clock.step(-YEAR_MS);
    change('yahoo', { tempfail: [] });
    await pass('30 s');
    await noteLimits();
    await pass('6 h', '1 min');
  },
  account: `
    0:00 limit: yahoo suspend until 2:00 because of 421 4.7.0 [TSS04] Messages from IP temporarily deferred due; limit: yahoo rate 1 until 1:30 because of 421 4.7.0 [TSS04] Messages from IP temporarily deferred due; limit: yahoo connections 1 until 1:30 because of 421 4.7.0 [TSS04] Messages from IP temporarily deferred due
    yahoo accepted 1 message from 2:00 to 2:00
      refused 1 × at mail: tempfail 421 4.7.0 [TSS04] Messages from IP temporarily deferred due from 8760:00 to 8760:00
    1 email: queued, sent, delivery_delayed, delivered
    queue: empty
  `,
};
