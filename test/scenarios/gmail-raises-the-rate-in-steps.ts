import { addresses, type Scenario } from '../rig/scenario.ts';

export const scenario: Scenario = {
  title: 'the rate that Gmail asked for is doubled every five minutes, and Gmail is no longer limited after five steps',
  internet: `
    summary = "Gmail that reports an unusual rate"
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
  async run({ send, pass, skip, noteLimits }) {
    await send(addresses(1, 'gmail.com'));
    await noteLimits();
    await send(addresses(1, 'gmail.com', 2));
    await noteLimits();
    await skip('29 min');
    await pass('3 min');
    for (let step = 1; step <= 6; step++) {
      await noteLimits();
      await skip('5 min');
    }
  },
  account: `
    0:00 no limit
    0:00 limit: google rate 10 until 0:30 because of 450 4.7.28 Gmail has detected an unusual rate of unsolicited
    0:32 limit: google rate 20 until 0:35 because of 450 4.7.28 Gmail has detected an unusual rate of unsolicited
    0:37 limit: google rate 40 until 0:40 because of 450 4.7.28 Gmail has detected an unusual rate of unsolicited
    0:42 limit: google rate 80 until 0:45 because of 450 4.7.28 Gmail has detected an unusual rate of unsolicited
    0:47 limit: google rate 160 until 0:50 because of 450 4.7.28 Gmail has detected an unusual rate of unsolicited
    0:52 limit: google rate 320 until 0:55 because of 450 4.7.28 Gmail has detected an unusual rate of unsolicited
    0:57 no limit
    google accepted 2 messages from 0:30 to 0:30; 2 connections, at most 1 at once, 2 messages on one, 2 accepted in a minute
      refused 2 × at dot: tempfail 450 4.7.28 Gmail has detected an unusual rate of unsolicited from 0:00 to 0:00
    2 emails: queued, sent, delivery_delayed, delivered
    queue: empty
  `,
};
