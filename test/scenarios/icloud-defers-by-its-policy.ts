import { addresses, type Scenario } from '../rig/scenario.ts';

export const scenario: Scenario = {
  title: 'iCloud answers three times with HCM1, and gets no mail for a quarter of an hour',
  internet: `
    summary = "iCloud that defers by its policy"
    [[domains]]
    name = "icloud.com"
    provider = "apple"
    share = 1

    [providers.apple]
    unknown = false
    full = false
    delays = { greeting_ms = 0, mail_ms = 0, rcpt_ms = 0, dot_ms = 0 }
    tempfail = [{ stage = "rcpt", to_minute = 5, reply = "450 4.1.8 [HCM1] Your mail from {ip} was deferred due to local policy." }]
  `,
  config: { providers: { apple: { connections: 1, idle_seconds: 120 } } },
  async run({ send, pass, skip, noteLimits }) {
    await send(addresses(12, 'icloud.com'));
    await pass('10 s');
    await noteLimits();
    await skip('14 min');
    await pass('2 min');
  },
  account: `
    0:00 limit: apple suspend until 0:15 because of 450 4.1.8 [HCM1] Your mail from IP was deferred due to local
    apple accepted 12 messages from 0:15 to 0:15; 4 connections, at most 1 at once, 5 messages on one, 12 accepted in a minute
      refused 3 × at rcpt: tempfail 450 4.1.8 [HCM1] Your mail from IP was deferred due to local from 0:00 to 0:00
    9 emails: queued, sent, delivered
    3 emails: queued, sent, delivery_delayed, delivered
    queue: empty
    limit: apple rate 20 until 0:20 because of 450 4.1.8 [HCM1] Your mail from IP was deferred due to local
  `,
};
