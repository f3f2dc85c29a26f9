import { addresses, type Scenario } from '../rig/scenario.ts';

export const scenario: Scenario = {
  title:
    'messages whose final dot came before a restart, and its reply after it, are in doubt for two hours and are not sent again',
  internet: `
    summary = "A server that takes its time for each message"
    [[domains]]
    name = "shop.example"
    provider = "shop"
    share = 1
    [providers.shop]
    hosts = ["mx.shop.example"]
    delays = { dot_ms = 3000 }
  `,
  config: { delivery: { max_connections_per_destination: 2 } },
  countsConnections: false,
  async run({ scene, send, pass, operate, note }) {
    await send(addresses(20, 'shop.example'));
    await pass('1 s');
    await scene.restart();
    await pass('1 min');
    const { body } = await operate('GET', '/operator/queue/deliveries?state=in_doubt&limit=100');
    note(`in doubt: ${(body.data as unknown[]).length}`);
    await pass('2 h', '1 min');
  },
  account: `
    in doubt: 2
    shop accepted 20 messages from 0:00 to 0:00
    18 emails: queued, sent, delivered
    2 emails: queued, sent, failed
    queue: empty
  `,
};
