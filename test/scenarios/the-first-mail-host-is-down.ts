import { addresses, type Scenario } from '../rig/scenario.ts';

export const scenario: Scenario = {
  title: 'mail goes to the second mail host of a domain at once while the first one is down',
  internet: `
    summary = "A domain with two mail hosts"
    [[domains]]
    name = "shop.example"
    provider = "shop"
    share = 1
    [providers.shop]
    hosts = ["mx1.shop.example", "mx2.shop.example"]
  `,
  countsConnections: false,
  async run({ scene, internet, send, note }) {
    scene.dns.set('mx1.shop.example', 'A', ['127.127.0.1']);
    await send(addresses(10, 'shop.example'));
    note(`hosts: ${[...new Set(internet.seen.messages.map(({ host }) => host))].join()}`);
  },
  account: `
    hosts: mx2.shop.example
    shop accepted 10 messages from 0:00 to 0:00
    10 emails: queued, sent, delivered
    queue: empty
  `,
};
