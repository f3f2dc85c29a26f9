import { addresses, type Scenario } from '../rig/scenario.ts';

export const scenario: Scenario = {
  title: 'a complaint that arrives after half an hour suppresses the recipient',
  internet: `
    summary = "A provider whose reader complains"
    [[domains]]
    name = "shop.example"
    provider = "shop"
    share = 1
    [providers.shop]
    hosts = ["mx.shop.example"]
    complain_later = { local_parts = ["angry"], after_minutes = [30, 30] }
  `,
  countsConnections: false,
  async run({ send, pass }) {
    await send(['angry@shop.example', ...addresses(3, 'shop.example')]);
    await pass('31 min', '20 s');
    await send(['angry@shop.example']);
  },
  account: `
    shop accepted 4 messages from 0:00 to 0:00
    reports: 1 × complaint delivered
    3 emails: queued, sent, delivered
    1 email: queued, sent, delivered, complained
    1 email: queued, suppressed
    suppressed: angry@shop.example (complaint)
    queue: empty
  `,
};
