import { addresses, type Scenario } from '../rig/scenario.ts';

export const scenario: Scenario = {
  title: 'a single report of an unusual rate by Gmail limits nothing',
  internet: `
    summary = "Gmail that reports an unusual rate once"
    [[domains]]
    name = "gmail.com"
    provider = "google"
    share = 1

    [providers.google]
    unknown = false
    full = false
    delays = { greeting_ms = 0, mail_ms = 0, rcpt_ms = 0, dot_ms = 0 }
    tempfail = [{ stage = "dot", to_minute = 1, reply = "450 4.7.28 Gmail has detected an unusual rate of unsolicited mail originating from your IP address." }]
  `,
  config: { providers: { google: { connections: 1, idle_seconds: 120 } } },
  async run({ send, pass, skip }) {
    await send(addresses(1, 'gmail.com'));
    await skip('1 min');
    await send(addresses(20, 'gmail.com', 2));
    await pass('30 s');
  },
  account: `
    google accepted 20 messages from 0:01 to 0:01; 1 connection, at most 1 at once, 20 messages on one, 20 accepted in a minute
      refused 1 × at dot: tempfail 450 4.7.28 Gmail has detected an unusual rate of unsolicited from 0:00 to 0:00
    20 emails: queued, sent, delivered
    1 email: queued, sent, delivery_delayed
    queue: 1 × gmail.com retrying until 0:30 after 1 attempt: 450 4.7.28 Gmail has detected an unusual rate of unsolicited
  `,
};
