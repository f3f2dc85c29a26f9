import type { Scenario } from '../rig/scenario.ts';

export const scenario: Scenario = {
  title:
    'a small message, which leaves together with its final dot, is in doubt when the connection is cut, and is never sent again',
  internet: `
    summary = "A server that cuts the connection within messages"
    [[domains]]
    name = "shop.example"
    provider = "shop"
    share = 1
    [providers.shop]
    hosts = ["mx.shop.example"]
    faults = [{ to_minute = 1, kind = "drop-in-data" }]
  `,
  async run({ send, pass }) {
    await send(['reader@shop.example']);
    await pass('3 h', '1 min');
  },
  account: `
    shop accepted 0 messages; 1 connection, at most 1 at once, 0 messages on one, 0 accepted in a minute
      refused 1 × at data: dropped from 0:00 to 0:00
    1 email: queued, sent, failed
    queue: empty
  `,
};
