import { addresses, type Scenario } from '../rig/scenario.ts';

export const scenario: Scenario = {
  title:
    'a small computer that takes one connection gets twenty messages one after the other, and is left with one for half an hour',
  internet: `
    summary = "A computer of the size of a hand with one connection"
    [[domains]]
    name = "club.example"
    provider = "small-server"
    share = 1
    hosts = ["pi.club.example"]
    [providers.small-server]
    unknown = false
    connections = { max = 1 }
    rates = []
  `,
  countsConnections: false,
  async run({ send, pass }) {
    await send(addresses(20, 'club.example'));
    await pass('3 min');
  },
  account: `
    small-server accepted 20 messages from 0:00 to 0:01
    20 emails: queued, sent, delivered
    queue: empty
    limit: pi.club.example connections 1 until 0:30 because of 421 Too many concurrent SMTP connections from this IP addres
  `,
};
