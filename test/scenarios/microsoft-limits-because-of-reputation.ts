import { addresses, type Scenario } from '../rig/scenario.ts';

export const scenario: Scenario = {
  title:
    'Microsoft 365 limits us because of our reputation, and the rate of a message a minute outlasts the suspension',
  internet: `
    summary = "Microsoft 365 with a low opinion of us"
    [[domains]]
    name = "tenant.example"
    provider = "microsoft-365"
    share = 1
    hosts = ["tenant-example.mail.protection.outlook.com"]

    [providers.microsoft-365]
    unknown = false
    full = false
    delays = { greeting_ms = 0, mail_ms = 0, rcpt_ms = 0, dot_ms = 0 }
    bounce_later = false
    tempfail = [{ stage = "rcpt", reply = "451 4.7.650 The mail server [{ip}] has been temporarily rate limited due to IP reputation." }]
  `,
  config: { providers: { 'microsoft-365': { connections: 1, idle_seconds: 120 } } },
  async run({ send, pass, skip, noteLimits, change }) {
    await send(addresses(2, 'tenant.example'));
    await noteLimits();
    await pass('65 s');
    await send(addresses(1, 'tenant.example', 3));
    await send(addresses(2, 'tenant.example', 4));
    await pass('175 s');
    await noteLimits();
    change('microsoft-365', { tempfail: [] });
    await skip('27 min');
    await pass('4 min');
    await noteLimits();
  },
  account: `
    0:00 limit: tenant-example.mail.protection.outlook.com rate 1 until 1:30 because of 451 4.7.650 The mail server [IP] has been temporarily rate l; limit: tenant-example.mail.protection.outlook.com connections 1 until 1:30 because of 451 4.7.650 The mail server [IP] has been temporarily rate l
    0:04 limit: microsoft-365 suspend until 0:31 because of 451 4.7.650 The mail server [IP] has been temporarily rate l; limit: tenant-example.mail.protection.outlook.com rate 1 until 1:31 because of 451 4.7.650 The mail server [IP] has been temporarily rate l; limit: tenant-example.mail.protection.outlook.com connections 1 until 1:31 because of 451 4.7.650 The mail server [IP] has been temporarily rate l
    0:35 limit: microsoft-365 rate 20 until 0:36 because of 451 4.7.650 The mail server [IP] has been temporarily rate l; limit: tenant-example.mail.protection.outlook.com rate 1 until 1:31 because of 451 4.7.650 The mail server [IP] has been temporarily rate l; limit: tenant-example.mail.protection.outlook.com connections 1 until 1:31 because of 451 4.7.650 The mail server [IP] has been temporarily rate l
    microsoft-365 accepted 2 messages from 0:31 to 0:32; 2 connections, at most 1 at once, 2 messages on one, 1 accepted in a minute
      refused 3 × at rcpt: tempfail 451 4.7.650 The mail server [IP] has been temporarily rate l from 0:00 to 0:01
    3 emails: queued, sent, delivery_delayed
    2 emails: queued, sent, delivered
    queue: 1 × tenant.example retrying until 1:01 after 1 attempt: 451 4.7.650 The mail server [IP] has been temporarily rate l
    queue: 2 × tenant.example retrying until 1:00 after 1 attempt: 451 4.7.650 The mail server [IP] has been temporarily rate l
    limit: microsoft-365 rate 20 until 0:36 because of 451 4.7.650 The mail server [IP] has been temporarily rate l
    limit: tenant-example.mail.protection.outlook.com rate 1 until 1:31 because of 451 4.7.650 The mail server [IP] has been temporarily rate l
    limit: tenant-example.mail.protection.outlook.com connections 1 until 1:31 because of 451 4.7.650 The mail server [IP] has been temporarily rate l
  `,
};
