import { addresses, type Scenario } from '../rig/scenario.ts';

export const scenario: Scenario = {
  title: 'a rate that Gmail asks for holds for messages that already wait for a connection',
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
    tempfail = [{ stage = "dot", every = 2, reply = "450 4.7.28 Gmail has detected an unusual rate of unsolicited mail originating from your IP address." }]
  `,
  config: { providers: { google: { connections: 1, idle_seconds: 120 } } },
  async run({ send, pass, noteLimits, change, note, internet }) {
    await send(addresses(10, 'gmail.com'));
    note(`${internet.seen.messages.length} messages accepted at once`);
    await noteLimits();
    change('google', { tempfail: [] });
    await pass('1 min');
  },
  account: `
    3 messages accepted at once
    0:00 limit: google rate 10 until 0:30 because of 450 4.7.28 Gmail has detected an unusual rate of unsolicited
    google accepted 8 messages from 0:00 to 0:00; 1 connection, at most 1 at once, 8 messages on one, 8 accepted in a minute
      refused 2 × at dot: tempfail 450 4.7.28 Gmail has detected an unusual rate of unsolicited from 0:00 to 0:00
    8 emails: queued, sent, delivered
    2 emails: queued, sent, delivery_delayed
    queue: 2 × gmail.com retrying until 0:30 after 1 attempt: 450 4.7.28 Gmail has detected an unusual rate of unsolicited
    limit: google rate 10 until 0:30 because of 450 4.7.28 Gmail has detected an unusual rate of unsolicited
  `,
};
