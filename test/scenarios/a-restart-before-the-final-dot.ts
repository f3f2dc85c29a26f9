import { addresses, type Scenario } from '../rig/scenario.ts';

export const scenario: Scenario = {
  title:
    'mail that is under way during a restart, but before its final dot, is sent again, and each message arrives once',
  internet: `
    summary = "A server that takes its time for each recipient"
    [[domains]]
    name = "shop.example"
    provider = "shop"
    share = 1
    [providers.shop]
    hosts = ["mx.shop.example"]
    delays = { rcpt_ms = 3000 }
  `,
  countsConnections: false,
  async run({ scene, internet, send, pass, note }) {
    await send(addresses(40, 'shop.example'));
    await pass('7 s');
    note(
      `before the restart ${internet.seen.messages.length > 0 && internet.seen.messages.length < 40 ? 'some' : internet.seen.messages.length} had arrived`,
    );
    await scene.restart();
    await pass('10 min');
  },
  account: `
    before the restart some had arrived
    shop accepted 40 messages from 0:00 to 0:00
    40 emails: queued, sent, delivered
    queue: empty
  `,
};
