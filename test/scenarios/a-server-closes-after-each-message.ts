import { addresses, type Scenario } from '../rig/scenario.ts';

export const scenario: Scenario = {
  title: 'a server that closes the connection after each message gets all messages without a delay',
  internet: `
    summary = "A server that takes one message on each connection"
    [[domains]]
    name = "shop.example"
    provider = "shop"
    share = 1
    [providers.shop]
    hosts = ["mx.shop.example"]
    messages_per_connection = { max = 1, reply = "421 4.7.0 Too many messages on this connection" }
  `,
  countsConnections: false,
  async run({ send, pass }) {
    await send(addresses(20, 'shop.example'));
    await pass('1 min');
  },
  account: `
    shop accepted 20 messages from 0:00 to 0:00
    20 emails: queued, sent, delivered
    queue: empty
    limit: mx.shop.example connections 1 until 0:30 because of 421 4.7.0 Too many messages on this connection
  `,
};
