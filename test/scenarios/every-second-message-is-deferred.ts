import { addresses, type Scenario } from '../rig/scenario.ts';

export const scenario: Scenario = {
  title: 'a server that defers every second message gets each of them on the retry schedule, and the others at once',
  internet: `
    summary = "A server that defers every second message"
    [[domains]]
    name = "shop.example"
    provider = "shop"
    share = 1
    [providers.shop]
    hosts = ["mx.shop.example"]
    tempfail = [{ every = 2, stage = "dot", reply = "451 4.3.0 Temporary local problem" }]
  `,
  countsConnections: false,
  async run({ send, pass }) {
    await send(addresses(10, 'shop.example'));
    await pass('52 min', '20 s');
  },
  account: `
    shop accepted 10 messages from 0:00 to 0:51
      refused 9 × at dot: tempfail 451 4.3.0 Temporary local problem from 0:00 to 0:21
    5 emails: queued, sent, delivered
    5 emails: queued, sent, delivery_delayed, delivered
    queue: empty
  `,
};
