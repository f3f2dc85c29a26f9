import type { Command } from 'commander';
import { act, addPaging, declareCommand, wholeNumber } from '../declare.ts';

export function addLogCommands(program: Command): void {
  const logs = program.command('logs').summary('the requests of your programs and their answers');
  const list = declareCommand(logs, 'list', {
    summary: 'list requests, newest first',
    example: 'logs list --status 422',
  });
  addPaging(list)
    .option('--status <status>', 'only those refused or failed with this HTTP status, 400 to 599', wholeNumber)
    .option('--start-date <time>', 'only those received at this ISO 8601 time or later')
    .option('--end-date <time>', 'only those received at this ISO 8601 time or earlier')
    .action(act(async (session, _, options) => (await import('./list.ts')).listLogs(session, options)));
  declareCommand(logs, 'get', {
    summary: 'show a request and its answer',
    description:
      'Shows a request and its answer, without secrets and the content of attachments: those are never kept.',
    example: 'logs get 019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e77',
  })
    .argument('<log>', 'its id, which the answer carried as x-request-id')
    .action(act(async (session, [log = '']) => (await import('./get.ts')).getLog(session, log)));
}
