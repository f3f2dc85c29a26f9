import { addresses, type Scenario } from '../rig/scenario.ts';

export const scenario: Scenario = {
  title: 'the only mail of a team arrives before most of the sixty of another team at the same slow server',
  internet: `
    summary = "A slow server"
    [[domains]]
    name = "shop.example"
    provider = "shop"
    share = 1
    [providers.shop]
    hosts = ["mx.shop.example"]
    delays = { dot_ms = 5000 }
    connections = { max = 4, reply = "421 4.7.0 Too many connections" }
  `,
  config: { delivery: { max_connections_per_destination: 4 } },
  countsConnections: false,
  async run({ scene, internet, send, pass, note }) {
    await send(addresses(60, 'shop.example'));
    await pass('20 s');
    const other = await scene.team();
    await send(['only@shop.example'], { team: other });
    const before = internet.seen.messages.length;
    await pass('5 min');
    const place =
      internet.seen.messages.findIndex(({ recipients }) => recipients.includes('only@shop.example')) - before;
    note(
      `the mail of the other team was ${place >= 0 && place < 10 ? 'among the next ten' : `number ${place} since it was sent`}`,
    );
  },
  account: `
    the mail of the other team was among the next ten
    shop accepted 61 messages from 0:00 to 0:01
    61 emails: queued, sent, delivered
    queue: empty
  `,
};
