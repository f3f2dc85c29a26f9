import type { Scenario } from '../rig/scenario.ts';

export const scenario: Scenario = {
  title: 'a message whose connection is cut after the final dot is in doubt for two hours, and is never sent again',
  internet: `
    summary = "A server that cuts the connection after the final dot"
    [[domains]]
    name = "shop.example"
    provider = "shop"
    share = 1
    [providers.shop]
    hosts = ["mx.shop.example"]
    faults = [{ to_minute = 1, kind = "drop-after-dot" }]
  `,
  async run({ send, pass, operate, note }) {
    await send(['reader@shop.example']);
    await pass('90 s');
    await send(['other@shop.example']);
    const { body } = await operate('GET', '/operator/queue/deliveries');
    for (const { state, until } of body.data as { state: string; until: string }[])
      note(`${state} until ${until.slice(0, 16)}`);
    await pass('2 h', '1 min');
  },
  account: `
    in_doubt until 2026-03-02T12:00
    shop accepted 2 messages from 0:00 to 0:01; 2 connections, at most 1 at once, 1 messages on one, 1 accepted in a minute
      refused 1 × at dot: dropped from 0:00 to 0:00
    1 email: queued, sent, failed
    1 email: queued, sent, delivered
    queue: empty
  `,
};
