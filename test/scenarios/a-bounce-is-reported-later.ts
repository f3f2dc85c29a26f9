import { addresses, type Scenario } from '../rig/scenario.ts';

export const scenario: Scenario = {
  title: 'a bounce that arrives by mail after ten minutes suppresses the recipient',
  internet: `
    summary = "A server that bounces some mail later"
    [[domains]]
    name = "shop.example"
    provider = "shop"
    share = 1
    [providers.shop]
    hosts = ["mx.shop.example"]
    bounce_later = { local_parts = ["left"], after_minutes = [10, 10], status = "5.1.1", diagnostic = "smtp; 550 5.1.1 User unknown" }
  `,
  countsConnections: false,
  async run({ send, pass }) {
    await send(['left@shop.example', ...addresses(3, 'shop.example')]);
    await pass('11 min', '20 s');
    await send(['left@shop.example']);
  },
  account: `
    shop accepted 4 messages from 0:00 to 0:00
    reports: 1 × bounce delivered
    3 emails: queued, sent, delivered
    1 email: queued, sent, delivered, bounced
    1 email: queued, suppressed
    suppressed: left@shop.example (bounce)
    queue: empty
  `,
};
