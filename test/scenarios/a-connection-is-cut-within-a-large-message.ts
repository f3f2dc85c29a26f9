import type { Scenario } from '../rig/scenario.ts';

export const scenario: Scenario = {
  title: 'a large message whose connection is cut before its final dot is sent again',
  internet: `
    summary = "A server that cuts the connection within messages for a minute"
    [[domains]]
    name = "shop.example"
    provider = "shop"
    share = 1
    [providers.shop]
    hosts = ["mx.shop.example"]
    faults = [{ to_minute = 1, kind = "drop-in-data" }]
  `,
  countsConnections: false,
  async run({ send, pass }) {
    await send(['reader@shop.example'], { email: { text: 'Hello.\n'.repeat(200_000) } });
    await pass('2 min');
  },
  account: `
    shop accepted 1 message from 0:01 to 0:01
      refused 1 × at data: dropped from 0:00 to 0:00
    1 email: queued, sent, delivery_delayed, delivered
    queue: empty
  `,
};
