import { createHash } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { chmod, mkdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { clean, cleanJson } from '../../cli/output/index.ts';
import { executable, isSingleFile, readReleaseKey } from '../../src/program-files/index.ts';
import { OperatorFault } from '../explain.ts';
import { compareVersions, readSections, type Section } from '../release/changelog.ts';
import { findFile, openManifest, type Manifest, type ReleasedFile } from '../release/manifest.ts';
import { readConfig, type DataOptions } from './open.ts';

interface Options extends DataOptions {
  check?: boolean;
  download?: string;
  from?: string;
  key?: string;
  json?: boolean;
  version: string;
}

/** More than a manifest and a changelog of many years have. */
const TEXT_BYTES_MAX = 10_000_000;
const ANSWER_MS = 30_000;
/** For an executable on a slow line. */
const DOWNLOAD_MS = 3_600_000;

const MANIFEST = 'manifest.json';
const SIGNATURE = 'manifest.json.sig';

/** Compares this program with a release, and downloads the files to install it if asked to. */
export async function upgrade(options: Options): Promise<void> {
  if (!options.check && options.download === undefined)
    throw new OperatorFault(
      'rasket upgrade installs nothing by itself; give --check to compare this program with the newest release, or --download FOLDER to fetch that',
      'usage',
    );
  const { place, publicKey } = await readSources(options);
  const content = await readPart(place, MANIFEST);
  const signature = (await readPart(place, SIGNATURE)).toString('utf8');
  const { manifest, fingerprint } = openManifest({ content, signature, publicKey }, place.shown);
  const order = compareVersions(manifest.version, options.version);
  const isSame = manifest.version === options.version;
  if (isSame) await mustBeReleased(manifest);
  if (!place.isRemote) await verifyFiles(place, manifest);
  const changes = order > 0 ? await readChanges(place, manifest, options.version) : [];
  const saved = options.download === undefined ? undefined : await download(place, manifest, options.download);
  if (saved !== undefined) {
    await writeFile(path.join(saved, MANIFEST), content);
    await writeFile(path.join(saved, SIGNATURE), signature);
  }
  if (options.json) {
    const { version: available, date } = manifest;
    const is_newer = order > 0;
    console.log(cleanJson({ running: options.version, available, date, is_newer, signed_by: fingerprint, changes }));
    return;
  }
  console.log(describeRelease(manifest, { order, isSame, running: options.version }));
  console.log(`The manifest is signed with ${fingerprint}.`);
  for (const { version, date, text } of changes) console.log(`\n${version} (${date})\n\n${clean(text)}`);
  if (saved !== undefined) console.log(`\nInstall it with:\n  ${formatInstallation(saved, manifest, options.key)}`);
}

/** A folder or an address in which the files of a release are. */
interface Place {
  shown: string;
  isRemote: boolean;
  locate(name: string): string;
}

async function readSources(options: Options): Promise<{ place: Place; publicKey: string }> {
  // The settings of an installation may be for root alone, and are not needed if everything is given.
  const isGiven = options.from !== undefined && (options.key !== undefined || readReleaseKey() !== '');
  const settings = isGiven ? undefined : readConfig(options).upgrade;
  const from = options.from ?? settings?.url ?? '';
  if (from === '')
    throw new OperatorFault(
      'no release is known to compare with; name its manifest.json with --from, or set upgrade.url',
      'usage',
    );
  const publicKey = options.key === undefined ? settings?.public_key || readReleaseKey() : await readKey(options.key);
  if (publicKey === '')
    throw new OperatorFault(
      'no public key of the releases is known; name its file with --key, or set upgrade.public_key',
      'usage',
    );
  return { place: findPlace(from), publicKey };
}

async function readKey(file: string): Promise<string> {
  const [line = ''] = (await readFile(file, 'utf8')).split('\n');
  return line;
}

function findPlace(from: string): Place {
  if (!/^https?:\/\//i.test(from))
    return { shown: from, isRemote: false, locate: (name) => (name === MANIFEST ? from : beside(from, name)) };
  const url = URL.parse(from);
  if (url === null) throw new OperatorFault(`${from} is not an address`, 'usage');
  return {
    shown: from,
    isRemote: true,
    locate(name) {
      const file = new URL(url);
      if (name === SIGNATURE) file.pathname += '.sig';
      else if (name !== MANIFEST) file.pathname = new URL(encodeURIComponent(name), url).pathname;
      return file.href;
    },
  };
}

/** The signature of a manifest has its name, whatever that is; other files have their own. */
const beside = (manifest: string, name: string): string =>
  name === SIGNATURE ? `${manifest}.sig` : path.join(path.dirname(manifest), path.basename(name));

async function open(place: Place, name: string, timeoutMs: number): Promise<Readable> {
  const where = place.locate(name);
  if (!place.isRemote) {
    if (await isMissing(where)) throw new OperatorFault(`${where} does not exist`, 'notFound');
    return createReadStream(where);
  }
  let response: Response;
  try {
    response = await fetch(where, { signal: AbortSignal.timeout(timeoutMs) });
  } catch (error) {
    const { cause, message } = error as Error;
    throw new OperatorFault(`${where}: ${cause instanceof Error ? cause.message : message}`, 'unreachable');
  }
  if (!response.ok || response.body === null)
    throw new OperatorFault(
      `${where} answered with ${response.status}`,
      response.status === 404 ? 'notFound' : 'server',
    );
  return Readable.from(response.body);
}

const isMissing = (file: string): Promise<boolean> =>
  stat(file).then(
    (facts) => !facts.isFile(),
    () => true,
  );

async function readPart(place: Place, name: string): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of await open(place, name, ANSWER_MS)) {
    bytes += (chunk as Buffer).length;
    if (bytes > TEXT_BYTES_MAX) throw new OperatorFault(`${place.locate(name)} is too large to be a part of a release`);
    chunks.push(chunk as Buffer);
  }
  return Buffer.concat(chunks);
}

