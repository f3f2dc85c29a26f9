import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { linkSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { gzipSync } from 'node:zlib';

export interface AptRepository {
  folder: string;
  packages: readonly string[];
  at: Date;
  /** A key that gpg knows; without one, the repository is not signed. */
  key: string | undefined;
}

const POOL = 'pool/main/r/rasket';
const SUITE = 'stable';
/** The name under which docs/installing.md lays down the public key. */
export const KEYRING = 'rasket-archive-keyring.gpg';

/** Writes the files of an apt repository, which any web server can serve. */
export function writeAptRepository({ folder, packages, at, key }: AptRepository): void {
  mkdirSync(path.join(folder, POOL), { recursive: true });
  const entries = packages.map((file) => {
    const name = `${POOL}/${path.basename(file)}`;
    // Not a second copy of a file that the release has already.
    linkSync(file, path.join(folder, name));
    return { architecture: readField(file, 'Architecture'), text: renderEntry(file, name) };
  });
  const suite = path.join(folder, 'dists', SUITE);
  const indexes: string[] = [];
  const put = (name: string, content: string | Buffer): void => {
    mkdirSync(path.dirname(path.join(suite, name)), { recursive: true });
    writeFileSync(path.join(suite, name), content);
    indexes.push(name);
  };
  const architectures = [...new Set(entries.map(({ architecture }) => architecture))].sort();
  for (const architecture of architectures) {
    const text = entries
      .filter((entry) => entry.architecture === architecture)
      .map((entry) => `${entry.text}\n`)
      .join('');
    put(`main/binary-${architecture}/Packages`, text);
    put(`main/binary-${architecture}/Packages.gz`, gzipSync(text, { level: 9 }));
  }
  const release = path.join(suite, 'Release');
  writeFileSync(release, renderRelease({ architectures, at, sums: indexes.map((name) => formatSum(suite, name)) }));
  if (key !== undefined) signRepository(folder, release, key);
}

function renderEntry(file: string, name: string): string {
  const control = execFileSync('dpkg-deb', ['--field', file], { encoding: 'utf8' }).trimEnd();
  return `${control}\nFilename: ${name}\nSize: ${statSync(file).size}\nSHA256: ${sha256(file)}\n`;
}

interface Suite {
  architectures: readonly string[];
  at: Date;
  sums: readonly string[];
}

function renderRelease({ architectures, at, sums }: Suite): string {
  const fields = {
    Origin: 'rasket',
    Label: 'rasket',
    Suite: SUITE,
    Codename: SUITE,
    Date: at.toUTCString().replace('GMT', 'UTC'),
    Architectures: architectures.join(' '),
    Components: 'main',
    Description: 'Releases of rasket, a self-hosted email service',
  };
  const lines = Object.entries(fields).map(([name, value]) => `${name}: ${value}`);
  return [...lines, 'SHA256:', ...sums, ''].join('\n');
}

function signRepository(folder: string, release: string, key: string): void {
  const gpg = (...words: string[]): void =>
    void execFileSync('gpg', ['--batch', '--yes', '--local-user', key, ...words], {
      stdio: ['ignore', 'ignore', 'inherit'],
    });
  gpg('--clearsign', '--output', path.join(path.dirname(release), 'InRelease'), release);
  gpg('--armor', '--detach-sign', '--output', `${release}.gpg`, release);
  gpg('--output', path.join(folder, KEYRING), '--export', key);
}

const readField = (file: string, field: string): string =>
  execFileSync('dpkg-deb', ['--field', file, field], { encoding: 'utf8' }).trim();

const formatSum = (folder: string, name: string): string =>
  ` ${sha256(path.join(folder, name))} ${statSync(path.join(folder, name)).size} ${name}`;

export const sha256 = (file: string): string => createHash('sha256').update(readFileSync(file)).digest('hex');
