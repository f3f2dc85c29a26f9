import { spawn } from 'node:child_process';
import { mkdtemp, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';

type Environment = Readonly<Record<string, string | undefined>>;

/** Writes a page where only this user reads it, and shows it in the browser of the desktop, where there is one. */
export async function openPage(env: Environment, html: string): Promise<{ file: string; isOpened: boolean }> {
  // A folder of its own, mode 0700: in the one that all users share, a name can be taken before us.
  const folder = await mkdtemp(path.join(env['TMPDIR'] || os.tmpdir(), 'rasket-preview-'));
  const file = path.join(folder, 'preview.html');
  await writeFile(file, html, { mode: 0o600, flag: 'wx' });
  return { file, isOpened: await open(env, file) };
}

/** Without a desktop xdg-open takes a browser in the terminal, or asks for minutes in vain. */
function open(env: Environment, file: string): Promise<boolean> {
  const isMac = process.platform === 'darwin';
  if (!isMac && !env['DISPLAY'] && !env['WAYLAND_DISPLAY']) return Promise.resolve(false);
  return new Promise((resolve) => {
    const opener = spawn(isMac ? 'open' : 'xdg-open', [file], { detached: true, stdio: 'ignore', env: { ...env } });
    opener.once('error', () => resolve(false));
    opener.once('spawn', () => {
      opener.unref();
      resolve(true);
    });
  });
}
