import { addresses, type Scenario } from '../rig/scenario.ts';

export const scenario: Scenario = {
  title: 'mail to Yahoo is suspended for four hours after the second TSS05',
  internet: `
    summary = "Yahoo that defers for some minutes"
    [[domains]]
    name = "yahoo.com"
    provider = "yahoo"
    share = 1

    [providers.yahoo]
    unknown = false
    full = false
    delays = { greeting_ms = 0, mail_ms = 0, rcpt_ms = 0, dot_ms = 0 }
    complain_later = false
    tempfail = [{ to_minute = 10, reply = "451 4.7.0 [TSS05] Messages temporarily refused due to user complaints - 4.16.56.1" }]
  `,
  config: { providers: { yahoo: { connections: 1, idle_seconds: 120 } } },
  async run({ send, pass, skip, noteLimits }) {
    await send(addresses(1, 'yahoo.com'));
    await pass('5 s');
    await noteLimits();
    await send(addresses(8, 'yahoo.com', 2));
    await pass('5 s');
    await noteLimits();
    await skip('239 min');
    await pass('2 min');
  },
  account: `
    0:00 no limit
    0:00 limit: yahoo suspend until 4:00 because of 451 4.7.0 [TSS05] Messages temporarily refused due to user c
    yahoo accepted 9 messages from 4:00 to 4:00; 2 connections, at most 1 at once, 9 messages on one, 9 accepted in a minute
      refused 2 × at mail: tempfail 451 4.7.0 [TSS05] Messages temporarily refused due to user c from 0:00 to 0:00
    7 emails: queued, sent, delivered
    2 emails: queued, sent, delivery_delayed, delivered
    queue: empty
    limit: yahoo rate 20 until 4:05 because of 451 4.7.0 [TSS05] Messages temporarily refused due to user c
  `,
};
