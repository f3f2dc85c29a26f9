import type { Scenario } from '../rig/scenario.ts';

export const scenario: Scenario = {
  title:
    'a server whose TLS handshake breaks gets usual mail without TLS, and mail for which TLS is enforced as soon as TLS works',
  internet: `
    summary = "A server whose TLS handshake breaks"
    [[domains]]
    name = "shop.example"
    provider = "shop"
    share = 1
    [providers.shop]
    hosts = ["mx.shop.example"]
    tls = "broken"
  `,
  countsConnections: false,
  async run({ scene, internet, team, send, pass, change, note }) {
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
    change('shop', { tls: 'offered' });
    await pass('5 min', '20 s');
  },
  account: `
    usual@shop.example without TLS
    shop accepted 2 messages from 0:00 to 0:06, some without TLS
    1 email: queued, sent, delivered
    1 email: queued, sent, delivery_delayed, delivered
    1 email: queued, sent, delivery_delayed
    queue: 1 × shop.example retrying until 0:21 after 3 attempts: TLS is enforced for this sender, but mx.shop.example [IP] ha
  `,
};
