import { addresses, type Scenario } from '../rig/scenario.ts';

export const scenario: Scenario = {
  title: 'an unknown server refuses a connection and gets half as many at once, and more again as it accepts mail',
  internet: `
    summary = "A server with room for three connections"
    [[domains]]
    name = "company.example"
    provider = "own-server"
    share = 1
    hosts = ["mx.company.example"]

    [providers.own-server]
    unknown = false
    full = false
    delays = { greeting_ms = 0, mail_ms = 0, rcpt_ms = 0, dot_ms = 1500 }
    connections = { max = 3, reply = "421 4.3.2 Service not available" }
  `,
  isCrowded: true,
  config: { delivery: { idle_seconds: 120 } },
  async run({ send, pass, change, note, internet }) {
    await send(addresses(4, 'company.example'));
    note(`${internet.seen.refusals.length} connection refused`);
    await pass('10 s');
    note(`${internet.seen.countOpen()} connections left`);
    change('own-server', { connections: { max: 20, reply: '421 4.3.2 Service not available' } });
    await send(addresses(24, 'company.example', 101));
    await pass('1 min');
    note(`${internet.seen.countOpen()} connections when more was accepted`);
  },
  account: `
    1 connection refused
    2 connections left
    5 connections when more was accepted
    own-server accepted 28 messages from 0:00 to 0:00; no more than 20 connections at once
      refused 1 × at greeting: connections 421 4.3.2 Service not available from 0:00 to 0:00
    28 emails: queued, sent, delivered
    queue: empty
  `,
};
