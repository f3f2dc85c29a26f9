import type { Scenario } from '../rig/scenario.ts';

export const scenario: Scenario = {
  title: 'mail that a server defers for two days is tried nineteen times, given up, and suppresses nobody',
  internet: `
    summary = "A server with trouble that does not end"
    [[domains]]
    name = "shop.example"
    provider = "shop"
    share = 1
    [providers.shop]
    hosts = ["mx.shop.example"]
    tempfail = [{ reply = "451 4.3.0 Temporary server error. Please try again later" }]
  `,
  countsConnections: false,
  async run({ scene, send, skip, change, operate, note }) {
    await send(['reader@shop.example']);
    for (;;) {
      const { body } = await operate('GET', '/operator/queue/deliveries');
      const [waiting] = body.data as { until: string }[];
      if (!waiting) break;
      await skip(`${Math.ceil((Date.parse(waiting.until) - scene.clock.now()) / 1000)} s`);
    }
    note(`given up after ${(scene.clock.now() - Date.parse('2026-03-02T10:00:00Z')) / 3_600_000} hours`);
    change('shop', { tempfail: undefined });
    await send(['reader@shop.example']);
  },
  account: `
    given up after 48 hours
    shop accepted 1 message from 48:00 to 48:00
      refused 19 × at mail: tempfail 451 4.3.0 Temporary server error. Please try again later from 0:00 to 48:00
    1 email: queued, sent, delivery_delayed, bounced
    1 email: queued, sent, delivered
    queue: empty
  `,
};
