import { addresses, type Scenario } from '../rig/scenario.ts';

export const scenario: Scenario = {
  title: 'an operator allows a server six new connections a minute, with two messages on each',
  internet: `
    summary = "A server of a company"
    [[domains]]
    name = "company.example"
    provider = "own-server"
    share = 1
    hosts = ["mx.company.example"]

    [providers.own-server]
    unknown = false
    full = false
    delays = { greeting_ms = 0, mail_ms = 0, rcpt_ms = 0, dot_ms = 0 }
  `,
  config: {
    providers: { company: { domains: ['company.example'], connections_per_minute: 6, messages_per_connection: 2 } },
  },
  async run({ send, pass, note, internet }) {
    await send(addresses(8, 'company.example'));
    note(`${internet.seen.connections.length} connection opened at once`);
    await pass('25 s');
    note(`${internet.seen.connections.length} connections after 25 seconds`);
    await pass('1 min');
    note(`at most ${internet.seen.maxConnectionsPerMinute()} connections in a minute`);
  },
  account: `
    1 connection opened at once
    3 connections after 25 seconds
    at most 4 connections in a minute
    own-server accepted 8 messages from 0:00 to 0:00; 4 connections, at most 1 at once, 2 messages on one, 8 accepted in a minute
    8 emails: queued, sent, delivered
    queue: empty
  `,
};
