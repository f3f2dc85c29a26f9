/**
 * Builds a release of the commit that is checked out, into `dist/rasket-VERSION`: `npm run release`. It publishes
 * nothing. docs/releasing.md describes the files and the keys.
 */
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { gzipSync } from 'node:zlib';
import { readSections } from '../bin/release/changelog.ts';
import { NAMESPACE, type FileKind, type Manifest, type ReleasedFile } from '../bin/release/manifest.ts';
import { readVersion } from '../src/program-files/index.ts';
import { sha256, writeAptRepository } from './apt-repository.ts';
import { ARCHITECTURES } from './architecture.ts';
import { buildDeb, readPackageVersion } from './build-deb.ts';
import { buildExecutable, makeParts } from './build-file.ts';
import { root } from './modules.ts';
import { renderSbom } from './sbom.ts';
import { endWithCleanUp } from './work-folder.ts';

interface Release {
  /** Without the commit, such as `0.1.0`. */
  number: string;
  version: string;
  commit: string;
  date: string;
  at: Date;
}

class ReleaseRefused extends Error {
  override readonly name = 'ReleaseRefused';
}

/** Throws unless the checkout is a commit whose changelog dates its version. */
function readRelease(): Release {
  const git = (...words: string[]): string => execFileSync('git', words, { cwd: root, encoding: 'utf8' }).trim();
  if (!existsSync(path.join(root, '.git')))
    throw new ReleaseRefused('a release is made of a commit, and this copy has no .git; clone the repository');
  const changed = git('status', '--porcelain');
  if (changed !== '')
    throw new ReleaseRefused(`the checkout differs from its commit, which a release would not show:\n${changed}`);
  const { version: number } = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8')) as { version: string };
  const section = readSections(readFileSync(path.join(root, 'CHANGELOG.md'), 'utf8')).find(
    ({ version }) => version === number,
  );
  if (section?.date === undefined)
    throw new ReleaseRefused(`CHANGELOG.md has no dated section for ${number}; write: ## ${number} - YYYY-MM-DD`);
  const at = new Date(Number(git('log', '-1', '--format=%ct')) * 1000);
  return { number, version: readVersion(), commit: git('rev-parse', 'HEAD'), date: section.date, at };
}

async function makeRelease(compress: string): Promise<string> {
  const release = readRelease();
  const { number } = release;
  const { RASKET_RELEASE_KEY: key, RASKET_APT_KEY: aptKey } = process.env;
  const target = path.join(root, 'dist', `rasket-${number}`);
  mkdirSync(path.dirname(target), { recursive: true });
  const work = mkdtempSync(`${target}.work-`);
  using _cleaned = endWithCleanUp(() => rmSync(work, { recursive: true, force: true }));
  const files = new Map<string, Pick<ReleasedFile, 'kind' | 'architecture'>>();
  const at = (name: string, kind: FileKind, architecture: string | null = null): string => {
    files.set(name, { kind, architecture });
    return path.join(work, name);
  };
  const publicKey = key ? readPublicKey(key) : '';
  const parts = await makeParts(publicKey);
  const targets = Object.keys(ARCHITECTURES).map((architecture) => ({
    architecture,
    target: at(`rasket-${number}-linux-${architecture}`, 'executable', architecture),
  }));
  for (const executable of targets) {
    say(`building ${path.basename(executable.target)}`);
    await buildExecutable({ ...executable, parts });
  }
  const runnable = targets.find(({ architecture }) => architecture === process.arch)?.target;
  const packages = targets.map(({ architecture, target: program }) => {
    say(`packing it for Debian, ${ARCHITECTURES[architecture]}`);
    const version = readPackageVersion();
    const made = buildDeb({ program, architecture, compress, version, folder: work, ...(runnable && { runnable }) });
    return at(path.basename(made), 'debian', architecture);
  });
  writeFileSync(at(`rasket-${number}-source.tar.gz`, 'source'), archiveSource(release));
  const sbom = renderSbom({ version: release.version, at: release.at.toISOString() });
  writeFileSync(at(`rasket-${number}.cdx.json`, 'sbom'), sbom);
  copyFileSync(path.join(root, 'install.sh'), at('install.sh', 'installer'));
  copyFileSync(path.join(root, 'CHANGELOG.md'), at('CHANGELOG.md', 'changelog'));
  const manifest: Manifest = {
    product: 'rasket',
    version: release.version,
    commit: release.commit,
    date: release.date,
    files: [...files].map(([name, facts]) => describeFile(work, name, facts)),
  };
  writeFileSync(path.join(work, 'manifest.json'), `${JSON.stringify(manifest, undefined, 2)}\n`);
  if (key) signManifest(work, key, publicKey);
  writeFileSync(
    path.join(work, 'SHA256SUMS'),
    manifest.files.map(({ name, sha256: sum }) => `${sum}  ${name}\n`).join(''),
  );
  writeAptRepository({ folder: path.join(work, 'apt'), packages, at: release.at, key: aptKey || undefined });
  // A web server of another account reads it.
  chmodSync(work, 0o755);
  rmSync(target, { recursive: true, force: true });
  renameSync(work, target);
  if (!key) say('NOT SIGNED: set RASKET_RELEASE_KEY to the file of an Ed25519 key of ssh-keygen to sign manifest.json');
  if (!aptKey) say('NOT SIGNED: set RASKET_APT_KEY to a key that gpg knows to sign the apt repository');
  return target;
}

const describeFile = (
  folder: string,
  name: string,
  facts: Pick<ReleasedFile, 'kind' | 'architecture'>,
): ReleasedFile => {
  const file = path.join(folder, name);
  return { name, ...facts, size: statSync(file).size, sha256: sha256(file) };
};

/** The archive has no .git, so it names its commit in a file of its own. */
function archiveSource({ number, commit }: Release): Buffer {
  const words = [
    'archive',
    '--format=tar',
    `--prefix=rasket-${number}/`,
    `--add-virtual-file=rasket-${number}/.commit:${commit}\n`,
    'HEAD',
  ];
  const tar = execFileSync('git', words, { cwd: root, maxBuffer: 1_000_000_000 });
  return gzipSync(tar, { level: 9 });
}

/** Returns the key without its comment, which names the account that made it. */
function readPublicKey(key: string): string {
  const line = execFileSync('ssh-keygen', ['-y', '-f', key], {
    encoding: 'utf8',
    stdio: ['inherit', 'pipe', 'inherit'],
  });
  return `${line.split(/\s+/).slice(0, 2).join(' ')}\n`;
}

function signManifest(folder: string, key: string, publicKey: string): void {
  const words = ['-Y', 'sign', '-f', key, '-n', NAMESPACE, path.join(folder, 'manifest.json')];
  execFileSync('ssh-keygen', words, { stdio: ['inherit', 'ignore', 'inherit'] });
  writeFileSync(path.join(folder, 'release.pub'), publicKey);
}

const say = (line: string): void => console.error(`release: ${line}`);

const { values } = parseArgs({ options: { compress: { type: 'string', default: 'xz' } } });
try {
  console.log(await makeRelease(values.compress));
} catch (error) {
  if (!(error instanceof ReleaseRefused)) throw error;
  say(error.message);
  process.exitCode = 1;
}
