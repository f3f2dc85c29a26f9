import { openAsBlob } from 'node:fs';
import path from 'node:path';
import type { Body } from '../families/index.ts';
import { mustBeReadable } from './local-file.ts';

/** The form that an import takes, from the fields of its action. */
export async function importForm(body: Body, cwd: string): Promise<FormData> {
  const { file, columns, properties, upsert, segments, topics, start_automations: startsAutomations } = body;
  await mustBeReadable(String(file), cwd);
  const form = new FormData();
  const put = (name: string, value: unknown): void => form.append(name, JSON.stringify(value));
  // Before the file, so that what is wrong with them is said before it is sent.
  if (columns ?? properties) put('column_map', { ...(columns ?? {}), ...(properties ? { properties } : {}) });
  if (upsert === true) form.append('on_conflict', 'upsert');
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
