import type { Command } from 'commander';
import { act, declareCommand } from '../declare.ts';

export function addMetricsCommands(program: Command): void {
  declareCommand(program, 'metrics', {
    summary: 'show what became of the mail of the last days, in numbers',
    description:
      'Counts and rates of sent emails, of the seven days that end now or of the range you name. With --dimensions one line for each period, domain, email or broadcast.',
    example: 'metrics --start-date 2026-11-01 --dimensions period,domain --metrics sent,delivered,bounce_rate',
  })
    .option('--start-date <time>', 'where the range begins: an ISO 8601 date or time')
    .option('--end-date <time>', 'where it ends; a date alone is the whole day')
    .option('--timezone <name>', 'whose days are meant, such as Europe/Berlin (default: UTC)')
    .option('--granularity <length>', 'how long a period is: hourly, daily, weekly or monthly')
    .option('--metrics <names>', 'the metrics to show, separated by commas')
    .option('--dimensions <names>', 'what to break the numbers down by: period, domain, email, broadcast')
    .option('--domain-id <ids>', 'only mail from these domains, separated by commas')
    .option('--email-id <ids>', 'only these emails, separated by commas')
    .option('--broadcast-id <ids>', 'only mail of these broadcasts, separated by commas')
    .option('--tag <pair>', 'only emails with this tag, name:value, that were accepted in the range')
    .action(act(async (session, _, options) => (await import('./get.ts')).getEmailMetrics(session, options)));
}
