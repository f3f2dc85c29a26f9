import type { UpdateTemplateRequest } from '../../../src/contract/index.ts';
import { CliFault } from '../../output/index.ts';
import type { Session } from '../declare.ts';
import { readContent, type ContentOptions } from './content.ts';

export interface UpdateTemplateOptions extends ContentOptions {
  name?: string;
  clear?: string[];
}

const CLEARABLE = ['alias', 'from', 'subject', 'reply_to', 'text', 'variables'];

export async function updateTemplate(
  session: Session,
  template: string,
  options: UpdateTemplateOptions,
): Promise<void> {
  const { client, terminal, isJson } = session;
  const content = await readContent(session.process, options);
  const body: UpdateTemplateRequest = {
    ...(options.name === undefined ? {} : { name: options.name }),
    ...content,
    ...readCleared(options.clear ?? [], content),
  };
  if (Object.keys(body).length === 0) {
    throw new CliFault('name at least one thing to change. See them with: rasket templates update --help', 'usage');
  }
  const changed = await client.call('updateTemplate', { path: { template }, body });
  if (isJson) return terminal.printJson(changed);
  terminal.print(terminal.isTty ? `Changed  ${changed.id}` : changed.id);
}

function readCleared(fields: readonly string[], content: UpdateTemplateRequest): UpdateTemplateRequest {
  for (const field of fields) {
    if (!CLEARABLE.includes(field)) {
      throw new CliFault(`--clear takes ${CLEARABLE.join(', ')}; got ${JSON.stringify(field)}`, 'usage');
    }
    if (field in content) throw new CliFault(`${field} is both given and cleared; choose one`, 'usage');
  }
  return Object.fromEntries(fields.map((field) => [field, null]));
}
