import { addresses, type Scenario } from '../rig/scenario.ts';

export const scenario: Scenario = {
  title: 'a provider that defers our mail after complaints is left alone for an hour, and gets the mail afterwards',
  internet: `
    summary = "A provider that blocks senders after three complaints"
    [[domains]]
    name = "shop.example"
    provider = "shop"
    share = 1
    [providers.shop]
    hosts = ["mx.shop.example"]
    complain_later = { local_parts = ["angry*"], after_minutes = [5, 5] }
    block = [{ complaints = 3, for_minutes = 60, stage = "mail", reply = "451 4.7.1 Your IP is blocked after complaints, try again later" }]
  `,
  config: { delivery: { max_connections_per_destination: 1 } },
  countsConnections: false,
  async run({ send, pass }) {
    await send(['angry1@shop.example', 'angry2@shop.example', 'angry3@shop.example']);
    await pass('6 min');
    await send(addresses(10, 'shop.example'));
    await pass('1 min');
    await pass('70 min', '20 s');
  },
  account: `
    shop accepted 13 messages from 0:00 to 1:06
      refused 5 × at mail: blocked 451 4.7.1 Your IP is blocked after complaints, try again lat from 0:06 to 0:06
    reports: 3 × complaint delivered
    5 emails: queued, sent, delivery_delayed, delivered
    5 emails: queued, sent, delivered
    3 emails: queued, sent, delivered, complained
    suppressed: angry1@shop.example (complaint)
    suppressed: angry2@shop.example (complaint)
    suppressed: angry3@shop.example (complaint)
    queue: empty
    limit: mx.shop.example rate 80 until 1:21 because of 451 4.7.1 Your IP is blocked after complaints, try again lat
  `,
};
