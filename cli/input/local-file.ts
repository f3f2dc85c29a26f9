import { constants, openAsBlob } from 'node:fs';
import { access, stat } from 'node:fs/promises';
import path from 'node:path';
import { CliFault } from '../output/index.ts';
import type { Body } from '../families/index.ts';
import type { AnswerOf, Client } from '../client/index.ts';

/** Called first when a file is handed on by its name, because errors there do not explain what is wrong. */
export async function mustBeReadable(file: string, cwd: string): Promise<void> {
  const at = path.resolve(cwd, file);
  const cannot = (why: string) => new CliFault(`${file} cannot be read: ${why}`);
  const stats = await stat(at).catch((error: NodeJS.ErrnoException) => {
    throw cannot(error.code === 'ENOENT' ? 'there is no such file' : error.message);
  });
  if (!stats.isFile()) throw cannot('it is not a regular file');
  await access(at, constants.R_OK).catch((error: Error) => {
    throw cannot(error.message);
  });
}

/** Reads the emails of a batch file; the server validates them. */
export function readEmails(text: string): unknown[] {
  let list: unknown;
  try {
    list = JSON.parse(text);
  } catch (error) {
    throw new CliFault(`the file is not JSON: ${(error as Error).message}`);
  }
  if (!Array.isArray(list))
    throw new CliFault('the file must contain a JSON list of emails: [{"from": …, "to": …}, …]');
  return list;
}

/** The form that an import takes, from the fields of its action. */
export async function importForm(body: Body, cwd: string): Promise<FormData> {
  const { file, columns, properties, upsert, segments, topics } = body;
  const { on_bad_value: onBadValue, start_automations: startsAutomations } = body;
  await mustBeReadable(String(file), cwd);
  const form = new FormData();
  const put = (name: string, value: unknown): void => form.append(name, JSON.stringify(value));
  // These fields come before the file, so that their faults are reported before it is sent.
  if (columns ?? properties) put('column_map', { ...(columns ?? {}), ...(properties ? { properties } : {}) });
  if (upsert === true) form.append('on_conflict', 'upsert');
  if (onBadValue !== undefined) form.append('on_bad_value', String(onBadValue));
  if (startsAutomations === true) form.append('start_automations', 'true');
  if (segments)
    put(
      'segments',
      (segments as string[]).map((id) => ({ id })),
    );
  if (topics) put('topics', topics);
  form.append('file', await openAsBlob(path.resolve(cwd, String(file))), 'contacts.csv');
  return form;
}

export async function uploadImage(client: Client, file: string, cwd: string): Promise<AnswerOf<'getImage'>> {
  await mustBeReadable(file, cwd);
  const content = await openAsBlob(path.resolve(cwd, file), { type: 'application/octet-stream' });
  return (await client.upload('createImage', content)) as AnswerOf<'getImage'>;
}
