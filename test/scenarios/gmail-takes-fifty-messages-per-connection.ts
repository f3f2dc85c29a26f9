import { addresses, type Scenario } from '../rig/scenario.ts';

export const scenario: Scenario = {
  title: 'a connection to Gmail is replaced after fifty messages',
  internet: `
    summary = "Gmail that counts messages on a connection"
    [[domains]]
    name = "gmail.com"
    provider = "google"
    share = 1

    [providers.google]
    unknown = false
    full = false
    delays = { greeting_ms = 0, rcpt_ms = 0, dot_ms = 0 }
  `,
  config: { providers: { google: { connections: 1 } } },
  async run({ send, pass }) {
    await send(addresses(60, 'gmail.com'));
    await pass('1 min');
  },
  account: `
    google accepted 60 messages from 0:00 to 0:00; 2 connections, at most 1 at once, 50 messages on one, 60 accepted in a minute
    60 emails: queued, sent, delivered
    queue: empty
  `,
};
