import type { Scenario } from '../rig/scenario.ts';

export const scenario: Scenario = {
  title: 'a message that is larger than its server takes bounces without being sent, and smaller ones arrive',
  internet: `
    summary = "A server that takes small messages only"
    [[domains]]
    name = "shop.example"
    provider = "shop"
    share = 1
    [providers.shop]
    hosts = ["mx.shop.example"]
    size_bytes = 20000
  `,
  async run({ send }) {
    await send(['reader@shop.example'], { email: { text: 'Hello.\n'.repeat(5000) } });
    await send(['reader@shop.example']);
  },
  account: `
    shop accepted 1 message from 0:00 to 0:00; 1 connection, at most 1 at once, 1 messages on one, 1 accepted in a minute
    1 email: queued, sent, bounced
    1 email: queued, sent, delivered
    queue: empty
  `,
};
