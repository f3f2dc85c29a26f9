import { addresses, type Scenario } from '../rig/scenario.ts';

export const scenario: Scenario = {
  title: 'a connection to Yahoo is replaced after twenty messages',
  internet: `
    summary = "Yahoo that counts messages on a connection"
    [[domains]]
    name = "yahoo.com"
    provider = "yahoo"
    share = 1

    [providers.yahoo]
    unknown = false
    full = false
    delays = { greeting_ms = 0, dot_ms = 0 }
    complain_later = false
  `,
  config: { providers: { yahoo: { connections: 1 } } },
  async run({ send, pass }) {
    await send(addresses(45, 'yahoo.com'));
    await pass('1 min');
  },
  account: `
    yahoo accepted 45 messages from 0:00 to 0:00; 3 connections, at most 1 at once, 20 messages on one, 45 accepted in a minute
    45 emails: queued, sent, delivered
    queue: empty
  `,
};
