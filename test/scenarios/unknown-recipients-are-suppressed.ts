import type { Scenario } from '../rig/scenario.ts';

export const scenario: Scenario = {
  title: 'unknown recipients bounce and are suppressed, and later mail to them reaches no server',
  internet: `
    summary = "A server with unknown recipients"
    [[domains]]
    name = "shop.example"
    provider = "shop"
    share = 1
    [providers.shop]
    hosts = ["mx.shop.example"]
    unknown = { local_parts = ["gone*"], reply = "550 5.1.1 Recipient address rejected: User unknown" }
  `,
  countsConnections: false,
  async run({ send }) {
    const readers = [
      'gone1@shop.example',
      'r1@shop.example',
      'gone2@shop.example',
      'r2@shop.example',
      'r3@shop.example',
    ];
    await send(readers);
    await send(readers);
  },
  account: `
    shop accepted 6 messages from 0:00 to 0:00
      refused 2 × at rcpt: unknown 550 5.1.1 Recipient address rejected: User unknown from 0:00 to 0:00
    6 emails: queued, sent, delivered
    2 emails: queued, sent, bounced
    2 emails: queued, suppressed
    suppressed: gone1@shop.example (bounce)
    suppressed: gone2@shop.example (bounce)
    queue: empty
  `,
};
