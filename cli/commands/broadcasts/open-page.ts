import { mkdtemp, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { openInBrowser } from '../open-in-browser.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/** Writes a page where only this user reads it, and shows it in the browser of the desktop, where there is one. */
export async function openPage(env: Environment, html: string): Promise<{ file: string; isOpened: boolean }> {
  // A folder of its own, mode 0700: in the one that all users share, a name can be taken before us.
  const folder = await mkdtemp(path.join(env['TMPDIR'] || os.tmpdir(), 'rasket-preview-'));
  const file = path.join(folder, 'preview.html');
  await writeFile(file, html, { mode: 0o600, flag: 'wx' });
  return { file, isOpened: await openInBrowser(env, file) };
}
