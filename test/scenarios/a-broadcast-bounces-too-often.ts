import { campaignIn } from '../flow/campaign.ts';
import { addresses, type Scenario } from '../rig/scenario.ts';

export const scenario: Scenario = {
  title:
    'a broadcast is held when more than five percent of its first hundred emails have bounced, and only what is under way then is still sent',
  internet: `
    summary = "A server with unknown recipients"
    [[domains]]
    name = "shop.example"
    provider = "shop"
    share = 1
    [providers.shop]
    hosts = ["mx.shop.example"]
    delays = { dot_ms = 100 }
    unknown = { local_parts = ["gone*"], reply = "550 5.1.1 User unknown" }
  `,
  config: { delivery: { max_connections_per_destination: 1, max_in_flight: 24 }, broadcasts: { hold_after: 100 } },
  countsConnections: false,
  async run({ scene, pass, note }) {
    const campaign = await campaignIn(scene);
    for (const [at, address] of addresses(150, 'shop.example').entries()) {
      await campaign.addContacts([at % 15 === 0 ? `gone-${address}` : address]);
      // Contacts of the same millisecond are in any order.
      scene.clock.advance(1);
    }
    const id = await campaign.broadcast();
    await pass('3 min');
    const { held } = (await campaign.get(id)) as { held: { reason: string; detail: string } };
    note(`held because of ${held.reason}: ${held.detail}`);
  },
  account: `
    held because of bounces: 6 of 100 emails bounced (6 %); the limit is 5 %
    shop accepted 102 messages from 0:00 to 0:01
      refused 7 × at rcpt: unknown 550 5.1.1 User unknown from 0:00 to 0:01
    suppressed: gone-r106@shop.example (bounce)
    suppressed: gone-r121@shop.example (bounce)
    suppressed: gone-r136@shop.example (bounce)
    suppressed: gone-r46@shop.example (bounce)
    suppressed: gone-r61@shop.example (bounce)
    suppressed: gone-r76@shop.example (bounce)
    suppressed: gone-r91@shop.example (bounce)
    queue: 41 × shop.example held after 0 attempts: not tried
  `,
};
