import type { Scenario } from '../rig/scenario.ts';

export const scenario: Scenario = {
  title: 'two hundred domains with the same mail hosts share at most twenty connections, and get their mail at once',
  internet: `
    summary = "A provider of two hundred domains"
    [[domains]]
    name = "club{n}.example"
    provider = "shop"
    share = 1
    count = 200
    [providers.shop]
    hosts = ["mx1.hosting.example", "mx2.hosting.example"]
    delays = { dot_ms = 200 }
  `,
  countsConnections: false,
  async run({ internet, send, pass, note }) {
    await send(Array.from({ length: 200 }, (_, at) => `reader@club${at + 1}.example`));
    await pass('30 s');
    note(
      `domains: ${new Set(internet.seen.messages.flatMap(({ recipients }) => recipients.map((to) => to.split('@')[1]))).size}`,
    );
    note(`more than twenty connections: ${internet.seen.maxConnections() > 20 ? 'yes' : 'no'}`);
    note(`more than one message on some: ${Math.max(...internet.seen.messagesPerConnection()) > 1 ? 'yes' : 'no'}`);
  },
  account: `
    domains: 200
    more than twenty connections: no
    more than one message on some: yes
    shop accepted 200 messages from 0:00 to 0:00
    200 emails: queued, sent, delivered
    queue: empty
  `,
};
