import { addresses, type Scenario } from '../rig/scenario.ts';

export const scenario: Scenario = {
  title:
    'Gmail gets ten messages a minute for half an hour after it reports an unusual rate twice, and more in steps afterwards',
  internet: `
    summary = "Gmail that limits messages per minute"
    [[domains]]
    name = "gmail.com"
    provider = "google"
    share = 1

    [providers.google]
    unknown = false
    full = false
    delays = { greeting_ms = 0, mail_ms = 0, rcpt_ms = 0, dot_ms = 0 }
    [[providers.google.rates]]
    of = "messages"
    max = 20
    stage = "dot"
    reply = "421-4.7.28 Gmail has detected an unusual rate of unsolicited mail originating\\n421-4.7.28 from your IP address.\\n421 4.7.28 rehearsal - gsmtp"
  `,
  config: { providers: { google: { connections: 1, idle_seconds: 120 } } },
  async run({ send, pass, skip, noteLimits, note, internet }) {
    await send(addresses(21, 'gmail.com'));
    await pass('10 s');
    await noteLimits();
    await send(addresses(1, 'gmail.com', 22));
    await noteLimits();
    await pass('1 min');
    await send(addresses(15, 'gmail.com', 23));
    note(`${internet.seen.messages.length} messages accepted when ten a minute begin`);
    await pass('2 min');
    note(`${internet.seen.messages.length} messages accepted`);
    await skip('26 min');
    await pass('2 min');
  },
  account: `
    0:00 no limit
    0:00 limit: google rate 10 until 0:30 because of 421 4.7.28 Gmail has detected an unusual rate of unsolicited
    21 messages accepted when ten a minute begin
    35 messages accepted
    google accepted 37 messages from 0:00 to 0:30; 4 connections, at most 1 at once, 20 messages on one, 20 accepted in a minute
      refused 2 × at dot: rate 421-4.7.28 Gmail has detected an unusual rate of unsolicited from 0:00 to 0:00
    35 emails: queued, sent, delivered
    2 emails: queued, sent, delivery_delayed, delivered
    queue: empty
    limit: google rate 20 until 0:35 because of 421 4.7.28 Gmail has detected an unusual rate of unsolicited
  `,
};
