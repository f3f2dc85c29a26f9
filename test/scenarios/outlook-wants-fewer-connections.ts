import { addresses, type Scenario } from '../rig/scenario.ts';

export const scenario: Scenario = {
  title: 'Outlook.com refuses connections twice, and gets one at a time for an hour',
  internet: `
    summary = "Outlook.com that takes two connections"
    [[domains]]
    name = "outlook.com"
    provider = "microsoft-consumer"
    share = 1

    [providers.microsoft-consumer]
    unknown = false
    full = false
    delays = { greeting_ms = 100, mail_ms = 0, rcpt_ms = 0, dot_ms = 500 }
    complain_later = false
    connections = { max = 2 }
  `,
  config: { delivery: { idle_seconds: 60 } },
  async run({ send, pass, noteLimits, note, internet }) {
    await send(addresses(20, 'outlook.com'));
    await pass('3 min');
    note(`${internet.seen.maxConnections()} connections at once`);
    await noteLimits();
    const before = internet.seen.connections.length;
    await send(addresses(20, 'outlook.com', 101));
    await pass('1 min');
    note(`${internet.seen.connections.length - before} more for twenty messages`);
  },
  account: `
    4 connections at once
    0:03 limit: microsoft-consumer connections 1 until 1:00 because of 421 4.3.2 The mail server [IP] has exceeded the maximum numb
    1 more for twenty messages
    microsoft-consumer accepted 40 messages from 0:00 to 0:03; 5 connections, at most 4 at once, 20 messages on one, 20 accepted in a minute
      refused 2 × at greeting: connections 421 4.3.2 The mail server [IP] has exceeded the maximum numb from 0:00 to 0:00
    40 emails: queued, sent, delivered
    queue: empty
    limit: microsoft-consumer connections 1 until 1:00 because of 421 4.3.2 The mail server [IP] has exceeded the maximum numb
  `,
};
