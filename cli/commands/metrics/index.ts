import { Option, type Command } from 'commander';
import { act, declareCommand } from '../declare.ts';

export function addMetricsCommands(program: Command): void {
  declareCommand(program, 'metrics', {
    summary: 'show counts and rates of sent mail',
    description:
      'Show counts and rates of sent emails, for the last seven days or for a range. With --dimensions, there is one line for each period, domain, email or broadcast.',
    example: 'metrics --start-date 2026-11-01 --dimensions period,domain --metrics sent,delivered,bounce_rate',
  })
    .option('--start-date <time>', 'the start of the range: an ISO 8601 date or time')
    .addOption(
      new Option('--since <time>', 'the range since 30m, 2h or 7d ago; the same as --start-date').conflicts(
        'startDate',
      ),
    )
    .option('--end-date <time>', 'the end of the range; a date without a time includes the whole day')
    .option('--timezone <name>', 'the time zone of days and dates, such as Europe/Berlin (default: UTC)')
    .option('--granularity <length>', 'the length of a period: hourly, daily, weekly or monthly')
    .option('--metrics <names>', 'the metrics to show, separated by commas')
    .option('--dimensions <names>', 'break the numbers down by these: period, domain, email, broadcast')
    .option('--domain-id <ids>', 'only mail from these domains, separated by commas')
    .option('--email-id <ids>', 'only these emails, separated by commas')
    .option('--broadcast-id <ids>', 'only mail of these broadcasts, separated by commas')
    .option('--tag <pair>', 'only emails with this tag, name:value, that were accepted in the range')
    .action(act(async (session, _, options) => (await import('./get.ts')).getEmailMetrics(session, options)));
}
