import { addresses, type Scenario } from '../rig/scenario.ts';

export const scenario: Scenario = {
  title:
    'a server that blocks us after unknown recipients gets the other mail when the block ends, and only the unknown recipients are suppressed',
  internet: `
    summary = "A server that blocks senders for half an hour"
    [[domains]]
    name = "shop.example"
    provider = "shop"
    share = 1
    [providers.shop]
    hosts = ["mx.shop.example"]
    unknown = { local_parts = ["gone*"], reply = "550 5.1.1 User unknown" }
    block = [{ unknown = 3, for_minutes = 30, reply = "554 5.7.1 Your server is blocked after too many unknown recipients" }]
  `,
  countsConnections: false,
  async run({ send, pass }) {
    await send(['gone1@shop.example', 'gone2@shop.example', 'gone3@shop.example']);
    await pass('10 s');
    await send(addresses(5, 'shop.example'));
    await pass('52 min', '20 s');
  },
  account: `
    shop accepted 5 messages from 0:51 to 0:51
      refused 3 × at rcpt: unknown 550 5.1.1 User unknown from 0:00 to 0:00
      refused 4 × at greeting: blocked 554 5.7.1 Your server is blocked after too many unknown reci from 0:00 to 0:21
    5 emails: queued, sent, delivery_delayed, delivered
    3 emails: queued, sent, bounced
    suppressed: gone1@shop.example (bounce)
    suppressed: gone2@shop.example (bounce)
    suppressed: gone3@shop.example (bounce)
    queue: empty
  `,
};
