import { addresses, type Scenario } from '../rig/scenario.ts';

export const scenario: Scenario = {
  title:
    'an operator allows the mail servers of a hosting company one connection and three messages on each, for all its domains',
  internet: `
    summary = "A hosting company"
    [[domains]]
    name = "customer{n}.example"
    provider = "own-server"
    hosts = ["mx{n}.hosting.example"]
    count = 3
    share = 1
    [[domains]]
    name = "elsewhere.example"
    provider = "own-server"
    share = 1
    hosts = ["mx.elsewhere.example"]
    separate = true

    [providers.own-server]
    unknown = false
    full = false
    delays = { greeting_ms = 0, mail_ms = 0, rcpt_ms = 0, dot_ms = 1500 }
  `,
  config: {
    delivery: { idle_seconds: 60 },
    providers: { hosting: { mx: ['.hosting.example'], connections: 1, idle_seconds: 60, messages_per_connection: 3 } },
  },
  async run({ send, pass }) {
    const domains = ['customer1.example', 'customer2.example', 'customer3.example'];
    await send(domains.flatMap((domain) => addresses(5, domain)));
    await send(addresses(3, 'elsewhere.example'));
    await pass('1 min');
  },
  account: `
    own-server accepted 15 messages from 0:00 to 0:00; 6 connections, at most 1 at once, 3 messages on one, 15 accepted in a minute
    elsewhere.example accepted 3 messages from 0:00 to 0:00; 3 connections, at most 3 at once, 1 messages on one, 3 accepted in a minute
    18 emails: queued, sent, delivered
    queue: empty
  `,
};
