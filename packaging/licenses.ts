/**
 * The notices that the licences of Node and of the packages require in every copy. Includes some optional packages that
 * the single file does not contain.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { root } from './modules.ts';

interface Locked {
  version?: string;
  license?: string;
  dev?: boolean;
}

const NOTICES = /^(?:licen[cs]e|copying|notice)/i;
const RULE = '-'.repeat(80);

export function licensesText(): string {
  const lock = JSON.parse(readFileSync(path.join(root, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, Locked>;
  };
  const installed = Object.entries(lock.packages).filter(
    ([folder, { dev }]) => folder !== '' && dev !== true && existsSync(path.join(root, folder)),
  );
  const parts = installed.map(([folder, { version = '', license = 'see below' }]) => {
    const name = folder.slice(folder.lastIndexOf('node_modules/') + 'node_modules/'.length);
    const notices = noticesIn(path.join(root, folder));
    return `${RULE}\n${name} ${version} (${license})\n\n${notices || `Its package has no text beside the name of its licence, ${license}.\n`}`;
  });
  return `${readFileSync(path.join(root, 'LICENSE'), 'utf8')}\n${[...new Set(parts)].join('\n')}`;
}

const noticesIn = (folder: string): string =>
  readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isFile() && NOTICES.test(entry.name))
    .map(({ name }) => `${readFileSync(path.join(folder, name), 'utf8').trim()}\n`)
    .join('\n');
