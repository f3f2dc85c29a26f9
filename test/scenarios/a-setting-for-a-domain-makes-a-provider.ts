import { addresses, type Scenario } from '../rig/scenario.ts';

export const scenario: Scenario = {
  title:
    'an operator allows one domain six messages a minute, and another with the same mail servers has no such limit',
  internet: `
    summary = "A company with two domains"
    [[domains]]
    name = "small.example"
    provider = "own-server"
    share = 1
    hosts = ["mx.company.example"]
    [[domains]]
    name = "large.example"
    provider = "own-server"
    share = 1
    hosts = ["mx.company.example"]

    [providers.own-server]
    unknown = false
    full = false
    delays = { greeting_ms = 0, mail_ms = 0, rcpt_ms = 0, dot_ms = 0 }
  `,
  config: {
    delivery: { max_connections_per_destination: 1, idle_seconds: 60 },
    providers: { small: { domains: ['small.example'], messages_per_minute: 6, idle_seconds: 120 } },
  },
  async run({ send, pass, note, internet }) {
    await send(addresses(3, 'small.example'));
    await send(addresses(6, 'large.example'));
    await pass('5 s');
    note(`${internet.seen.messages.length} messages accepted in five seconds`);
    await pass('45 s');
  },
  account: `
    7 messages accepted in five seconds
    own-server accepted 9 messages from 0:00 to 0:00; 2 connections, at most 2 at once, 6 messages on one, 9 accepted in a minute
    9 emails: queued, sent, delivered
    queue: empty
  `,
};
