import { cleanLines, formatPairs } from '../../output/index.ts';
import type { Session } from '../declare.ts';

export async function getLog({ client, terminal, isJson }: Session, id: string): Promise<void> {
  const log = await client.call('getLog', { path: { log_id: id } });
  if (isJson) return terminal.printJson(log);
  const pairs = formatPairs(terminal, [
    ['Id', log.id],
    ['Received', log.created_at],
    ['Request', `${log.method} ${log.endpoint}`],
    ['Status', log.response_status],
    ['User agent', log.user_agent],
  ]);
  const bodies = [log.request_body, log.response_body].filter((body) => body !== null);
  terminal.print([pairs, ...bodies.map((body) => cleanLines(JSON.stringify(body, null, 2)))].join('\n\n'));
}
