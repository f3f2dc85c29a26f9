import { addresses, type Scenario } from '../rig/scenario.ts';

export const scenario: Scenario = {
  title: 'Outlook.com refuses a sixth message on a connection twice, and gets two on each for an hour',
  internet: `
    summary = "Outlook.com that takes five messages per connection"
    [[domains]]
    name = "outlook.com"
    provider = "microsoft-consumer"
    share = 1

    [providers.microsoft-consumer]
    unknown = false
    full = false
    delays = { greeting_ms = 0, mail_ms = 0, rcpt_ms = 0, dot_ms = 0 }
    complain_later = false
    messages_per_connection = { max = 5 }
  `,
  config: { providers: { 'microsoft-consumer': { connections: 1, idle_seconds: 120 } } },
  async run({ send, pass, noteLimits, note, internet }) {
    await send(addresses(14, 'outlook.com'));
    await pass('3 min');
    await noteLimits();
    const before = internet.seen.connections.length;
    await send(addresses(6, 'outlook.com', 101));
    await pass('30 s');
    note(`${internet.seen.connections.length - before} more connections for six messages`);
  },
  account: `
    0:03 limit: microsoft-consumer messages_per_connection 2 until 1:00 because of 421 4.3.2 The mail server [IP] has exceeded maximum number o
    3 more connections for six messages
    microsoft-consumer accepted 20 messages from 0:00 to 0:03; 7 connections, at most 1 at once, 5 messages on one, 14 accepted in a minute
      refused 2 × at mail: messages-per-connection 421 4.3.2 The mail server [IP] has exceeded maximum number o from 0:00 to 0:00
    20 emails: queued, sent, delivered
    queue: empty
    limit: microsoft-consumer messages_per_connection 2 until 1:00 because of 421 4.3.2 The mail server [IP] has exceeded maximum number o
  `,
};
