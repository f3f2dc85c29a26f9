import type { Scenario } from '../rig/scenario.ts';

export const scenario: Scenario = {
  title: 'a bounce and a complaint about one address are both recorded, and one suppression is kept',
  internet: `
    summary = "A provider that reports twice about one address"
    [[domains]]
    name = "shop.example"
    provider = "shop"
    share = 1
    [providers.shop]
    hosts = ["mx.shop.example"]
    complain_later = { local_parts = ["both"], after_minutes = [20, 20] }
  `,
  countsConnections: false,
  async run({ send, pass, change }) {
    await send(['both@shop.example']);
    await pass('1 s', '1 s');
    change('shop', {
      complain_later: undefined,
      bounce_later: {
        local_parts: ['both'],
        after_minutes: [10, 10],
        status: '5.1.1',
        diagnostic: 'smtp; 550 5.1.1 Unknown',
      },
    });
    await send(['both@shop.example']);
    await pass('21 min', '20 s');
    await send(['both@shop.example']);
  },
  account: `
    shop accepted 2 messages from 0:00 to 0:00
    reports: 1 × complaint delivered
    reports: 1 × bounce delivered
    1 email: queued, sent, delivered, complained
    1 email: queued, sent, delivered, bounced
    1 email: queued, suppressed
    suppressed: both@shop.example (bounce)
    queue: empty
  `,
};
