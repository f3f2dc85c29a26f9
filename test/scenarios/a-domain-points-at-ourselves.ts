import type { Scenario } from '../rig/scenario.ts';

export const scenario: Scenario = {
  title: 'mail to a domain whose best mail host is this server bounces instead of looping, and better hosts are used',
  internet: `
    summary = "A domain for which this server is the second choice"
    [[domains]]
    name = "shop.example"
    provider = "shop"
    share = 1
    [providers.shop]
    hosts = ["mx.shop.example"]
  `,
  async run({ scene, send }) {
    scene.dns.set('loop.example', 'MX', ['10 rasket.test', '20 mx.shop.example']);
    scene.dns.set('shop.example', 'MX', ['10 mx.shop.example', '20 rasket.test']);
    scene.dns.set('rasket.test', 'A', ['127.0.0.1']);
    await send(['reader@loop.example', 'reader@shop.example']);
  },
  account: `
    shop accepted 1 message from 0:00 to 0:00; 1 connection, at most 1 at once, 1 messages on one, 1 accepted in a minute
    1 email: queued, sent, bounced
    1 email: queued, sent, delivered
    queue: empty
  `,
};