/** Verifies the running executable, which the manifest lists. A checkout has none. */
async function mustBeReleased(manifest: Manifest): Promise<void> {
  if (!isSingleFile) return;
  const { sha256 } = findFile(manifest, 'executable', process.arch);
  const sum = createHash('sha256');
  await pipeline(createReadStream(executable), sum);
  if (sum.digest('hex') !== sha256)
    throw new OperatorFault(
      `${executable} is not the executable of ${manifest.version}: it was changed after it was released. Install it again from a verified file`,
      'refused',
    );
}

/** The files that are installed with; those of a release on another machine are verified while they are downloaded. */
const findInstalled = (manifest: Manifest): ReleasedFile[] => [
  findFile(manifest, 'executable', process.arch),
  findFile(manifest, 'installer', null),
];

async function verifyFiles(place: Place, manifest: Manifest): Promise<void> {
  for (const file of findInstalled(manifest)) {
    if (await isMissing(place.locate(file.name))) continue;
    const sum = createHash('sha256');
    await pipeline(await open(place, file.name, DOWNLOAD_MS), sum);
    mustMatch(file, sum.digest('hex'), place);
  }
}

async function readChanges(place: Place, manifest: Manifest, running: string): Promise<Section[]> {
  const file = findFile(manifest, 'changelog', null);
  const changelog = await readPart(place, file.name);
  mustMatch(file, createHash('sha256').update(changelog).digest('hex'), place);
  return readSections(changelog.toString('utf8')).filter(
    ({ version }) =>
      version !== undefined && compareVersions(version, running) > 0 && compareVersions(version, manifest.version) <= 0,
  );
}

function mustMatch({ name, sha256 }: ReleasedFile, sum: string, place: Place): void {
  if (sum !== sha256)
    throw new OperatorFault(
      `${place.locate(name)} is not the file that the manifest lists: it was changed, or is of another release`,
      'refused',
    );
}

/** Returns the folder; a file has its name there only once it is verified. */
async function download(place: Place, manifest: Manifest, folder: string): Promise<string> {
  const target = path.resolve(folder);
  await mkdir(target, { recursive: true });
  for (const file of findInstalled(manifest)) {
    const made = path.join(target, path.basename(file.name));
    const part = `${made}.part`;
    const sum = createHash('sha256');
    try {
      await pipeline(
        await open(place, file.name, DOWNLOAD_MS),
        async function* (chunks: AsyncIterable<Buffer>) {
          for await (const chunk of chunks) {
            sum.update(chunk);
            yield chunk;
          }
        },
        createWriteStream(part, { mode: 0o600 }),
      );
      mustMatch(file, sum.digest('hex'), place);
      await chmod(part, 0o755);
      await rename(part, made);
    } finally {
      await rm(part, { force: true });
    }
  }
  return target;
}

interface Comparison {
  order: number;
  isSame: boolean;
  running: string;
}

function describeRelease({ version, date }: Manifest, { order, isSame, running }: Comparison): string {
  if (isSame)
    return isSingleFile
      ? `This is ${running}, the release of ${date}. Its executable is the one that was released.`
      : `This is ${running}, the commit of the release of ${date}.`;
  if (order > 0) return `${version} of ${date} is available; this is ${running}.`;
  if (order < 0) return `This is ${running}, which is newer than the release ${version} of ${date}.`;
  return `This is ${running}, another build than the release ${version} of ${date}.`;
}

function formatInstallation(folder: string, manifest: Manifest, key: string | undefined): string {
  const at = (name: string): string => path.join(folder, name);
  const file = at(findFile(manifest, 'executable', process.arch).name);
  const trusted = key === undefined ? '' : ` --key ${path.resolve(key)}`;
  return `sudo sh ${at('install.sh')} --file ${file} --manifest ${at(MANIFEST)}${trusted}`;
}
