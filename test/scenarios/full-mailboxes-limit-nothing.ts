import { addresses, type Scenario } from '../rig/scenario.ts';

export const scenario: Scenario = {
  title: 'replies about full mailboxes and unknown recipients lead to no limit',
  internet: `
    summary = "Gmail with full and unknown mailboxes"
    [[domains]]
    name = "gmail.com"
    provider = "google"
    share = 1

    [providers.google]
    unknown = { share = 0.0, local_parts = ["nobody*"] }
    full = { share = 0.0, local_parts = ["full*"] }
    delays = { greeting_ms = 0, mail_ms = 0, rcpt_ms = 0, dot_ms = 0 }
  `,
  config: { providers: { google: { connections: 1, idle_seconds: 120 } } },
  async run({ send, pass }) {
    await send(Array.from({ length: 8 }, (_, index) => `full${index}@gmail.com`));
    await send(Array.from({ length: 8 }, (_, index) => `nobody${index}@gmail.com`));
    await send(addresses(8, 'gmail.com'));
    await pass('10 s');
  },
  account: `
    google accepted 8 messages from 0:00 to 0:00; 1 connection, at most 1 at once, 8 messages on one, 8 accepted in a minute
      refused 8 × at rcpt: full 452 4.2.2 The recipient's inbox is out of storage space. htt from 0:00 to 0:00
      refused 8 × at rcpt: unknown 550-5.1.1 The email account that you tried to reach does not from 0:00 to 0:00
    8 emails: queued, sent, delivery_delayed
    8 emails: queued, sent, bounced
    8 emails: queued, sent, delivered
    suppressed: nobody0@gmail.com (bounce)
    suppressed: nobody1@gmail.com (bounce)
    suppressed: nobody2@gmail.com (bounce)
    suppressed: nobody3@gmail.com (bounce)
    suppressed: nobody4@gmail.com (bounce)
    suppressed: nobody5@gmail.com (bounce)
    suppressed: nobody6@gmail.com (bounce)
    suppressed: nobody7@gmail.com (bounce)
    queue: 8 × gmail.com retrying until 0:01 after 1 attempt: 452 4.2.2 The recipient's inbox is out of storage space. htt
  `,
};
