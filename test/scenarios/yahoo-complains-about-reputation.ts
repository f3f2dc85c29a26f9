import { addresses, type Scenario } from '../rig/scenario.ts';

export const scenario: Scenario = {
  title: 'mail to Yahoo is suspended for two hours after TSS04 without costing attempts, and resumes slowly',
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
    tempfail = [{ to_minute = 10, stage = "mail", reply = "421 4.7.0 [TSS04] Messages from {ip} temporarily deferred due to unexpected volume or user complaints - 4.16.55.1" }]
  `,
  config: { providers: { yahoo: { connections: 1, idle_seconds: 120 } } },
  async run({ send, pass, skip, noteLimits }) {
    await send(addresses(10, 'yahoo.com'));
    await pass('10 s');
    await noteLimits();
    await skip('119 min');
    await pass('2 min');
  },
  account: `
    0:00 limit: yahoo suspend until 2:00 because of 421 4.7.0 [TSS04] Messages from IP temporarily deferred due; limit: yahoo rate 1 until 1:30 because of 421 4.7.0 [TSS04] Messages from IP temporarily deferred due; limit: yahoo connections 1 until 1:30 because of 421 4.7.0 [TSS04] Messages from IP temporarily deferred due
    yahoo accepted 10 messages from 2:00 to 2:00; 2 connections, at most 1 at once, 10 messages on one, 10 accepted in a minute
      refused 1 × at mail: tempfail 421 4.7.0 [TSS04] Messages from IP temporarily deferred due from 0:00 to 0:00
    9 emails: queued, sent, delivered
    1 email: queued, sent, delivery_delayed, delivered
    queue: empty
    limit: yahoo rate 20 until 2:05 because of 421 4.7.0 [TSS04] Messages from IP temporarily deferred due
  `,
};
