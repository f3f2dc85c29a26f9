import type { TemplateObject } from '../../../src/contract/index.ts';
import { cleanLines, formatPairs } from '../../output/index.ts';
import type { Session } from '../declare.ts';

export async function getTemplate({ client, terminal, isJson }: Session, template: string): Promise<void> {
  const found = await client.call('getTemplate', { path: { template } });
  if (isJson) return terminal.printJson(found);
  const fields = formatPairs(terminal, [
    ['Id', found.id],
    ['Name', found.name],
    ['Alias', found.alias],
    ['Status', statusOf(found)],
    ['Created', found.created_at],
    ['Changed', found.updated_at],
    ['Published', found.published_at],
    ['From', found.from],
    ['Reply to', found.reply_to.join(', ')],
    ['Subject', found.subject],
    ['Variables', found.variables.map(declarationOf).join(', ')],
  ]);
  const bodies = [found.text, found.html].filter((body) => body !== null && body !== '');
  terminal.print([fields, ...bodies.map((body) => cleanLines(body ?? ''))].join('\n\n'));
}

const statusOf = ({ status, has_unpublished_versions: hasMore }: TemplateObject): string =>
  status === 'published' && hasMore ? 'published, with changes that are not' : status;

/** As --variable takes it. */
function declarationOf({ key, type, fallback_value: fallback }: TemplateObject['variables'][number]): string {
  const kind = type === 'number' ? ':number' : '';
  return `${key}${kind}${fallback === null ? '' : `=${fallback}`}`;
}
