import { addresses, type Scenario } from '../rig/scenario.ts';

export const scenario: Scenario = {
  title:
    'fifty domains whose servers say nothing delay the mail to one that works by ten seconds, and later not at all',
  internet: `
    summary = "Fifty silent servers beside one that works"
    [[domains]]
    name = "dead{n}.example"
    provider = "dead"
    count = 50
    share = 1
    hosts = ["mx.dead{n}.example"]
    [[domains]]
    name = "shop.example"
    provider = "shop"
    share = 1
    [providers.dead]
    faults = [{ to_minute = 5, kind = "silence" }]
    [providers.shop]
    hosts = ["mx.shop.example"]
  `,
  countsConnections: false,
  async run({ internet, send, pass, note }) {
    const dead = Array.from({ length: 50 }, (_, at) => `reader@dead${at + 1}.example`);
    await send([...dead, ...addresses(10, 'shop.example')]);
    await pass('15 s', '1 s');
    note(`after ten seconds: ${internet.seen.messages.length} messages`);
    await pass('165 s');
    await send(addresses(10, 'shop.example'));
    note(`while the others are tried again: ${internet.seen.messages.length} messages`);
    await pass('8 min', '10 s');
  },
  account: `
    after ten seconds: 10 messages
    while the others are tried again: 20 messages
    dead accepted 50 messages from 0:10 to 0:10
    shop accepted 20 messages from 0:00 to 0:03
    50 emails: queued, sent, delivery_delayed, delivered
    20 emails: queued, sent, delivered
    queue: empty
  `,
};
