import { addresses, type Scenario } from '../rig/scenario.ts';

export const scenario: Scenario = {
  title: 'mail waits while the name servers of its domain fail, and arrives afterwards',
  internet: `
    summary = "A domain whose name servers fail for a while"
    [[domains]]
    name = "shop.example"
    provider = "shop"
    share = 1
    [providers.shop]
    hosts = ["mx.shop.example"]
  `,
  countsConnections: false,
  async run({ scene, send, pass }) {
    scene.dns.set('shop.example', 'MX', 'SERVFAIL');
    await send(addresses(5, 'shop.example'));
    await pass('10 min', '20 s');
    scene.dns.set('shop.example', 'MX', ['10 mx.shop.example']);
    await pass('12 min', '20 s');
  },
  account: `
    shop accepted 5 messages from 0:21 to 0:21
    5 emails: queued, sent, delivery_delayed, delivered
    queue: empty
  `,
};
