import { addresses, type Scenario } from '../rig/scenario.ts';

export const scenario: Scenario = {
  title: 'mail that a server defers is tried again after 1, 5 and 15 minutes, and arrives when the trouble is over',
  internet: `
    summary = "A server with trouble for 20 minutes"
    [[domains]]
    name = "shop.example"
    provider = "shop"
    share = 1
    [providers.shop]
    hosts = ["mx.shop.example"]
    tempfail = [{ to_minute = 20, reply = "451 4.3.0 Temporary server error. Please try again later" }]
  `,
  countsConnections: false,
  async run({ send, pass }) {
    await send(addresses(10, 'shop.example'));
    await pass('22 min', '20 s');
  },
  account: `
    shop accepted 10 messages from 0:21 to 0:21
      refused 30 × at mail: tempfail 451 4.3.0 Temporary server error. Please try again later from 0:00 to 0:06
    10 emails: queued, sent, delivery_delayed, delivered
    queue: empty
  `,
};
