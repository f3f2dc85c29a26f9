import { readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { readCarried } from './carried.ts';
import { methods, type OpenApiDocument, type PathItem } from './document.ts';

const folder = import.meta.dirname;
/**
 * The merged document and the hash of its sources. It is a cache: created when it is missing or stale, never committed.
 */
const CACHE = join(folder, 'openapi.gen.json');
/** The source files that, in addition to the YAML files, determine the document. */
const MERGING = [
  'access.ts',
  'describe-commands.ts',
  'document.ts',
  'expand-sources.ts',
  'read-sources.ts',
  'render-types.ts',
];

/** Returns a hash of the sources: a cache with another hash is stale. */
export function sourcesHash(): string {
  const yaml = readdirSync(folder).filter((name) => name.endsWith('.yaml'));
  // Not imported, because no build runs this code and the import is a tenth of a command's time.
  const hash = process.getBuiltinModule('node:crypto').createHash('sha256');
  for (const name of [...yaml, ...MERGING].sort()) hash.update(`${name}\n`).update(readFileSync(join(folder, name)));
  return hash.digest('hex');
}

let loaded: OpenApiDocument | undefined;

/**
 * Loads the whole document. Merging it from the YAML files takes a tenth of a second and 25 MB, so it is done once for
 * each change.
 */
export function loadContract(): OpenApiDocument {
  return (loaded ??= loadEmbedded() ?? readCache() ?? mergeSources());
}

function loadEmbedded(): OpenApiDocument | undefined {
  const text = readCarried();
  return text === undefined ? undefined : (JSON.parse(text) as OpenApiDocument);
}

function readCache(): OpenApiDocument | undefined {
  try {
    const { sources, document } = JSON.parse(readFileSync(CACHE, 'utf8')) as {
      sources: string;
      document: OpenApiDocument;
    };
    return sources === sourcesHash() ? document : undefined;
  } catch {
    return undefined;
  }
}

function mergeSources(): OpenApiDocument {
  // Loaded only here, so that a process with a fresh cache loads no YAML parser.
  const { readContractSources } = createRequire(import.meta.url)(
    './read-sources.ts',
  ) as typeof import('./read-sources.ts');
  const document = readContractSources();
  // Two processes may do this at once: each writes a file of its own, and the last rename wins.
  const draft = `${CACHE}.${process.pid}`;
  try {
    writeFileSync(draft, JSON.stringify({ sources: sourcesHash(), document }));
    renameSync(draft, CACHE);
  } catch {
    // The program's folder is read-only if an administrator installed it.
    rmSync(draft, { force: true });
  }
  return document;
}

/**
 * Returns the document as a server publishes it: `servers` begins with its own address, operations for development are
 * listed only by a server in development, and `/audiences` is added as the former name of `/segments`.
 */
export function addressContract(
  document: OpenApiDocument,
  { origin, isDevelopment }: { origin: string; isDevelopment: boolean },
): OpenApiDocument {
  const servers = document.servers.map((server) => ({
    ...server,
    url: origin + new URL(server.url).pathname.replace(/\/$/, ''),
  }));
  const paths: OpenApiDocument['paths'] = {};
  for (const [path, item] of Object.entries(document.paths)) {
    const served = isDevelopment ? item : withoutDevelopment(item);
    if (methods.some((method) => served[method])) paths[path] = served;
    if (path === '/segments' || path === '/segments/{segment}') {
      paths[path.replace('/segments', '/audiences')] = deprecate(served);
    }
  }
  const { 'x-commands': _commands, ...described } = document;
  return { ...described, servers, paths } as OpenApiDocument;
}

function withoutDevelopment(item: PathItem): PathItem {
  const served = { ...item };
  for (const method of methods) if (served[method]?.['x-development']) delete served[method];
  return served;
}

/** Lists operations under a former path, each with an id of its own: `listSegments` is `listAudiences` there. */
function deprecate(item: PathItem): PathItem {
  const former = { ...item };
  for (const method of methods) {
    const operation = item[method];
    if (!operation) continue;
    const { 'x-sdk': _sdk, ...described } = operation;
    former[method] = {
      ...described,
      operationId: operation.operationId.replace('Segment', 'Audience'),
      deprecated: true,
      description: `Former name of \`${method.toUpperCase()}\` of the same path below \`/segments\`.`,
    };
  }
  return former;
}

/** Formats the document as one YAML text, without anchors, so that every reader understands it. */
export async function formatContractYaml(document: OpenApiDocument): Promise<string> {
  const { stringify } = await import('yaml');
  return stringify(document, { aliasDuplicateObjects: false, lineWidth: 120 });
}
