import { CliFault } from '../../output/index.ts';
import type { Session } from '../declare.ts';
import { readContent, type ContentOptions } from './content.ts';

export async function createTemplate(session: Session, name: string, options: ContentOptions): Promise<void> {
  const { client, terminal, isJson } = session;
  const { html, ...content } = await readContent(session.process, options);
  if (html === undefined) throw new CliFault('a template needs HTML; give it with --html or --html-file', 'usage');
  const created = await client.call('createTemplate', { body: { name, html, ...content } });
  if (isJson) return terminal.printJson(created);
  terminal.print(terminal.isTty ? `Created  ${created.id}` : created.id);
  terminal.hint(`It is a draft; publish it with: rasket templates publish ${created.id}`);
}
