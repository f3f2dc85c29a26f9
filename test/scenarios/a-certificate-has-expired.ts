import type { Scenario } from '../rig/scenario.ts';

export const scenario: Scenario = {
  title: 'an expired certificate keeps only mail that asks for a valid one from its server',
  internet: `
    summary = "A server with an expired certificate"
    [[domains]]
    name = "shop.example"
    provider = "shop"
    share = 1
    [providers.shop]
    hosts = ["mx.shop.example"]
    tls = "expired"
  `,
  countsConnections: false,
  async run({ scene, internet, team, send, pass, note }) {
    const enforced = await team.domain();
    await scene.api('PATCH', `/domains/${enforced.id}`, { key: team.key, body: { tls: 'enforced' } });
    const verified = await team.domain();
    await scene.api('PATCH', `/domains/${verified.id}`, { key: team.key, body: { tls: 'enforced', tls_verify: true } });
    await send(['usual@shop.example']);
    await send(['enforced@shop.example'], { from: `news@${enforced.name}` });
    await send(['verified@shop.example'], { from: `news@${verified.name}` });
    for (const { recipients, isSecure } of internet.seen.messages)
      note(`${recipients.join()} ${isSecure ? 'with' : 'without'} TLS`);
    await pass('2 min');
  },
  account: `
    usual@shop.example with TLS
    enforced@shop.example with TLS
    shop accepted 2 messages from 0:00 to 0:00
    2 emails: queued, sent, delivered
    1 email: queued, sent, delivery_delayed
    queue: 1 × shop.example retrying until 0:06 after 2 attempts: TLS is enforced for this sender, but mx.shop.example [IP] ha
  `,
};
