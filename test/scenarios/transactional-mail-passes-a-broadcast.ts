import { campaignIn } from '../flow/campaign.ts';
import { addresses, type Scenario } from '../rig/scenario.ts';

export const scenario: Scenario = {
  title: 'a transactional message arrives before most of the broadcast that its team is sending to the same provider',
  internet: `
    summary = "A slow server with one connection"
    [[domains]]
    name = "shop.example"
    provider = "shop"
    share = 1
    [providers.shop]
    hosts = ["mx.shop.example"]
    delays = { dot_ms = 1000 }
  `,
  config: { delivery: { max_connections_per_destination: 1 } },
  countsConnections: false,
  async run({ scene, internet, send, pass, note }) {
    const campaign = await campaignIn(scene);
    await campaign.addContacts(addresses(60, 'shop.example'));
    const id = await campaign.broadcast();
    await pass('10 s');
    const before = internet.seen.messages.length;
    await send(['urgent@shop.example'], { team: campaign.team, from: `login@${campaign.domain.name}` });
    await pass('3 min');
    const place =
      internet.seen.messages.findIndex(({ recipients }) => recipients.includes('urgent@shop.example')) - before;
    note(`the message was ${place >= 0 && place < 5 ? 'among the next five' : `number ${place} since it was sent`}`);
    note(`the broadcast is ${(await campaign.get(id)).status}`);
  },
  account: `
    the message was among the next five
    the broadcast is sent
    shop accepted 61 messages from 0:00 to 0:01
    1 email: queued, sent, delivered
    queue: empty
  `,
};
