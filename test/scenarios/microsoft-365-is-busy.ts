import { addresses, type Scenario } from '../rig/scenario.ts';

export const scenario: Scenario = {
  title:
    'Microsoft 365 is busy three times and gets a message a minute, then twice more and gets none for half an hour',
  internet: `
    summary = "Microsoft 365 that is busy"
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
    tempfail = [{ stage = "rcpt", reply = "451 4.7.500 Server busy. Please try again later from [{ip}]. (AS77712344)" }]
  `,
  config: { providers: { 'microsoft-365': { connections: 1, idle_seconds: 120 } } },
  async run({ send, pass, skip, noteLimits, change }) {
    await send(addresses(2, 'tenant.example'));
    await noteLimits();
    await send(addresses(1, 'tenant.example', 3));
    await noteLimits();
    await send(addresses(4, 'tenant.example', 4));
    await pass('4 min');
    await noteLimits();
    change('microsoft-365', { tempfail: [] });
    await skip('26 min');
    await pass('4 min');
    await noteLimits();
  },
  account: `
    0:00 limit: tenant-example.mail.protection.outlook.com connections 1 until 1:30 because of 451 4.7.500 Server busy. Please try again later from [IP]. (
    0:00 limit: microsoft-365 rate 1 until 0:15 because of 451 4.7.500 Server busy. Please try again later from [IP]. (; limit: tenant-example.mail.protection.outlook.com connections 1 until 1:30 because of 451 4.7.500 Server busy. Please try again later from [IP]. (
    0:04 limit: microsoft-365 suspend until 0:31 because of 451 4.7.500 Server busy. Please try again later from [IP]. (; limit: microsoft-365 rate 1 until 0:15 because of 451 4.7.500 Server busy. Please try again later from [IP]. (; limit: tenant-example.mail.protection.outlook.com connections 1 until 1:31 because of 451 4.7.500 Server busy. Please try again later from [IP]. (
    0:34 limit: microsoft-365 rate 16 until 0:35 because of 451 4.7.500 Server busy. Please try again later from [IP]. (; limit: tenant-example.mail.protection.outlook.com connections 1 until 1:31 because of 451 4.7.500 Server busy. Please try again later from [IP]. (
    microsoft-365 accepted 2 messages from 0:31 to 0:31; 2 connections, at most 1 at once, 2 messages on one, 2 accepted in a minute
      refused 5 × at rcpt: tempfail 451 4.7.500 Server busy. Please try again later from [IP]. ( from 0:00 to 0:01
    5 emails: queued, sent, delivery_delayed
    2 emails: queued, sent, delivered
    queue: 1 × tenant.example retrying until 1:01 after 1 attempt: 451 4.7.500 Server busy. Please try again later from [IP]. (
    queue: 4 × tenant.example retrying until 1:00 after 1 attempt: 451 4.7.500 Server busy. Please try again later from [IP]. (
    limit: microsoft-365 rate 16 until 0:35 because of 451 4.7.500 Server busy. Please try again later from [IP]. (
    limit: tenant-example.mail.protection.outlook.com connections 1 until 1:31 because of 451 4.7.500 Server busy. Please try again later from [IP]. (
  `,
};
