import { addresses, type Scenario } from '../rig/scenario.ts';

export const scenario: Scenario = {
  title:
    'a server that takes one connection with two messages gets all messages without a delay, although it refuses others',
  internet: `
    summary = "A server that takes one connection, and two messages on it"
    [[domains]]
    name = "shop.example"
    provider = "shop"
    share = 1
    [providers.shop]
    hosts = ["mx.shop.example"]
    delays = { dot_ms = 500 }
    connections = { max = 1, reply = "421 4.7.0 Too many connections" }
    messages_per_connection = { max = 2, reply = "421 4.7.0 Too many messages on this connection" }
  `,
  countsConnections: false,
  async run({ send, pass }) {
    await send(addresses(10, 'shop.example'));
    await pass('1 min');
  },
  account: `
    shop accepted 10 messages from 0:00 to 0:00
    10 emails: queued, sent, delivered
    queue: empty
    limit: mx.shop.example connections 1 until 0:30 because of 421 4.7.0 Too many connections
  `,
};
