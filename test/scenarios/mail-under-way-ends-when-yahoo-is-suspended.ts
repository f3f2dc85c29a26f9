import { addresses, type Scenario } from '../rig/scenario.ts';

export const scenario: Scenario = {
  title:
    'messages that Yahoo is taking are delivered although it is suspended for another one, and no other message is begun',
  internet: `
    summary = "Yahoo that takes its time"
    [[domains]]
    name = "yahoo.com"
    provider = "yahoo"
    share = 1

    [providers.yahoo]
    unknown = false
    full = false
    delays = { greeting_ms = 0, mail_ms = 0, rcpt_ms = 0, dot_ms = 5000 }
    complain_later = false
  `,
  async run({ send, pass, noteLimits, change, note, internet }) {
    await send(addresses(3, 'yahoo.com'));
    change('yahoo', {
      tempfail: [
        { reply: '421 4.7.0 [TSS04] Messages from {ip} temporarily deferred due to unexpected volume - 4.16.55.1' },
      ],
    });
    await send(addresses(1, 'yahoo.com', 4));
    await send(addresses(10, 'yahoo.com', 5));
    note(`${internet.seen.messages.length} accepted when the suspension began`);
    await noteLimits();
    await pass('30 s');
  },
  account: `
    0 accepted when the suspension began
    0:00 limit: yahoo suspend until 2:00 because of 421 4.7.0 [TSS04] Messages from IP temporarily deferred due; limit: yahoo rate 1 until 1:30 because of 421 4.7.0 [TSS04] Messages from IP temporarily deferred due; limit: yahoo connections 1 until 1:30 because of 421 4.7.0 [TSS04] Messages from IP temporarily deferred due
    yahoo accepted 3 messages from 0:00 to 0:00; 4 connections, at most 4 at once, 1 messages on one, 3 accepted in a minute
      refused 1 × at mail: tempfail 421 4.7.0 [TSS04] Messages from IP temporarily deferred due from 0:00 to 0:00
    10 emails: queued
    3 emails: queued, sent, delivered
    1 email: queued, sent, delivery_delayed
    queue: 1 × yahoo.com retrying until 2:00 after 1 attempt: 421 4.7.0 [TSS04] Messages from IP temporarily deferred due
    queue: 10 × yahoo.com waiting until 2:00 after 0 attempts: not tried
    limit: yahoo suspend until 2:00 because of 421 4.7.0 [TSS04] Messages from IP temporarily deferred due
    limit: yahoo rate 1 until 1:30 because of 421 4.7.0 [TSS04] Messages from IP temporarily deferred due
    limit: yahoo connections 1 until 1:30 because of 421 4.7.0 [TSS04] Messages from IP temporarily deferred due
  `,
};
