/**
 * Makes a Debian package of `dist/rasket`, or with `RASKET_PACKAGE_ARCH=arm64` (or x64) of the executable for the other
 * architecture: `node packaging/build-deb.ts [--compress gzip] [--version 0.1.0+1]`. It needs dpkg-deb and no root.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  chmodSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { gzipSync } from 'node:zlib';
import { readVersion } from '../src/program-files/index.ts';
import { ARCHITECTURES, locateExecutable, readArchitecture } from './architecture.ts';
import { licensesText } from './licenses.ts';
import { root } from './modules.ts';
import { endWithCleanUp } from './work-folder.ts';

const HOME = '/usr/lib/rasket';
const SCRIPTS = ['preinst', 'postinst', 'prerm', 'postrm'];
/** The mode of files that are not listed as programs. */
const FILE = 0o644;
const PROGRAM = 0o755;

type Put = (name: string, content: string | Uint8Array, mode?: number) => void;

export interface DebianPackage {
  program: string;
  architecture: string;
  compress: string;
  version: string;
  folder: string;
  /** A program of the same version that runs on this machine, if `program` does not. */
  runnable?: string;
}

export function buildDeb({ program, architecture, compress, version, folder, runnable }: DebianPackage): string {
  // Folders of a package are for everyone to read, whatever the umask of the builder.
  process.umask(0o022);
  const debian = ARCHITECTURES[architecture] ?? architecture;
  const target = path.join(folder, `rasket_${version}_${debian}.deb`);
  const work = mkdtempSync(`${target}.work-`);
  using _cleaned = endWithCleanUp(() => rmSync(work, { recursive: true, force: true }));
  const tree = path.join(work, 'tree');
  mkdirSync(tree);
  const put: Put = (name, content, mode = FILE) => {
    const file = path.join(tree, name);
    mkdirSync(path.dirname(file), { recursive: true });
    writeFileSync(file, content);
    chmodSync(file, mode);
  };
  putProgram(tree, program, put);
  // Manuals come from the same sources, because a program for other processors cannot run here.
  putManuals(tree, runnable ?? (architecture === process.arch ? program : path.join(root, 'bin/rasket')), put);
  put('usr/share/doc/rasket/changelog.gz', gzipSync(changelog(version), { level: 9 }));
  putControl(tree, { architecture: debian, version }, put);
  const made = path.join(work, 'made.deb');
  const words = ['--root-owner-group', `-Z${compress}`, '--build', tree, made];
  execFileSync('dpkg-deb', words, { stdio: ['ignore', 'ignore', 'inherit'] });
  renameSync(made, target);
  return target;
}

/**
 * Returns the version of Debian packages, such as `0.1.0+20261129.1412.ee850824`. The time of the commit makes a later
 * build of the same version an upgrade for apt.
 */
export function readPackageVersion(): string {
  const version = readVersion();
  const at = readCommitTime();
  if (at === undefined) return version;
  const digits = new Date(at * 1000).toISOString().replaceAll(/\D/g, '');
  return version.replace('+', `+${digits.slice(0, 8)}.${digits.slice(8, 12)}.`);
}

/** Returns the time of the commit in seconds, or undefined if there is no git that knows it. */
export function readCommitTime(): number | undefined {
  const { SOURCE_DATE_EPOCH: epoch } = process.env;
  if (epoch) return Number(epoch);
  const { status, stdout } = spawnSync('git', ['log', '-1', '--format=%ct'], { cwd: root, encoding: 'utf8' });
  return status === 0 ? Number(stdout) : undefined;
}

function putProgram(tree: string, program: string, put: Put): void {
  const read = (name: string): string => readFileSync(path.join(root, name), 'utf8');
  const place = path.join(tree, HOME, 'bin/rasket');
  mkdirSync(path.dirname(place), { recursive: true });
  copyFileSync(program, place);
  chmodSync(place, PROGRAM);
  mkdirSync(path.join(tree, 'usr/bin'), { recursive: true });
  symlinkSync('../lib/rasket/bin/rasket', path.join(tree, 'usr/bin/rasket'));
  const installation = {
    data: '/var/lib/rasket',
    config: '/etc/rasket/rasket.toml',
    environment: '/etc/rasket/environment',
  };
  put(`${HOME}/.installation.json`, `${JSON.stringify(installation)}\n`);
  put(
    'usr/lib/systemd/system/rasket.service',
    read('systemd/rasket.service')
      .replaceAll('/opt/rasket', HOME)
      .replace(
        'install.sh, which puts the folder of the program in place of',
        'the package, from the copy of the program in',
      ),
  );
  put('usr/lib/sysusers.d/rasket.conf', read('packaging/debian/sysusers.conf'));
  // Not below doc, which small images leave out.
  put('usr/share/rasket/rasket.toml', read('packaging/debian/rasket.toml'));
  put('usr/share/rasket/default.toml', read('config/default.toml'));
  put('usr/share/lintian/overrides/rasket', read('packaging/debian/lintian-overrides'));
  put('usr/share/doc/rasket/CHANGELOG.md.gz', gzipSync(read('CHANGELOG.md'), { level: 9 }));
  put('usr/share/doc/rasket/copyright', COPYRIGHT);
  put('usr/share/doc/rasket/LICENSES.txt.gz', gzipSync(licensesText(), { level: 9 }));
}

