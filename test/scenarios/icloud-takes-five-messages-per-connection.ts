import { addresses, type Scenario } from '../rig/scenario.ts';

export const scenario: Scenario = {
  title: 'a connection to iCloud is replaced after five messages',
  internet: `
    summary = "iCloud that counts messages on a connection"
    [[domains]]
    name = "icloud.com"
    provider = "apple"
    share = 1

    [providers.apple]
    unknown = false
    full = false
    delays = { greeting_ms = 100, mail_ms = 0, rcpt_ms = 0, dot_ms = 500 }
  `,
  config: { providers: { apple: { connections: 1 } } },
  async run({ send, pass }) {
    await send(addresses(12, 'icloud.com'));
    await pass('1 min');
  },
  account: `
    apple accepted 12 messages from 0:00 to 0:00; 3 connections, at most 1 at once, 5 messages on one, 12 accepted in a minute
    12 emails: queued, sent, delivered
    queue: empty
  `,
};
