import type { Scenario } from '../rig/scenario.ts';

export const scenario: Scenario = {
  title:
    'mail to a domain that does not exist, and to one that takes no mail, bounces at once and suppresses the address',
  internet: `
    summary = "A domain that works, beside two that do not"
    [[domains]]
    name = "shop.example"
    provider = "shop"
    share = 1
    [providers.shop]
    hosts = ["mx.shop.example"]
  `,
  async run({ scene, send }) {
    scene.dns.set('nowhere.example', 'ANY', 'NXDOMAIN');
    scene.dns.set('nomail.example', 'MX', ['0 .']);
    await send(['reader@nowhere.example', 'reader@nomail.example', 'reader@shop.example']);
    await send(['reader@nowhere.example']);
  },
  account: `
    shop accepted 1 message from 0:00 to 0:00; 1 connection, at most 1 at once, 1 messages on one, 1 accepted in a minute
    2 emails: queued, sent, bounced
    1 email: queued, sent, delivered
    1 email: queued, suppressed
    suppressed: reader@nomail.example (bounce)
    suppressed: reader@nowhere.example (bounce)
    queue: empty
  `,
};
