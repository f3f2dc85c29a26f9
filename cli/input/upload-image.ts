import { openAsBlob } from 'node:fs';
import path from 'node:path';
import type { AnswerOf, Client } from '../client/index.ts';
import { mustBeReadable } from './local-file.ts';

export async function uploadImage(client: Client, file: string, cwd: string): Promise<AnswerOf<'getImage'>> {
  await mustBeReadable(file, cwd);
  const content = await openAsBlob(path.resolve(cwd, file), { type: 'application/octet-stream' });
  return (await client.upload('createImage', content)) as AnswerOf<'getImage'>;
}
