import { addresses, type Scenario } from '../rig/scenario.ts';

export const scenario: Scenario = {
  title: 'mail goes to the second mail host of a domain while the first one accepts connections and says nothing',
  internet: `
    summary = "A domain whose best mail host is silent"
    [[domains]]
    name = "shop.example"
    provider = "shop"
    share = 1
    [[domains]]
    name = "silent.example"
    provider = "silent"
    share = 1
    [providers.shop]
    hosts = ["mx2.shop.example"]
    [providers.silent]
    hosts = ["mx1.shop.example"]
    faults = [{ kind = "silence" }]
  `,
  countsConnections: false,
  async run({ scene, send, pass }) {
    scene.dns.set('shop.example', 'MX', ['10 mx1.shop.example', '20 mx2.shop.example']);
    await send(addresses(5, 'shop.example'));
    await pass('10 min');
  },
  account: `
    shop accepted 5 messages from 0:01 to 0:01
    silent accepted 0 messages
    5 emails: queued, sent, delivered
    queue: empty
  `,
};
