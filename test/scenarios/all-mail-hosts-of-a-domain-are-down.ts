import { addresses, type Scenario } from '../rig/scenario.ts';

export const scenario: Scenario = {
  title: 'mail to a domain whose mail hosts are all down waits for them, and other mail does not',
  internet: `
    summary = "A domain with two mail hosts, and another one"
    [[domains]]
    name = "shop.example"
    provider = "shop"
    share = 1
    [[domains]]
    name = "other.example"
    provider = "other"
    share = 1
    [providers.shop]
    hosts = ["mx1.shop.example", "mx2.shop.example"]
    [providers.other]
    hosts = ["mx.other.example"]
  `,
  countsConnections: false,
  async run({ scene, internet, send, pass }) {
    const [first, second] = internet.receivers[0]?.hosts ?? [];
    scene.dns.set('mx1.shop.example', 'A', ['127.127.0.1']);
    scene.dns.set('mx2.shop.example', 'A', ['127.127.0.2']);
    await send([...addresses(5, 'shop.example'), ...addresses(5, 'other.example')]);
    await pass('15 min', '20 s');
    for (const host of [first, second]) if (host) scene.dns.set(host.name, 'A', [host.address]);
    await pass('7 min', '20 s');
  },
  account: `
    shop accepted 5 messages from 0:21 to 0:21
    other accepted 5 messages from 0:00 to 0:00
    5 emails: queued, sent, delivery_delayed, delivered
    5 emails: queued, sent, delivered
    queue: empty
  `,
};
