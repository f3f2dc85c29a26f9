import type { Scenario } from '../rig/scenario.ts';

export const scenario: Scenario = {
  title: 'mail to a domain whose mail hosts have only private addresses bounces and suppresses nobody',
  internet: `
    summary = "A domain with a second mail host"
    [[domains]]
    name = "shop.example"
    provider = "shop"
    share = 1
    [providers.shop]
    hosts = ["mx.shop.example"]
  `,
  async run({ scene, send }) {
    scene.dns.set('inside.example', 'MX', ['10 mx.inside.example']);
    scene.dns.set('mx.inside.example', 'A', ['10.0.0.25', '192.168.1.25']);
    scene.dns.set('both.example', 'MX', ['10 mx.inside.example', '20 mx.shop.example']);
    await send(['reader@inside.example', 'reader@shop.example']);
  },
  account: `
    shop accepted 1 message from 0:00 to 0:00; 1 connection, at most 1 at once, 1 messages on one, 1 accepted in a minute
    1 email: queued, sent, bounced
    1 email: queued, sent, delivered
    queue: empty
  `,
};
