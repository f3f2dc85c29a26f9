import { addresses, type Scenario } from '../rig/scenario.ts';

export const scenario: Scenario = {
  title: 'a server that accepts connections and says nothing delays its own mail only',
  internet: `
    summary = "A silent server beside one that works"
    [[domains]]
    name = "silent.example"
    provider = "silent"
    share = 1
    [[domains]]
    name = "shop.example"
    provider = "shop"
    share = 1
    [providers.silent]
    hosts = ["mx.silent.example"]
    faults = [{ to_minute = 5, kind = "silence" }]
    [providers.shop]
    hosts = ["mx.shop.example"]
  `,
  countsConnections: false,
  async run({ send, pass }) {
    await send([...addresses(10, 'silent.example'), ...addresses(10, 'shop.example')]);
    await pass('12 min');
  },
  account: `
    silent accepted 10 messages from 0:10 to 0:10
    shop accepted 10 messages from 0:00 to 0:00
    10 emails: queued, sent, delivery_delayed, delivered
    10 emails: queued, sent, delivered
    queue: empty
  `,
};