function putManuals(tree: string, program: string, put: Put): void {
  const folder = path.join(tree, 'usr/share/man/man1');
  mkdirSync(folder, { recursive: true });
  const rasket = (...words: string[]): Buffer =>
    execFileSync(program, words, { env: {}, stdio: ['ignore', 'pipe', 'inherit'] });
  rasket('man', '--to', folder);
  for (const name of readdirSync(folder)) {
    const page = readFileSync(path.join(folder, name));
    rmSync(path.join(folder, name));
    put(`usr/share/man/man1/${name}.gz`, gzipSync(page, { level: 9 }));
  }
  put('usr/share/bash-completion/completions/rasket', rasket('completion', 'bash'));
  put('usr/share/zsh/vendor-completions/_rasket', rasket('completion', 'zsh'));
  put('usr/share/fish/vendor_completions.d/rasket.fish', rasket('completion', 'fish'));
}

function putControl(
  tree: string,
  { architecture, version }: Record<'architecture' | 'version', string>,
  put: Put,
): void {
  const kilobytes = filesIn(tree).reduce((sum, file) => sum + Math.ceil(statSync(file).size / 1024), 0);
  put('DEBIAN/md5sums', formatSums(tree));
  const control = {
    Package: 'rasket',
    Version: version,
    Architecture: architecture,
    Maintainer: maintainer,
    'Installed-Size': String(kilobytes),
    Depends: 'libc6 (>= 2.28), libgcc-s1, libstdc++6, systemd-standalone-sysusers | systemd | passwd, ca-certificates',
    Section: 'mail',
    Priority: 'optional',
    Description:
      'self-hosted email service\n Applications send by a REST API or by SMTP; rasket signs, delivers, retries,\n receives, and reports every step by webhooks.',
  };
  put(
    'DEBIAN/control',
    Object.entries(control)
      .map(([field, value]) => `${field}: ${value}\n`)
      .join(''),
  );
  for (const script of SCRIPTS)
    put(`DEBIAN/${script}`, readFileSync(path.join(root, 'packaging/debian', script)), PROGRAM);
}

/** The environment names the person who builds the package. */
const { DEBFULLNAME: builder = 'rasket', DEBEMAIL: address = 'rasket@builder.invalid' } = process.env;
const maintainer = `${builder} <${address}>`;

/** Writes the changelog in the form that Debian's tools read; the list of changes is a separate file. */
function changelog(version: string): string {
  const at = readCommitTime();
  const date = at === undefined ? new Date() : new Date(at * 1000);
  const told = `rasket (${version}) unstable; urgency=medium\n\n  * What has changed: CHANGELOG.md.gz\n\n`;
  return `${told} -- ${maintainer}  ${date.toUTCString().replace('GMT', '+0000')}\n`;
}

const formatSums = (tree: string): string =>
  filesIn(tree)
    .map((file) => ({
      sum: createHash('md5').update(readFileSync(file)).digest('hex'),
      name: path.relative(tree, file),
    }))
    .map(({ sum, name }) => `${sum}  ${name}\n`)
    .join('');

const filesIn = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => path.join(entry.parentPath, entry.name));

const COPYRIGHT = `Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: rasket

Files: *
Copyright: 2026 the authors of rasket
License: Apache-2.0
 On Debian systems the full text is in /usr/share/common-licenses/Apache-2.0.
Comment: Node.js and the packages inside the program have licences of their own, which are in
 LICENSES.txt.gz and are printed by rasket --licenses.
`;

if (import.meta.main) {
  const { values } = parseArgs({
    options: {
      compress: { type: 'string', default: 'xz' },
      version: { type: 'string', default: readPackageVersion() },
    },
  });
  const architecture = readArchitecture();
  const program = locateExecutable(architecture);
  console.log(buildDeb({ program, architecture, folder: path.dirname(program), ...values }));
}
